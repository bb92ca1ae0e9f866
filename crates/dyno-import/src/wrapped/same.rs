//! Removes a prefix that all lines share, such as the name of a host or a file.

use super::{LAYERS_MAX, Part, below, kinds, layer, nested, sample};
use crate::Looks;

/// The maximum number of prefixes that are tried: lines may have any number of equal marks.
const PREFIXES_MAX: usize = 64;

/// The lines without the prefix; `None` unless Dyno recognises the log only without it.
pub(super) fn removed(text: &str) -> Option<Vec<Part>> {
    let lines = sample(text);
    let all = lines.iter().copied().reduce(common)?;
    if lines.len() < 2 || all.is_empty() || Looks::of_bare(text).is_some() {
        return None;
    }
    // The rest of the lines may begin alike, too.
    let ends = all.char_indices().rev();
    let ends = ends.filter(|(_, c)| !c.is_alphanumeric());
    let ends = ends.take(PREFIXES_MAX);
    let mut prefixes = ends.map(|(at, c)| &all[..at + c.len_utf8()]);
    let prefix = prefixes.find(|prefix| {
        let bare: Vec<&str> = lines.iter().map(|line| &line[prefix.len()..]).collect();
        is_known(&bare.join("\n"))
    })?;
    let parts = layer(text, |line| {
        let rest = line.strip_prefix(prefix)?;
        Some(kinds::bare(rest.strip_prefix(' ').unwrap_or(rest)))
    })?;
    Some(nested(parts, LAYERS_MAX))
}

fn is_known(text: &str) -> bool {
    let known = |text: &str| Looks::of_bare(text).is_some_and(|own| !is_vague(own));
    let inner = || below(text, LAYERS_MAX);
    known(text) || inner().is_some_and(|parts| parts.iter().any(|part| known(&part.text)))
}

/// Whether unrelated numbers may look like this kind of log.
fn is_vague(looks: Looks) -> bool {
    matches!(
        looks,
        Looks::PgbenchLog | Looks::FioLog | Looks::Configuration
    )
}

/// The common prefix of both lines.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let pairs = one.char_indices().zip(other.chars());
    let same = pairs.take_while(|((_, a), b)| a == b);
    let end = same.map(|((at, a), _)| at + a.len_utf8()).last();
    &one[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrapped::unwrapped;

    #[test]
    fn what_all_lines_begin_with_is_removed() {
        let plain = "Threads started!\n[ 1s ] thds: 2 tps: 7.00\n[ 2s ] thds: 2 tps: 8.00\n";
        let alike = "progress: 1.0 s, 5.0 tps, lat 1.0 ms\nprogress: 2.0 s, 6.0 tps, lat 1.0 ms\n";
        for prefix in [
            "bench01: ",
            "run-8.log:",
            "10.0.0.7: ",
            "# ",
            "| ",
            ">\t",
            "INFO:root:",
            "bench\tRun it\t",
        ] {
            for text in [plain, alike] {
                let lines = text.lines().map(|line| format!("{prefix}{line}\n"));
                let parts = unwrapped(&lines.collect::<String>());
                let parts = parts.unwrap_or_else(|| panic!("{prefix}"));
                assert_eq!((parts.len(), &parts[0].text[..]), (1, text), "{prefix}");
            }
        }
        // The line numbers of `grep -Hn` are below the file's name.
        let numbered = (1..).zip(plain.lines());
        let numbered = numbered.map(|(at, line)| format!("run-8.log:{at}:{line}\n"));
        let parts = unwrapped(&numbered.collect::<String>()).unwrap();
        assert_eq!(parts[0].text, plain);
    }

    #[test]
    fn lines_that_begin_alike_stay_in_an_unknown_text() {
        for text in [
            "bench01: [ 1s ] thds: 2 tps: 7.00\n",
            "bench01: a\nbench01: b\n",
            "x: 0 199 2241 0 1175850568 995598\nx: 0 200 2241 0 1175850568 995698\n",
            "é: [mysqld]\né: port=2\n",
        ] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
        assert_eq!(common("été", "étape"), "ét");
        assert_eq!(common("a", ""), "");
    }
}
