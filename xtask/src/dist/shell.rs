//! Completes command lines with bash, for tests.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::output;

/// bash's default word breaks (`COMP_WORDBREAKS`), without quotes and blanks.
const BREAKS: &str = "@><=;|&(:";

/// Loads a completion script, checks that it is registered, and prints its suggestions.
const SCRIPT: &str = r#"
source "$1" || exit 8
[[ $(complete -p dyno) =~ -F\ ([^ ]+)\ dyno ]] || exit 9
COMP_LINE=$2 COMP_POINT=${#2}
shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
"${BASH_REMATCH[1]}" dyno "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// The suggestions at the end of a command line, in a bash that has loaded the completion script
/// `binding` and finds dyno in `bin`.
///
/// # Errors
/// bash fails, or prints an error.
pub fn complete(binding: &Path, bin: &Path, line: &str, folder: &Path) -> Result<Vec<String>> {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", SCRIPT, "bash"]);
    bash.arg(binding).arg(line).args(words(line));
    bash.current_dir(folder).env_remove("DYNO_RESULTS");
    let path = std::env::var("PATH").unwrap_or_default();
    bash.env("PATH", format!("{}:{path}", bin.display()));
    let errors = bash.output().context("cannot run bash")?.stderr;
    let errors = String::from_utf8_lossy(&errors).into_owned();
    anyhow::ensure!(errors.is_empty(), "completing `{line}`: {errors}");
    let text = output(&mut bash)?;
    Ok(text
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Splits a line as bash does. The last word may be empty.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for c in line.chars() {
        let cut = BREAKS.contains(c) != BREAKS.contains(last);
        if c == ' ' || (cut && last != ' ') {
            words.push(String::new());
        }
        if c != ' '
            && let Some(word) = words.last_mut()
        {
            word.push(c);
        }
        last = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_cut_as_bash_cuts_them() {
        assert_eq!(
            words("dyno run --mix=d"),
            ["dyno", "run", "--mix", "=", "d"]
        );
        assert_eq!(
            words("dyno -T my://u@h"),
            ["dyno", "-T", "my", ":", "//u", "@", "h"]
        );
        assert_eq!(words("dyno run "), ["dyno", "run", ""]);
    }
}
