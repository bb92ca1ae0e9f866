//! The sequence of a session's requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dyno_core::distributions::Distributions;
use dyno_core::rand::Stream;

use super::options::{FileIo, Mode};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Sync,
}

/// A request. A flush has neither offset nor length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// The requests of one session.
#[derive(Debug)]
pub(crate) struct Requests {
    mode: Mode,
    files: u64,
    /// Blocks per file.
    blocks: u64,
    block: u64,
    /// Blocks per sequential request.
    merged: u64,
    ratio: f64,
    fsync_every: u64,
    /// Requests since the last flush of all files began.
    since_sync: u64,
    /// Something was written since.
    dirty: bool,
    /// The next file to flush, while all files are being flushed.
    syncing: Option<u32>,
    reads: u64,
    writes: u64,
    /// The position of the sequential requests of all sessions, in requests.
    cursor: Arc<AtomicU64>,
    distributions: Distributions,
    stream: Stream,
}

impl Requests {
    pub(crate) fn new(test: &FileIo, mode: Mode, cursor: Arc<AtomicU64>, tid: u32) -> Self {
        let writes = mode.writes();
        Self {
            mode,
            files: u64::from(test.files),
            blocks: test.blocks(),
            block: test.block,
            merged: test.request_max() / test.block,
            ratio: test.ratio,
            fsync_every: if writes { test.fsync_every } else { 0 },
            since_sync: 0,
            dirty: false,
            syncing: None,
            reads: 0,
            writes: 0,
            cursor,
            distributions: Distributions::new(&test.rand),
            stream: Stream::new(test.seed, u64::from(tid)),
        }
    }

    /// The next request; the sequence is endless.
    #[inline]
    pub(crate) fn next(&mut self) -> Request {
        if let Some(file) = self.syncing {
            self.syncing = (u64::from(file) + 1 < self.files).then_some(file + 1);
            return Request {
                kind: Kind::Sync,
                file,
                offset: 0,
                len: 0,
            };
        }
        if self.fsync_every > 0 && self.since_sync >= self.fsync_every {
            self.since_sync = 0;
            if std::mem::take(&mut self.dirty) {
                self.syncing = Some(0);
                return self.next();
            }
        }
        self.since_sync += 1;
        let kind = self.kind();
        self.dirty |= kind == Kind::Write;
        match self.mode.random() {
            true => self.at_random(kind),
            false => self.in_order(kind),
        }
    }

    fn kind(&mut self) -> Kind {
        let kind = match self.mode {
            Mode::SequentialRead | Mode::RandomRead => Kind::Read,
            Mode::SequentialWrite | Mode::SequentialRewrite | Mode::RandomWrite => Kind::Write,
            Mode::RandomMixed => {
                let ratio = (self.reads + 1) as f64 / (self.writes + 1) as f64;
                if ratio < self.ratio {
                    Kind::Read
                } else {
                    Kind::Write
                }
            }
        };
        match kind {
            Kind::Read => self.reads += 1,
            _ => self.writes += 1,
        }
        kind
    }

    #[inline]
    fn at_random(&mut self, kind: Kind) -> Request {
        let last = self.files * self.blocks - 1;
        let law = self.distributions.default_kind();
        let place = self.distributions.draw_u64(law, &mut self.stream, 0, last);
        Request {
            kind,
            file: (place / self.blocks) as u32,
            offset: place % self.blocks * self.block,
            len: self.block as u32,
        }
    }

    /// File after file, then from the first again. The last request of a file may be shorter.
    fn in_order(&mut self, kind: Kind) -> Request {
        let in_file = self.blocks.div_ceil(self.merged);
        let turn = self.cursor.fetch_add(1, Ordering::Relaxed) % (self.files * in_file);
        let first = turn % in_file * self.merged;
        let blocks = self.merged.min(self.blocks - first);
        Request {
            kind,
            file: (turn / in_file) as u32,
            offset: first * self.block,
            len: (blocks * self.block) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::options::{Edition, Values};
    use crate::plan::Setting;
    use dyno_core::plan::{OptionValue, RandPlan};

    fn test(more: &[(&str, OptionValue)]) -> FileIo {
        let number = |number: f64| OptionValue::Number(number);
        let text = |text: &str| OptionValue::Text(text.to_owned());
        let mut options: Vec<(String, OptionValue)> = [
            ("file_num", number(3.0)),
            ("file_block_size", number(1024.0)),
            ("file_total_size", number(15_000.0)),
            ("file_test_mode", text("rndrw")),
            ("file_io_mode", text("sync")),
            ("file_extra_flags", OptionValue::List(Vec::new())),
            ("file_fsync_freq", number(10.0)),
            ("file_fsync_all", OptionValue::Bool(false)),
            ("file_fsync_end", OptionValue::Bool(true)),
            ("file_fsync_mode", text("fsync")),
            ("file_merged_requests", number(0.0)),
            ("file_rw_ratio", number(1.5)),
            ("file_directory", text(".")),
            ("file_content", text("random")),
            ("file_async_backlog", number(8.0)),
            ("validate", OptionValue::Bool(false)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, value) in more {
            let known = options.iter_mut().find(|(known, _)| known == name);
            known.unwrap().1 = value.clone();
        }
        let setting = Setting {
            edition: Edition::Dyno,
            sessions: 1,
            seed: 1,
            rand: RandPlan::default(),
        };
        FileIo::new(&Values(&options), &setting).unwrap()
    }

    fn requests(test: &FileIo) -> Requests {
        Requests::new(test, test.mode.unwrap(), Arc::default(), 0)
    }

    fn take(requests: &mut Requests, count: usize) -> Vec<Request> {
        (0..count).map(|_| requests.next()).collect()
    }

    fn mode(name: &str) -> (&'static str, OptionValue) {
        ("file_test_mode", OptionValue::Text(name.to_owned()))
    }

    #[test]
    fn reads_and_writes_keep_their_ratio_and_flushes_come_for_all_files() {
        let test = test(&[]);
        let all = take(&mut requests(&test), 1300);
        let count = |kind| all.iter().filter(|request| request.kind == kind).count();
        // After each ten requests, one flush of each of three files.
        assert_eq!(count(Kind::Sync), 300);
        let ratio = count(Kind::Read) as f64 / count(Kind::Write) as f64;
        assert!((ratio - 1.5).abs() < 0.01, "{ratio}");
        let flushed: Vec<u32> = all[10..13].iter().map(|request| request.file).collect();
        assert_eq!(flushed, [0, 1, 2]);
        assert!(all[10..13].iter().all(|request| request.kind == Kind::Sync));
    }

    #[test]
    fn random_requests_reach_every_block_and_none_beyond() {
        let test = test(&[mode("rndrd")]);
        // 15,000 bytes over 3 files are 4 blocks of 1 KiB for each.
        assert_eq!(test.file_size(), 4096);
        let all = take(&mut requests(&test), 500);
        let places: BTreeSet<_> = all.iter().map(|one| (one.file, one.offset)).collect();
        assert_eq!(places.len(), 12);
        assert!(
            all.iter()
                .all(|one| one.kind == Kind::Read && one.len == 1024)
        );
        assert!(all.iter().all(|one| one.file < 3 && one.offset <= 3072));
    }

    #[test]
    fn sessions_share_one_way_through_the_files() {
        let merged = ("file_merged_requests", OptionValue::Number(3.0));
        let test = test(&[mode("seqrd"), merged]);
        let cursor = Arc::default();
        let session = |tid| Requests::new(&test, Mode::SequentialRead, Arc::clone(&cursor), tid);
        let (mut one, mut other) = (session(0), session(1));
        let mut all = Vec::new();
        for _ in 0..4 {
            all.push(one.next());
            all.push(other.next());
        }
        let places = all.iter().map(|one| (one.file, one.offset, one.len));
        let expected = [
            (0, 0, 3072),
            (0, 3072, 1024),
            (1, 0, 3072),
            (1, 3072, 1024),
            (2, 0, 3072),
            (2, 3072, 1024),
            (0, 0, 3072),
            (0, 3072, 1024),
        ];
        assert_eq!(places.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_run_that_only_reads_flushes_nothing() {
        for name in ["seqrd", "rndrd"] {
            let all = take(&mut requests(&test(&[mode(name)])), 200);
            assert!(all.iter().all(|one| one.kind == Kind::Read), "{name}");
        }
        let all = ("file_fsync_all", OptionValue::Bool(true));
        let all = take(&mut requests(&test(&[mode("seqwr"), all])), 200);
        // Each write is flushed already.
        assert!(all.iter().all(|one| one.kind == Kind::Write));
    }
}
