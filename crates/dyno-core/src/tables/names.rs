//! Table names: consecutive numbered names form one entry.

/// The longest list that is expanded.
const NAMES_MAX: usize = 20_000;

/// A name without the number at its end, and that number's digits.
pub fn without_number(name: &str) -> (&str, &str) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.split_at(stem.len())
}

/// Sorts `t2` before `t10`.
pub fn natural(name: &str) -> (String, u64, String) {
    let (stem, digits) = without_number(name);
    let number = match digits {
        "" => 0,
        digits => digits.parse().unwrap_or(u64::MAX),
    };
    (stem.to_owned(), number, name.to_owned())
}

/// Names as a list in which consecutive numbers form one entry: `t1..t3, t7`.
pub fn ranges(names: &[String]) -> String {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_by_cached_key(|name| natural(name));
    sorted.dedup();
    let mut entries: Vec<(&str, &str)> = Vec::new();
    for name in sorted {
        match entries.last_mut() {
            Some((_, last)) if follows(last, name) => *last = name,
            _ => entries.push((name, name)),
        }
    }
    let entry = |(first, last): (&str, &str)| match first == last {
        true => quoted(first),
        false => format!("{first}..{last}"),
    };
    let entries: Vec<String> = entries.into_iter().map(entry).collect();
    entries.join(", ")
}

/// The names in such a list.
pub fn names_in(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in entries(list) {
        match range(&entry) {
            Some((stem, from, to)) if !entry.starts_with('"') => {
                let room = NAMES_MAX.saturating_sub(names.len()) as u64;
                let to = to.min(from.saturating_add(room));
                names.extend((from..=to).map(|number| format!("{stem}{number}")));
            }
            _ => names.push(plain(&entry)),
        }
        if names.len() >= NAMES_MAX {
            break;
        }
    }
    names
}

/// A text about a table without the table's number: replaced by `#` in names that contain the
/// table's name, and in the names of `own`, such as its indexes.
pub fn general(table: &str, text: &str, own: &[String]) -> String {
    let (_, digits) = without_number(table);
    if digits.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = word_length(rest);
        let (word, after) = rest.split_at(length);
        let holds = replaced(word, table, "").len() < word.len();
        if holds || own.iter().any(|name| name == word) {
            out.push_str(&replaced(word, digits, "#"));
        } else {
            out.push_str(word);
        }
        rest = after;
    }
    out
}

/// Replaces `what`, which ends in a number, within a word, unless more digits follow.
fn replaced(word: &str, what: &str, by: &str) -> String {
    let is_digit = |at: usize| word.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let mut out = String::new();
    let mut from = 0;
    while let Some(found) = word[from..].find(what) {
        let (at, end) = (from + found, from + found + what.len());
        let is_within = is_digit(end) || (at > 0 && is_digit(at - 1) && is_digit(at));
        out.push_str(&word[from..at]);
        out.push_str(if is_within { what } else { by });
        from = end;
    }
    out.push_str(&word[from..]);
    out
}

/// The length of the name, or of the non-name text, at the start of a text.
fn word_length(text: &str) -> usize {
    let in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let first = text.chars().next().is_some_and(in_name);
    text.find(|c: char| in_name(c) != first)
        .unwrap_or(text.len())
}

/// Whether two names are consecutive.
fn follows(one: &str, next: &str) -> bool {
    let ((stem, digits), (other, next)) = (without_number(one), without_number(next));
    let plain = |digits: &str| digits == "0" || !digits.starts_with('0');
    let numbers = digits.parse::<u64>().ok().zip(next.parse::<u64>().ok());
    stem == other
        && !has_marks(stem)
        && plain(digits)
        && plain(next)
        && numbers.is_some_and(|(one, next)| one.checked_add(1) == Some(next))
}

fn range(entry: &str) -> Option<(&str, u64, u64)> {
    let (first, last) = entry.split_once("..")?;
    let ((stem, from), (other, to)) = (without_number(first), without_number(last));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (stem == other && from < to).then_some((stem, from, to))
}

/// Whether a name contains characters of the list syntax.
fn has_marks(name: &str) -> bool {
    name.contains([',', '"']) || name.contains("..")
}

fn quoted(name: &str) -> String {
    match has_marks(name) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

fn plain(entry: &str) -> String {
    let inner = entry
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| entry.to_owned(), |inner| inner.replace("\"\"", "\""))
}

/// The entries, still quoted.
fn entries(list: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut entry = String::new();
    let mut within = false;
    for c in list.chars() {
        match c {
            ',' if !within => all.push(std::mem::take(&mut entry)),
            _ => {
                within ^= c == '"';
                entry.push(c);
            }
        }
    }
    all.push(entry);
    let trimmed = all.iter().map(|entry| entry.trim().to_owned());
    trimmed.filter(|entry| !entry.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn consecutive_numbers_become_one_range() {
        let names = list(&[
            "sbtest10", "sbtest9", "sbtest1", "sbtest2", "t", "sbtest3", "t07",
        ]);
        assert_eq!(
            ranges(&names),
            "sbtest1..sbtest3, sbtest9..sbtest10, t, t07"
        );
        assert_eq!(names_in("a8..a10, b"), ["a8", "a9", "a10", "b"]);
        // The expansion is bounded.
        assert!(names_in("a1..a99999999999").len() <= NAMES_MAX + 1);
        assert_eq!(names_in("a..b"), ["a..b"]);
    }

    #[test]
    fn only_a_tables_own_number_is_masked_in_its_names() {
        let text = "CREATE TABLE `sbtest1` (`c` char(1) CHARSET latin1, KEY `k_1` (`k_1`), KEY \
                    `k_11` (`k`)) nextval('sbtest1_id_seq'), sbtest11";
        let own = list(&["k_1", "k_11"]);
        assert_eq!(
            general("sbtest1", text, &own),
            "CREATE TABLE `sbtest#` (`c` char(1) CHARSET latin1, KEY `k_#` (`k_#`), KEY `k_11` \
             (`k`)) nextval('sbtest#_id_seq'), sbtest11"
        );
        assert_eq!(general("customer", "customer 1", &[]), "customer 1");
    }

    proptest! {
        #[test]
        fn lists_are_read_as_they_were_written(
            names in prop::collection::btree_set("[a-c]{0,2}[,\". ]{0,2}[a-c][0-9]{0,2}", 1..20)
        ) {
            let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
            let mut read = names_in(&ranges(&names));
            let mut names = names;
            names.sort();
            names.dedup();
            read.sort();
            prop_assert_eq!(read, names);
        }

        #[test]
        fn arbitrary_text_never_panics(table in "\\PC{0,20}", text in "\\PC{0,80}") {
            let _ = general(&table, &text, std::slice::from_ref(&text));
            let _ = names_in(&text);
        }
    }
}
