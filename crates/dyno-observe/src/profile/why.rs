//! Explains why there is no profile, and what to do about it.

use std::io;

use super::perf::{Sampled, user_of};

/// How to get the program.
const INSTALL: &str = "perf is not installed: apt install linux-perf (Debian), linux-tools-generic \
                       (Ubuntu), dnf install perf (Fedora)";
/// The messages of perf and the kernel about missing permissions.
const DENIED: [&str; 5] = [
    "perf_event_paranoid",
    "Permission denied",
    "not permitted",
    "No permission",
    "Permission error",
];

/// Why perf could not be started.
pub(super) fn of_start(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => INSTALL.to_owned(),
        _ => format!("cannot start perf: {error}"),
    }
}

/// Turns perf's messages into advice.
pub(super) fn of_messages(messages: &str, sampled: &Sampled) -> String {
    // A script in Ubuntu that replaces perf if only another kernel's is installed.
    if messages.contains("perf not found for kernel") {
        return "perf for this kernel is not installed: apt install linux-tools-$(uname -r)"
            .to_owned();
    }
    if !DENIED.iter().any(|word| messages.contains(word)) {
        return format!("perf record failed: {}", last_line(messages));
    }
    let own = user_of(std::process::id().cast_signed());
    let theirs = match sampled {
        Sampled::Processes(pids) => pids.first().and_then(|pid| user_of(*pid)),
        Sampled::Host | Sampled::Threads(_) => own,
    };
    if own != Some(0) && own != theirs {
        return "perf may not profile another user's processes: run Dyno as root or as the server's \
                user"
            .to_owned();
    }
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level.map_or_else(|_| "unknown".to_owned(), |level| level.trim().to_owned());
    format!(
        "perf may not sample (kernel.perf_event_paranoid is {level}): run Dyno as root, or run as \
         root sysctl kernel.perf_event_paranoid=1; a container needs --cap-add PERFMON"
    )
}

/// The last line that is not empty.
pub(super) fn last_line(messages: &str) -> String {
    let mut lines = messages.lines().map(str::trim).rev();
    let said = lines.find(|line| !line.is_empty() && !line.starts_with("[ perf record:"));
    said.unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_perf_become_advice() {
        let own = Sampled::Processes(vec![std::process::id().cast_signed()]);
        // perf 6.1 with kernel.perf_event_paranoid = 3.
        let denied = "Error:\nAccess to performance monitoring and observability operations is \
                      limited.\nperf_event_paranoid setting is 3:\n";
        let advice = of_messages(denied, &own);
        assert!(
            advice.contains("sysctl kernel.perf_event_paranoid=1"),
            "{advice}"
        );
        let ubuntu = "WARNING: perf not found for kernel 6.8.0-31\n";
        assert!(of_messages(ubuntu, &own).contains("linux-tools-$(uname -r)"));
        let other = "Couldn't create thread/CPU maps: No such process\n\n";
        let advice = of_messages(other, &own);
        assert_eq!(
            advice,
            "perf record failed: Couldn't create thread/CPU maps: No such process"
        );
        assert_eq!(of_messages("", &own), "perf record failed: it said nothing");
        let gone = io::Error::from(io::ErrorKind::NotFound);
        assert!(of_start(&gone).contains("apt install linux-perf"));
    }
}
