//! The processes of this host, from `/proc`.

use std::fs;
use std::path::Path;

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its pid.
    pub pid: i32,
    /// The pid of its parent.
    pub parent: i32,
    /// The name of its program, truncated to 15 bytes.
    pub name: String,
}

impl Process {
    /// Reads its file in `/proc`, such as `cmdline`. Empty if the process has ended.
    pub fn file(&self, name: &str) -> String {
        let path = Path::new("/proc").join(self.pid.to_string()).join(name);
        String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory effects; tests signal only processes that they started.
        unsafe { libc::kill(self.pid, signal) };
    }
}

/// All running processes.
///
/// # Panics
/// There is no `/proc`.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc is there");
    let processes = entries.flatten().filter_map(|entry| {
        let pid = entry.file_name().to_string_lossy().parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (head, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let name = head.split_once('(')?.1.to_owned();
        (!has_ended).then_some(Process { pid, parent, name })
    });
    processes.collect()
}

/// All descendants of the process `ancestor`.
pub fn descendants(ancestor: u32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut of = vec![ancestor.cast_signed()];
    while let Some(parent) = of.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        for child in children {
            of.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}
