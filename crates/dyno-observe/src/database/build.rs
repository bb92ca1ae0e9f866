//! How MySQL and MariaDB were built.

/// The build type, from the version and from features that only such builds have.
pub(super) fn build(version: &str, comment: &str, has_debug: bool) -> &'static str {
    let text = format!("{version} {comment}").to_ascii_lowercase();
    let sanitizers = [
        "-asan",
        "-ubsan",
        "-msan",
        "-tsan",
        "sanitizer",
        "-valgrind",
    ];
    if sanitizers.iter().any(|name| text.contains(name)) {
        return "sanitizer";
    }
    if has_debug || text.contains("-debug") {
        return "debug";
    }
    if version.is_empty() {
        "unknown"
    } else {
        "release"
    }
}

#[cfg(test)]
mod tests {
    use super::build;

    #[test]
    fn distinguishes_builds() {
        assert_eq!(
            build("10.11.19-MariaDB-0+deb12u1", "Debian 12", false),
            "release"
        );
        assert_eq!(build("8.4.0-debug", "Source distribution", false), "debug");
        assert_eq!(build("9.7.4", "MySQL Community Server", true), "debug");
        assert_eq!(build("9.7.4-asan", "MySQL", true), "sanitizer");
        assert_eq!(build("", "", false), "unknown");
    }
}
