//! A file system that takes no more, as servers repeat it.

/// Whether a server's words are the system's for a file that cannot grow (`ENOSPC`, `EFBIG`,
/// `EDQUOT`): servers have one code for whatever the system says.
pub(crate) fn says_full(message: &str) -> bool {
    [
        "No space left on device",
        "File too large",
        "Disk quota exceeded",
    ]
    .iter()
    .any(|words| message.contains(words))
}
