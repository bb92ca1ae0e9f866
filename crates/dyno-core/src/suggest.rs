//! Suggests the word that the user probably meant.

/// The nearest of some words, if it is near: at most a third of the letters differ, or one in a
/// short word. A word with other digits is never suggested: `3G` is not a typo of `2G`. Of equally
/// near words, the first in alphabetical order is returned.
pub fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let room = (word.chars().count() / 3).max(1);
    let numbers = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let same = among.into_iter();
    let same = same.filter(|known| numbers(known) == numbers(word));
    let distances = same.map(|known| (strsim::osa_distance(known, word), known));
    let nearest = distances.min();
    nearest.and_then(|(distance, known)| (distance <= room).then_some(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_similar_words() {
        let known = ["run", "report", "compare", "list"];
        for (word, expected) in [
            ("rnu", Some("run")),
            ("comapre", Some("compare")),
            ("rprt", None),
            ("reprt", Some("report")),
            ("foo", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest("run", []), None);
        assert_eq!(nearest("3G", ["1G", "2G"]), None);
    }
}
