//! `dyno completions SHELL`: print a shell completion script, which calls `dyno __complete`.

use anyhow::Result;

use crate::settings::usage;
use crate::{STATUS_DONE, console};

/// The supported shells.
pub(super) const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

const BINDINGS: [&str; 3] = [
    include_str!("../shells/dyno.bash"),
    include_str!("../shells/dyno.zsh"),
    include_str!("../shells/dyno.fish"),
];

const USAGE: &str = "\
Usage: dyno completions bash|zsh|fish

Print a shell completion script. To load it:
  bash  eval \"$(dyno completions bash)\"          in ~/.bashrc
  zsh   eval \"$(dyno completions zsh)\"           in ~/.zshrc, after compinit
  fish  dyno completions fish | source           in ~/.config/fish/config.fish
";

/// Prints a completion script.
///
/// # Errors
/// The shell is not supported.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let shell = match words[..] {
        ["--help" | "-h"] => {
            console::help(USAGE);
            return Ok(STATUS_DONE);
        }
        [shell] => shell,
        _ => return Err(usage("dyno completions needs one of bash, zsh, fish")),
    };
    let known = SHELLS.iter().position(|known| *known == shell);
    let binding = known
        .and_then(|at| BINDINGS.get(at))
        .ok_or_else(|| usage(format!("'{shell}' is not one of bash, zsh, fish")))?;
    console::raw(binding.as_bytes());
    Ok(STATUS_DONE)
}
