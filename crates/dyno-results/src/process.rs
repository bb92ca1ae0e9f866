//! Identifies the process that writes a run, so that others can check whether it is still running.

use std::fs;

/// Identifies a process on this machine, even if its process id is used again later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Option<i64>,
    /// The boot of the machine: `/proc/sys/kernel/random/boot_id`.
    pub(crate) boot_id: Option<String>,
    /// When the process started, in clock ticks since the boot: field 22 of `/proc/PID/stat`.
    pub(crate) start_ticks: Option<i64>,
    /// The namespace of the process id: `/proc/self/ns/pid`.
    pub(crate) namespace: Option<String>,
}

impl Process {
    pub(crate) fn current() -> Self {
        let pid = i64::from(std::process::id());
        Self {
            pid: Some(pid),
            boot_id: boot_id(),
            start_ticks: start_ticks(pid),
            namespace: namespace(),
        }
    }

    /// Whether the process is still running. If it is in another container of the same boot, it is
    /// not visible here and counts as running.
    pub(crate) fn lives(&self) -> bool {
        let Some(pid) = self.pid else { return false };
        if self.boot_id != boot_id() {
            return false;
        }
        self.namespace != namespace() || start_ticks(pid) == self.start_ticks
    }
}

fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// `None` if the process does not exist or is a zombie.
fn start_ticks(pid: i64) -> Option<i64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain any character.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    // `rest` begins with field 3, and one more field was consumed.
    fields.nth(22 - 4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_others_do_not() {
        let current = Process::current();
        assert!(current.start_ticks.is_some());
        assert!(current.lives());
        let earlier = Process {
            start_ticks: current.start_ticks.map(|ticks| ticks - 1),
            ..current.clone()
        };
        assert!(!earlier.lives());
        let before_the_boot = Process {
            boot_id: Some("another".to_owned()),
            ..current
        };
        assert!(!before_the_boot.lives());
        assert!(!Process::default().lives());
    }

    #[test]
    fn a_dead_child_does_not_live() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = i64::from(child.id());
        let process = Process {
            pid: Some(pid),
            start_ticks: start_ticks(pid),
            ..Process::current()
        };
        assert!(process.lives());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.lives());
    }
}
