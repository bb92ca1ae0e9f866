//! Dates and times of day as sysstat's tools print them under other locales.

/// Separators and suffixes of numbers in Chinese, Japanese and Korean dates and times.
const MARKS: [(&str, &str); 13] = [
    ("年", "-"),
    ("月", "-"),
    ("日", " "),
    ("년 ", "-"),
    ("월 ", "-"),
    ("일", " "),
    ("时", ":"),
    ("時", ":"),
    ("시 ", ":"),
    ("分", ":"),
    ("분 ", ":"),
    ("秒", " "),
    ("초", " "),
];
/// AM and PM in glibc's locales.
const MORNING: [&str; 7] = ["AM", "上午", "午前", "오전", "πμ", "पूर्वाह्न", "ص"];
const AFTERNOON: [&str; 7] = ["PM", "下午", "午後", "오후", "μμ", "अपराह्न", "م"];
/// The digit 0 of scripts used in dates and times: Arabic, Persian, Devanagari, Bengali, Thai,
/// Burmese.
const ZEROS: [char; 6] = ['٠', '۰', '०', '০', '๐', '၀'];
/// The digits of dates that start with the year (glibc's fa_IR).
const YEAR_FIRST: std::ops::RangeInclusive<char> = '۰'..='۹';
/// The months in Arabic dates, by glibc's locales: Egypt and the Gulf, Saudi Arabia, Morocco,
/// Algeria and Tunisia, the Levant and Iraq.
const MONTHS: [&[&str]; 12] = [
    &["ينا", "يناير", "جانفي", "كانون الثاني"],
    &["فبر", "فبراير", "فيفري", "شباط"],
    &["مار", "مارس", "آذار"],
    &["أبر", "أبريل", "أفريل", "نيسان"],
    &["ماي", "مايو", "أيار"],
    &["يون", "يونيو", "جوان", "حزيران"],
    &["يول", "يوليو", "يوليوز", "جويلية", "تموز"],
    &["أغس", "أغسطس", "غشت", "أوت", "آب"],
    &["سبت", "سبتمبر", "شتنبر", "أيلول"],
    &["أكت", "أكتوبر", "تشرين الأول"],
    &["نوف", "نوفمبر", "نونبر", "تشرين الثاني"],
    &["ديس", "ديسمبر", "دجنبر", "كانون الأول"],
];
/// A Chinese weekday, without its number.
const WEEKDAY: &str = "星期";
/// How far the years of the Thai calendar are ahead.
const THAI_YEARS: u32 = 543;

/// Converts the times in a line to `14:12:49`, its dates to `2026-11-25`, and the half of the day
/// to `AM` or `PM`.
pub(crate) fn plain(line: &str) -> String {
    if line.is_ascii() {
        return line.to_owned();
    }
    let line = with_month(&with_digits(line));
    let words: Vec<&str> = line
        .split(' ')
        .filter(|word| !word.starts_with(WEEKDAY))
        .map(|word| match word {
            word if MORNING.contains(&word) => "AM",
            word if AFTERNOON.contains(&word) => "PM",
            word => word,
        })
        .collect();
    let line = words.join(" ");
    MARKS
        .iter()
        .fold(line, |line, (mark, plain)| line.replace(mark, plain))
}

/// Converts digits to 0 to 9.
fn with_digits(line: &str) -> String {
    let digit = |c: char| {
        let zeros = ZEROS
            .iter()
            .map(|zero| (c as u32).wrapping_sub(*zero as u32));
        let digit = zeros.filter_map(|digit| char::from_digit(digit, 10)).next();
        digit.unwrap_or(c)
    };
    let word = |word: &str| {
        let plain: String = word.chars().map(digit).collect();
        let parts: Vec<&str> = plain.trim().split('/').collect();
        let year_first = word.chars().any(|c| YEAR_FIRST.contains(&c));
        match parts.as_slice() {
            [year, month, day] if year_first && year.len() == 2 => {
                format!("20{year}-{month}-{day}")
            }
            _ => plain,
        }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Converts an Arabic date, such as `27 نوف, 2026`, to `2026-11-27`.
fn with_month(line: &str) -> String {
    let months = MONTHS.iter().enumerate();
    let names = months.flat_map(|(index, names)| names.iter().map(move |name| (index + 1, name)));
    let mut found = names.filter_map(|(month, name)| {
        let (before, behind) = line.split_once(&format!(" {name}"))?;
        let year = behind.trim_start_matches(',').strip_prefix(' ')?.get(..4)?;
        let at = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| {
            at + before[at..].chars().next().map_or(0, char::len_utf8)
        });
        let day = &before[at..];
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let rest = behind.trim_start_matches(',').get(5..)?;
        (digits(day) && digits(year))
            .then(|| format!("{}{year}-{month:02}-{day}{rest}", &before[..at]))
    });
    found.next_back().unwrap_or_else(|| line.to_owned())
}

/// The same for a line with a date. A time after it may be separated by points, and its year may be
/// of the Thai calendar.
pub(crate) fn dated(line: &str) -> String {
    let mut after_date = false;
    let mut out: Vec<String> = Vec::new();
    for word in plain(line).split_whitespace() {
        let plain_word = match word
            .get(word.len().saturating_sub(4)..)
            .and_then(|y| y.parse().ok())
        {
            Some(year @ 2400..2700) if word.contains(['/', '-', '.']) => {
                let year: u32 = year;
                format!("{}{}", &word[..word.len() - 4], year - THAI_YEARS)
            }
            _ if after_date => clock(word).unwrap_or_else(|| word.to_owned()),
            _ => word.to_owned(),
        };
        after_date = crate::civil::date(&plain_word).is_some();
        out.push(plain_word);
    }
    out.join(" ")
}

/// `14:12:49` for a time separated by points, as in Finnish, or by colons.
pub(crate) fn clock(word: &str) -> Option<String> {
    let parts: Vec<&str> = word.split(|c: char| !c.is_ascii_digit()).collect();
    let mut between = word.chars().filter(|c| !c.is_ascii_digit());
    let (first, second) = (between.next()?, between.next()?);
    let known = first == second && matches!(first, ':' | '.' | ',') && between.next().is_none();
    let digits = |part: &&str| (1..=2).contains(&part.len());
    (known && parts.len() == 3 && parts.iter().all(digits)).then(|| parts.join(":"))
}

/// The time of day at the beginning of a row in seconds, and its number of words. The words are
/// those of a plain line: `14:12:49`, `02:12:49 PM`, `PM 02:12:49 CET`.
pub(crate) fn time_of_day(words: &[&str]) -> Option<(f64, usize)> {
    let half = |at: usize| -> Option<&str> {
        let word = words.get(at).copied();
        word.filter(|word| matches!(*word, "AM" | "PM"))
    };
    let from = usize::from(half(0).is_some() || words.first().is_some_and(|word| is_zone(word)));
    let plain = clock(words.get(from)?)?;
    let mut end = from + 1;
    let behind = half(end);
    end += usize::from(behind.is_some());
    let am_or_pm = half(0).or(behind);
    // A locale that prints AM or PM may print the zone, too.
    if am_or_pm.is_some() && from == usize::from(half(0).is_some()) {
        end += usize::from(words.get(end).is_some_and(|word| is_zone(word)));
    }
    let text = format!("1970-01-01 {plain} {}", am_or_pm.unwrap_or_default());
    let moment = crate::civil::moment(&text)?;
    Some((moment.seconds, end))
}

/// Whether a word is the abbreviation of a zone and not the name of a column.
fn is_zone(word: &str) -> bool {
    const COLUMNS: [&str; 8] = ["CPU", "DEV", "IFACE", "INTR", "TTY", "BUS", "FAN", "TEMP"];
    (3..=5).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_uppercase())
        && !COLUMNS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_locales_are_converted() {
        for (text, plain) in [
            ("2026年11月25日 16時59分58秒", "2026-11-25 16:59:58"),
            ("2026年11月25日 16时59分58秒", "2026-11-25 16:59:58"),
            ("2026년 11월 25일 16시 59분 58초", "2026-11-25 16:59:58"),
            (
                "2026年11月25日 星期三 下午 04時59分58秒 HKT",
                "2026-11-25 PM 04:59:58 HKT",
            ),
            ("25 نوف, 2026 UTC 04:59:58 م", "2026-11-25 UTC 04:59:58 PM"),
            (
                "25 تشرين الثاني, 2026 UTC 04:59:58 م",
                "2026-11-25 UTC 04:59:58 PM",
            ),
            (
                "الأربعاء 25 نوفمبر 2026 16:59:58",
                "الأربعاء 2026-11-25 16:59:58",
            ),
            ("۲۶/۱۱/۲۵ ۱۶:۵۹:۵۸", "2026-11-25 16:59:58"),
            ("host \t۲۶/۱۱/۲۵ \tx", "host 2026-11-25 x"),
            ("२५/११/२०२६ १६:५९:५८", "25/11/2026 16:59:58"),
            ("25.11.2026 16.59.58", "25.11.2026 16:59:58"),
            ("25/11/2569 16:59:58", "25/11/2026 16:59:58"),
            ("25/11/2026 04:59:58 μμ", "25/11/2026 04:59:58 PM"),
            ("11/25/26 04:59:58 PM", "11/25/26 04:59:58 PM"),
            ("2026-11-25T16:59:58+0100", "2026-11-25T16:59:58+0100"),
        ] {
            assert_eq!(dated(text), plain, "{text}");
        }
    }

    #[test]
    fn times_of_day_are_known() {
        let found = |text: &str| time_of_day(&text.split_whitespace().collect::<Vec<_>>());
        for (text, words) in [
            ("16:59:58 CPU", 1),
            ("16.59.58 all", 1),
            ("04:59:58 PM CPU", 2),
            ("04:59:58 PM DEV", 2),
            ("04:59:58 PM IST all", 3),
            ("PM 04:59:58 HKT CPU", 3),
            ("UTC 04:59:58 PM all", 3),
        ] {
            assert_eq!(found(text), Some((61_198.0, words)), "{text}");
        }
        for text in [
            "1,234,567 all",
            "10.2 all",
            "Average: all",
            "a:b:c all",
            "1:2 all",
            "",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
