//! Recognising a full file system in a server's error message.

/// Whether the message contains the system's text for a file that cannot grow (`ENOSPC`, `EFBIG`,
/// `EDQUOT`): servers have one code for every system error.
pub(crate) fn says_full(message: &str) -> bool {
    [
        "No space left on device",
        "File too large",
        "Disk quota exceeded",
    ]
    .iter()
    .any(|words| message.contains(words))
}
