//! Replaces comments and literals in source code with blanks, so that braces and keywords in them
//! do not count as code. Line breaks stay where they are.

/// Rust source with comments, strings and characters replaced by spaces.
pub(super) fn rust(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut masked = Mask::new(chars.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match (chars[at], chars.get(at + 1)) {
            ('/', Some('/')) => line_end(&chars, at),
            ('/', Some('*')) => rust_block_comment_end(&chars, at),
            ('"', _) => quoted_end(&chars, at),
            ('r', Some('"' | '#')) if !follows_word(&chars, at) => rust_raw_end(&chars, at),
            ('\'', _) => rust_char_end(&chars, at),
            _ => at,
        };
        at = masked.copy(&chars, at, end);
    }
    masked.text
}

/// Lua source with comments and strings replaced by spaces.
pub(super) fn lua(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut masked = Mask::new(chars.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match (chars[at], chars.get(at + 1)) {
            ('-', Some('-')) => match lua_long_end(&chars, at + 2) {
                end if end > at + 2 => end,
                _ => line_end(&chars, at),
            },
            ('[', _) => lua_long_end(&chars, at),
            ('"' | '\'', _) => quoted_end(&chars, at),
            _ => at,
        };
        at = masked.copy(&chars, at, end);
    }
    masked.text
}

struct Mask {
    text: String,
}

impl Mask {
    fn new(capacity: usize) -> Self {
        let text = String::with_capacity(capacity);
        Self { text }
    }

    /// Blanks the text between `at` and `end`, or copies one character if that text is empty.
    /// Returns the next position.
    fn copy(&mut self, chars: &[char], at: usize, end: usize) -> usize {
        if end <= at {
            self.text.push(chars[at]);
            return at + 1;
        }
        let end = end.min(chars.len());
        for c in &chars[at..end] {
            self.text.push(if *c == '\n' { '\n' } else { ' ' });
        }
        end
    }
}

fn line_end(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    at + rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())
}

/// The position after a string that starts at `at` and ends with the same quote.
fn quoted_end(chars: &[char], at: usize) -> usize {
    let mut end = at + 1;
    while end < chars.len() && chars[end] != chars[at] {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    end + 1
}

fn follows_word(chars: &[char], at: usize) -> bool {
    // `br"` and `cr"` are raw strings too.
    let before = |back: usize| at.checked_sub(back).map(|index| chars[index]);
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match before(1) {
        Some('b' | 'c') => word(before(2)),
        other => word(other),
    }
}

/// The position after the raw string at `at`, or `at` for a raw identifier.
fn rust_raw_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let mut end = open + 1;
    while end < chars.len() {
        let closing = chars[end + 1..].iter().take_while(|c| **c == '#').count();
        if chars[end] == '"' && closing >= hashes {
            return end + 1 + hashes;
        }
        end += 1;
    }
    end
}

fn rust_block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 1;
    let mut end = at + 2;
    while end < chars.len() && depth > 0 {
        match (chars[end], chars.get(end + 1)) {
            ('/', Some('*')) => (depth, end) = (depth + 1, end + 2),
            ('*', Some('/')) => (depth, end) = (depth - 1, end + 2),
            _ => end += 1,
        }
    }
    end
}

/// The position after the character at `at`, or `at` for a lifetime.
fn rust_char_end(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => quoted_end(chars, at),
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

/// The position after `[[ ]]` or `[=[ ]=]` at `at`, or `at` if there is no such string.
fn lua_long_end(chars: &[char], at: usize) -> usize {
    if chars.get(at) != Some(&'[') {
        return at;
    }
    let level = chars[at + 1..].iter().take_while(|c| **c == '=').count();
    if chars.get(at + 1 + level) != Some(&'[') {
        return at;
    }
    let mut closing = vec!['='; level];
    closing.insert(0, ']');
    closing.push(']');
    let body = at + 2 + level;
    let rest = chars.get(body..).unwrap_or_default();
    match rest.windows(closing.len()).position(|seen| seen == closing) {
        Some(found) => body + found + closing.len(),
        None => chars.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_literals_and_comments_vanish() {
        let source = r##"a("{\"", '{', '\'', b'}', r#"{"{"#) /* { /* { */ } */ <'x> // {"##;
        assert_eq!(
            rust(source).split_whitespace().collect::<String>(),
            "a(,,,b,)<'x>"
        );
        assert_eq!(rust(source).chars().count(), source.chars().count());
    }

    #[test]
    fn lua_literals_and_comments_vanish() {
        let source = "a('end', \"x\\\"end\", [[ end ]], [==[ ]] end ]==]) --[[ end\nend ]] b --end";
        let masked = lua(source);
        assert_eq!(masked.split_whitespace().collect::<String>(), "a(,,,)b");
        assert_eq!(masked.lines().count(), 2);
    }

    #[test]
    fn unclosed_literals_run_to_the_end() {
        assert_eq!(rust("a \"b").trim(), "a");
        assert_eq!(rust("a r#\"b").trim(), "a");
        assert_eq!(rust("a /* b").trim(), "a");
        assert_eq!(lua("a [[b").trim(), "a");
    }
}
