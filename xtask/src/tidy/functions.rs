//! Finds functions and their lengths from words and brackets alone.

use super::mask;

/// A supported language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Lua,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Its name; `<anonymous>` if it has no name.
    pub name: String,
    /// The line of its head, from 1.
    pub line: usize,
    /// From its head to its end.
    pub lines: usize,
}

/// The functions of a source text, ordered by where they end.
pub(super) fn find(language: Language, text: &str) -> Vec<Function> {
    match language {
        Language::Rust => rust(&words(&mask::rust(text))),
        Language::Lua => lua(&words(&mask::lua(text))),
    }
}

/// A word or a single other character, and its line.
struct Word {
    text: String,
    line: usize,
}

fn words(masked: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (index, line) in masked.lines().enumerate() {
        let mut inside = false;
        for c in line.chars() {
            let part = c.is_alphanumeric() || c == '_';
            match words.last_mut() {
                Some(word) if part && inside => word.text.push(c),
                _ if c.is_whitespace() => {}
                _ => words.push(Word {
                    text: c.to_string(),
                    line: index + 1,
                }),
            }
            inside = part;
        }
    }
    words
}

fn rust(words: &[Word]) -> Vec<Function> {
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let Some(name) = words.get(index + 1) else {
            break;
        };
        // `fn(` is a type, not a function.
        if word.text != "fn"
            || !name
                .text
                .starts_with(|c: char| c.is_alphabetic() || c == '_')
        {
            continue;
        }
        if let Some(end) = rust_body_end(&words[index..]) {
            found.push(Function {
                name: name.text.clone(),
                line: word.line,
                lines: end - word.line + 1,
            });
        }
    }
    found
}

/// The line of the brace that closes the body; `None` for a declaration without one.
fn rust_body_end(words: &[Word]) -> Option<usize> {
    let mut braces = 0;
    let mut brackets = 0;
    for word in words {
        match word.text.as_str() {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets -= 1,
            ";" if braces == 0 && brackets == 0 => return None,
            "{" => braces += 1,
            "}" => {
                braces -= 1;
                if braces == 0 && brackets == 0 {
                    return Some(word.line);
                }
            }
            _ => {}
        }
    }
    None
}

fn lua(words: &[Word]) -> Vec<Function> {
    let mut found = Vec::new();
    let mut open: Vec<Option<(String, usize)>> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        match word.text.as_str() {
            "function" => open.push(Some((lua_name(&words[index + 1..]), word.line))),
            // `while` and `for` open a block with their `do`, and `elseif` has no separate `end`.
            "if" | "do" | "repeat" => open.push(None),
            "end" | "until" => {
                if let Some(Some((name, line))) = open.pop() {
                    let lines = word.line - line + 1;
                    found.push(Function { name, line, lines });
                }
            }
            _ => {}
        }
    }
    found
}

fn lua_name(words: &[Word]) -> String {
    let name: String = words
        .iter()
        .take_while(|word| word.text != "(")
        .map(|word| word.text.as_str())
        .collect();
    if name.is_empty() {
        "<anonymous>".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(language: Language, text: &str) -> Vec<(String, usize, usize)> {
        find(language, text)
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect()
    }

    #[test]
    fn rust_functions_are_measured() {
        let text = "trait T {\n fn declared(&self) -> [u8; 4];\n}\n\
            fn short(call: fn(u8) -> u8) {}\n\
            fn outer<'a>(\n x: &'a str,\n) -> u8 {\n fn inner() {\n }\n '}'; \"}\"\n}\n";
        let expected = [("short", 4, 1), ("outer", 5, 7), ("inner", 8, 2)];
        let expected = expected.map(|(name, line, lines)| (name.to_owned(), line, lines));
        assert_eq!(measured(Language::Rust, text), expected);
    }

    #[test]
    fn lua_functions_are_measured() {
        let text = "function a.b:c(x)\n for i = 1, 2 do\n if x then y() elseif z then end\n end\n\
            repeat x() until y\n local f = function()\n end\nend\n";
        let expected = [("<anonymous>", 6, 2), ("a.b:c", 1, 8)];
        let expected = expected.map(|(name, line, lines)| (name.to_owned(), line, lines));
        assert_eq!(measured(Language::Lua, text), expected);
    }
}
