//! Converts the output of `perf script` to folded stacks.

use std::borrow::Cow;
use std::collections::HashMap;

use dyno_core::cpu_profile::{INLINED, OF_KERNEL, Stacks};
use dyno_core::visible;

/// Maximum number of different stacks; further ones are counted under their thread.
const STACKS_MAX: usize = 50_000;
/// The frame under which those are counted.
const OTHERS: &str = "[other stacks]";
/// The longest name, in characters: names of templates have thousands.
const NAME_CHARS_MAX: usize = 200;
/// Maximum number of bytes read of a line.
const LINE_BYTES_MAX: usize = 16_384;
/// perf's text for an address without a name, and for one in no file.
const UNKNOWN: &str = "[unknown]";
/// Kernel addresses are in the upper half of the address space on every 64-bit system.
const KERNEL: u64 = 1 << 63;
/// Nothing is ever mapped below.
const ADDRESS_MIN: u64 = 4096;
/// The names of records of lost samples, and of new processes and threads.
const LOST: &str = "PERF_RECORD_LOST";
const FORK: &str = "PERF_RECORD_FORK";
const RECORD: &str = "PERF_RECORD_";
/// The depth of the search for a process among its ancestors.
const GENERATIONS_MAX: usize = 8;

/// Samples that belong together.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    /// All samples.
    All,
    /// Samples of one process.
    Process(i32),
    /// Samples of these processes and all their descendants.
    Families(Vec<i32>),
}

/// The samples that count.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// A sample belongs to the first matching group.
    pub groups: Vec<Group>,
    /// The start, in nanoseconds of the monotonic clock.
    pub from: u64,
    /// The end.
    pub to: u64,
}

/// Parses output as it arrives.
pub(crate) struct Folder {
    wanted: Wanted,
    rest: Vec<u8>,
    /// The group, the thread's name and the frames so far, innermost first, of a sample that
    /// counts.
    sample: Option<(usize, String, Vec<String>)>,
    parents: HashMap<i32, i32>,
    found: Vec<Folded>,
}

/// The result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folded {
    pub stacks: Stacks,
    pub samples: u64,
    pub lost: u64,
    /// The sampled event, e.g. `cpu-clock`.
    pub event: Option<String>,
    /// The time of the last sample.
    pub last: Option<u64>,
}

impl Folder {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self {
            found: vec![Folded::default(); wanted.groups.len()],
            wanted,
            rest: Vec::new(),
            sample: None,
            parents: HashMap::new(),
        }
    }

    /// Takes the next bytes, which may end anywhere.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.keep(line);
            let whole = std::mem::take(&mut self.rest);
            self.line(&String::from_utf8_lossy(&whole));
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    /// Ends the input and returns the result of each group.
    pub(crate) fn finish(mut self) -> Vec<Folded> {
        self.end_sample();
        self.found
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.rest.len());
        self.rest.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &str) {
        if line.trim_end().is_empty() {
            self.end_sample();
        } else if line.starts_with('\t') {
            if let Some((_, _, frames)) = &mut self.sample
                && let Some(name) = frame(line.trim())
            {
                frames.push(name);
            }
        } else {
            self.end_sample();
            self.begin_sample(line);
        }
    }

    fn begin_sample(&mut self, line: &str) {
        if let Some((_, fields)) = line.split_once(RECORD) {
            self.record(line, fields);
            return;
        }
        let Some(head) = Head::parse(line) else {
            return;
        };
        if head.at < self.wanted.from || head.at > self.wanted.to {
            return;
        }
        let groups = &self.wanted.groups;
        let Some(group) = groups.iter().position(|group| self.is_of(head.pid, group)) else {
            return;
        };
        let found = &mut self.found[group];
        if found.event.is_none() {
            found.event = Some(head.event.to_owned());
        }
        found.last = Some(head.at);
        self.sample = Some((group, name_of(head.thread), Vec::new()));
    }

    /// Handles a record other than a sample.
    fn record(&mut self, line: &str, fields: &str) {
        if line.contains(LOST) {
            // Their processes are unknown.
            let count = fields.split_whitespace().rev();
            let mut count = count.filter_map(|word| word.parse::<u64>().ok());
            let count = count.next().unwrap_or(0);
            self.found.iter_mut().for_each(|found| found.lost += count);
        } else if line.contains(FORK) {
            // `FORK(PID:TID):(PARENT:TID)`; a new thread has the same process twice.
            let mut numbers = fields.split(['(', ':', ')']).filter_map(|n| n.parse().ok());
            let (pid, _, parent) = (numbers.next(), numbers.next(), numbers.next());
            if let (Some(pid), Some(parent)) = (pid, parent)
                && pid != parent
            {
                self.parents.insert(pid, parent);
            }
        }
    }

    fn is_of(&self, pid: i32, group: &Group) -> bool {
        match group {
            Group::All => true,
            Group::Process(own) => pid == *own,
            Group::Families(pids) => {
                let parent = |pid: &i32| self.parents.get(pid).copied();
                let mut line = std::iter::successors(Some(pid), parent).take(GENERATIONS_MAX);
                line.any(|pid| pids.contains(&pid))
            }
        }
    }

    fn end_sample(&mut self) {
        let Some((group, thread, frames)) = self.sample.take() else {
            return;
        };
        let found = &mut self.found[group];
        found.samples += 1;
        let mut stack = thread.clone();
        let mut before: Option<&String> = None;
        for name in frames.iter().rev() {
            // Collapse consecutive callers without a name.
            if name.starts_with('[') && before == Some(name) {
                continue;
            }
            before = Some(name);
            stack.push(';');
            stack.push_str(name);
        }
        if before.is_none() {
            stack.push(';');
            stack.push_str(UNKNOWN);
        }
        let stacks = &mut found.stacks;
        if stacks.len() >= STACKS_MAX && !stacks.holds(&stack) {
            stack = format!("{thread};{OTHERS}");
        }
        stacks.add(&stack, 1);
    }
}

/// The first line of a sample: `THREAD PID/TID SECONDS: [PERIOD] EVENT:`.
#[derive(Debug, PartialEq)]
struct Head<'a> {
    /// A thread's name, which may contain spaces and anything else.
    thread: &'a str,
    pid: i32,
    at: u64,
    event: &'a str,
}

impl<'a> Head<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim_end().strip_suffix(':')?;
        let (rest, event) = last_word(line)?;
        let (rest, word) = last_word(rest)?;
        // Samples with a period have it here.
        let (rest, time) = match word.ends_with(':') {
            true => (rest, word),
            false => last_word(rest)?,
        };
        let at = nanoseconds(time.strip_suffix(':')?)?;
        let (thread, process) = last_word(rest)?;
        let (pid, tid) = process.split_once('/')?;
        tid.parse::<i32>().ok()?;
        Some(Self {
            thread: thread.trim(),
            pid: pid.parse().ok()?,
            at,
            // `cpu-clock:pppH` has modifiers after its name.
            event: event.trim_end_matches(':').split(':').next()?,
        })
    }
}

/// The last word of a text, and the text before it.
fn last_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let at = text.rfind(char::is_whitespace)?;
    let (rest, word) = text.split_at(at);
    Some((rest, word.trim_start()))
}

/// Parses `14596.010202` or `14596.010202123` as nanoseconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let digits = part.len().min(9) as u32;
    let part: u64 = part.get(..digits as usize)?.parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    whole
        .checked_mul(1_000_000_000)?
        .checked_add(part * 10_u64.pow(9 - digits))
}

/// The name of a frame, `ADDRESS SYMBOL (FILE)`; `None` for an impossible one.
fn frame(line: &str) -> Option<String> {
    let (address, rest) = line.split_once(char::is_whitespace)?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (symbol, file) = with_file(rest.trim())?;
    let mark = match file {
        "inlined" => INLINED,
        _ if address >= KERNEL => OF_KERNEL,
        _ => "",
    };
    if symbol != UNKNOWN {
        return Some(format!("{}{mark}", name_of(without_hash(symbol))));
    }
    // If the stack was truncated, the callers end in an invalid address.
    if address < ADDRESS_MIN || file == UNKNOWN && address >= KERNEL {
        return None;
    }
    Some(format!("{}{mark}", of_file(file)))
}

/// Splits `SYMBOL (FILE)`; both may contain parentheses.
fn with_file(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(')')?;
    let mut depth = 1;
    for (at, c) in inner.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some((inner[..at].trim_end(), &inner[at + 1..]));
        }
    }
    None
}

/// The name of a function without a symbol, after its file.
fn of_file(file: &str) -> String {
    let file = file.strip_suffix(" (deleted)").unwrap_or(file);
    let name = match file {
        UNKNOWN | "" => return UNKNOWN.to_owned(),
        _ if file.starts_with("[kernel") || file.starts_with("[guest.kernel") => "kernel",
        // perf's name for code that was compiled at run time, such as LuaJIT's.
        _ if file.contains("/perf-") && file.ends_with(".map") => "jit",
        _ if file.starts_with("//anon") || file.starts_with("[anon") => "anon",
        _ => file.rsplit('/').next().unwrap_or(file),
    };
    format!("[{}]", name_of(name.trim_matches(['[', ']'])))
}

/// A Rust symbol without the hash that the compiler appends.
fn without_hash(symbol: &str) -> &str {
    let is_hash =
        |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match symbol.rsplit_once("::h") {
        Some((name, hash)) if is_hash(hash) => name,
        _ => symbol,
    }
}

/// A name for a folded stack: of limited length, printable, without semicolons.
fn name_of(name: &str) -> String {
    let name = match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    };
    let name = visible::text(&name).replace([';', '\n', '\t'], ":");
    match name.trim() {
        "" => UNKNOWN.to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
