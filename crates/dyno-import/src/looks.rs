//! Recognises the tool that printed a text.

use std::fmt;

use crate::{text, wrapped};

/// The output of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// sysbench, or sysbench-tpcc.
    Sysbench,
    /// vmstat.
    Vmstat,
    /// iostat.
    Iostat,
    /// mpstat.
    Mpstat,
    /// sar.
    Sar,
    /// pgbench.
    Pgbench,
    /// pgbench's log of single or aggregated transactions.
    PgbenchLog,
    /// fio, as JSON.
    Fio,
    /// fio's terse output.
    FioTerse,
    /// fio's normal output.
    FioNormal,
    /// fio's log of latencies, bandwidths or IOPS.
    FioLog,
    /// HammerDB.
    Hammerdb,
    /// HammerDB's TPROC-H.
    Tproch,
    /// pidstat.
    Pidstat,
    /// dstat, or its successor in PCP.
    Dstat,
    /// The iostat of macOS or BSD.
    BsdIostat,
    /// The vmstat of a system other than Linux.
    OtherVmstat,
    /// A server's configuration, as in `my.cnf`.
    Configuration,
}

const LINES_MAX: usize = 4000;

impl Looks {
    /// Whether it is recognised but cannot be imported.
    pub fn is_unread(self) -> bool {
        matches!(
            self,
            Self::FioTerse
                | Self::FioNormal
                | Self::FioLog
                | Self::Tproch
                | Self::Pidstat
                | Self::Dstat
                | Self::BsdIostat
                | Self::OtherVmstat
        )
    }

    /// Whether a benchmark printed it, not a program that watches the host.
    pub(crate) fn is_benchmark(self) -> bool {
        matches!(
            self,
            Self::Sysbench
                | Self::Pgbench
                | Self::Fio
                | Self::FioTerse
                | Self::FioNormal
                | Self::Hammerdb
                | Self::Tproch
        )
    }

    /// The end of a message: how to import this log, or which logs can be imported instead.
    pub(crate) fn instead(self) -> &'static str {
        match self {
            Self::Vmstat => ", which is read together with a benchmark's log (--vmstat)",
            Self::Iostat => ", which is read together with a benchmark's log (--iostat)",
            Self::Mpstat => ", which is read together with a benchmark's log (--mpstat)",
            Self::Sar => ", which is read together with a benchmark's log (--sar)",
            Self::FioLog => ", which is not read; the output of fio --output-format=json is",
            Self::Pidstat | Self::Dstat | Self::BsdIostat | Self::OtherVmstat => {
                ", which is not read; logs of vmstat, iostat, mpstat and sar are"
            }
            _ => "",
        }
    }

    /// The tool that a text looks like; `None` if it is unknown.
    pub fn of(text: &str) -> Option<Self> {
        match wrapped::unwrapped(head(text)) {
            Some(parts) => parts.iter().find_map(|part| Self::of_bare(&part.text)),
            None => Self::of_bare(text),
        }
    }

    /// Recognises a text without line prefixes.
    pub(crate) fn of_bare(text: &str) -> Option<Self> {
        let lines = text::lines(head(text));
        let lines: Vec<&str> = lines.iter().map(|line| line.unstamped().1).collect();
        let any = |fits: &dyn Fn(&str) -> bool| lines.iter().any(|line| fits(line.trim()));
        let hammerdb = |line: &str| {
            line.contains("TEST RESULT : System achieved") || line.starts_with("HammerDB CLI")
        };
        let tproch = |line: &str| line.starts_with("Vuser ") && line.contains(":Executing Query ");
        let fio_normal = |line: &str| line.contains(": (groupid=") && line.contains("jobs=");
        let pgbench = |line: &str| {
            line.starts_with("pgbench (")
                || line.starts_with("transaction type: ")
                || (line.starts_with("progress: ") && line.contains(" tps, lat "))
        };
        let words = |line: &str, first: &[&str]| {
            let mut own = line.split_whitespace();
            first.iter().all(|word| own.next() == Some(*word))
        };
        let fio = head(text).contains("\"fio version\"");
        if let Some(own) = of_sysstat_json(head(text)) {
            return Some(own);
        }
        Some(match () {
            () if fio => Self::Fio,
            () if any(&is_fio_terse) => Self::FioTerse,
            () if any(&fio_normal) => Self::FioNormal,
            () if any(&tproch) => Self::Tproch,
            () if any(&hammerdb) => Self::Hammerdb,
            () if any(&pgbench) => Self::Pgbench,
            () if any(&is_sysbench) => Self::Sysbench,
            () if crate::pgbench::is_log(head(text)) => Self::PgbenchLog,
            () if any(&|line| words(line, &["r", "b", "swpd"])) => Self::Vmstat,
            () if any(&|line| is_other_vmstat(&words_of(line))) => Self::OtherVmstat,
            () if any(&is_dstat) => Self::Dstat,
            () if any(&|line| columns(line, &["PID", "%CPU", "Command"])) => Self::Pidstat,
            () if any(&|line| columns(line, &["KB/t", "tps", "MB/s"])) => Self::BsdIostat,
            () if any(&|line| columns(line, &["CPU", "%usr", "%sys", "%idle"])) => Self::Mpstat,
            () if any(&|line| {
                line.starts_with("avg-cpu:")
                    || line.starts_with("Device") && line.contains("r/s")
                    || line.starts_with("\"avg-cpu\":")
            }) =>
            {
                Self::Iostat
            }
            () if any(&|line| columns(line, &["CPU", "%user", "%system", "%idle"])) => Self::Sar,
            () if any(&is_table_of_sar) => Self::Sar,
            () if any(&|line| matches!(line, "[mysqld]" | "[mariadb]" | "[server]")) => {
                Self::Configuration
            }
            () if is_fio_log(head(text)) => Self::FioLog,
            () => return None,
        })
    }
}

fn is_sysbench(line: &str) -> bool {
    line.starts_with("sysbench ") && line.contains('.')
        || line.starts_with("sysbench-tpcc")
        || line == "Running the test with following options:"
        || line == "Threads started!"
        || line.starts_with("SQL statistics:")
        || line.starts_with("OLTP test statistics:")
        || line.starts_with("General statistics:")
        || line.starts_with('[') && line.contains("tps:")
}

fn is_fio_terse(line: &str) -> bool {
    let mut fields = line.split(';');
    let version = fields.next();
    version.is_some_and(|own| matches!(own, "2" | "3" | "4" | "5"))
        && fields.next().is_some_and(|own| own.starts_with("fio-"))
}

/// `1000, 120, 0, 4096, 0`: milliseconds, value, direction and size; newer versions add offset and
/// priority.
fn is_fio_log(text: &str) -> bool {
    const DIRECTIONS: u64 = 3;
    let mut last_ms = 0;
    let mut rows = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let figures = line.split(", ").map(|word| word.trim().parse::<u64>());
        let Ok(figures) = figures.collect::<Result<Vec<u64>, _>>() else {
            return false;
        };
        let [ms, _, direction, _, more @ ..] = figures.as_slice() else {
            return false;
        };
        if *ms < last_ms || *direction >= DIRECTIONS || more.len() > 2 {
            return false;
        }
        (last_ms, rows) = (*ms, rows + 1);
    }
    rows >= 2
}

/// The tool of a JSON of sysstat.
fn of_sysstat_json(text: &str) -> Option<Looks> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let begins = text.starts_with('{') && text.contains("\"sysstat\"");
    let has = |name: &str| text.contains(name);
    let dated = text.split("\"timestamp\"").nth(1);
    let dated = dated.is_some_and(|rest| rest.trim_start_matches([':', ' ']).starts_with('{'));
    match () {
        () if !begins => None,
        () if has("\"avg-cpu\"") || has("\"disk_device\"") => Some(Looks::Iostat),
        () if has("\"sysdata-version\"") || dated => Some(Looks::Sar),
        () if has("\"cpu-load\"") => Some(Looks::Mpstat),
        () => None,
    }
}

/// Whether a text is JSON as a whole.
pub(crate) fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim();
    let begins = text.starts_with(['{', '[']);
    begins && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn is_dstat(line: &str) -> bool {
    let line = line.trim_start_matches(['"', '-']);
    line.starts_with("Dstat ") && line.contains("CSV output")
        || line.starts_with("pcp-dstat")
        || line.starts_with("total-cpu-usage--")
        || line.starts_with("total-usage--")
        || line.starts_with("usr sys idl wai ")
}

/// Each table of sar may occur alone, below a time.
fn is_table_of_sar(line: &str) -> bool {
    const HEADINGS: [&[&str]; 7] = [
        &["DEV", "tps"],
        &["proc/s", "cswch/s"],
        &["bread/s", "bwrtn/s"],
        &["kbmemfree", "kbmemused"],
        &["runq-sz", "plist-sz"],
        &["IFACE", "rxpck/s"],
        &["pswpin/s", "pswpout/s"],
    ];
    HEADINGS.iter().any(|all| columns(line, all))
}

fn columns(line: &str, all: &[&str]) -> bool {
    let own = words_of(line);
    all.iter().all(|word| own.contains(word))
}

fn words_of(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Whether these are vmstat's columns on BSD, AIX or Solaris, which have other meanings, or
/// the title of vm_stat on macOS.
pub(crate) fn is_other_vmstat(words: &[&str]) -> bool {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    words.starts_with(&["r", "b"]) && has(&["avm", "swap"])
        || words.starts_with(&["Mach", "Virtual", "Memory", "Statistics:"])
}

fn head(text: &str) -> &str {
    let end = text.match_indices('\n').nth(LINES_MAX);
    end.map_or(text, |(at, _)| &text[..at])
}

impl fmt::Display for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sysbench => "a log of sysbench",
            Self::Vmstat => "a log of vmstat",
            Self::Iostat => "a log of iostat",
            Self::Mpstat => "a log of mpstat",
            Self::Sar => "a log of sar",
            Self::Pgbench => "a log of pgbench",
            Self::PgbenchLog => "pgbench's log of transactions",
            Self::Fio => "fio's JSON",
            Self::FioTerse => "fio's terse output",
            Self::FioNormal => "fio's normal output",
            Self::FioLog => "fio's log of latencies, bandwidths or IOPS",
            Self::Hammerdb => "a log of HammerDB",
            Self::Tproch => "a log of HammerDB's TPROC-H",
            Self::Pidstat => "a log of pidstat",
            Self::Dstat => "a log of dstat",
            Self::BsdIostat => "a log of the iostat of macOS or BSD",
            Self::OtherVmstat => "a vmstat log of a system other than Linux",
            Self::Configuration => "a server's configuration",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_tools_by_their_fixed_text() {
        for (text, looks) in [
            (include_str!("../fixtures/stamped.out"), Looks::Sysbench),
            (include_str!("../fixtures/written-0.4.out"), Looks::Sysbench),
            (
                include_str!("../fixtures/written-tpcc.out"),
                Looks::Sysbench,
            ),
            (include_str!("../fixtures/fileio.out"), Looks::Sysbench),
            (
                include_str!("../fixtures/stamped-vmstat.out"),
                Looks::Vmstat,
            ),
            (include_str!("../fixtures/ladder-iostat.out"), Looks::Iostat),
            (
                "pgbench (15.14)\nprogress: 1.0 s, 5.0 tps, lat 1.0 ms\n",
                Looks::Pgbench,
            ),
            ("0 199 2241 0 1175850568 995598\n", Looks::PgbenchLog),
            ("{\n \"fio version\" : \"fio-3.33\"\n}", Looks::Fio),
            (
                "Vuser 1:TEST RESULT : System achieved 1 NOPM from 2 MySQL TPM\n",
                Looks::Hammerdb,
            ),
            (
                "12:00:01  CPU  %usr  %nice  %sys %iowait %idle\n",
                Looks::Mpstat,
            ),
            (
                "12:00:01  CPU  %user  %nice  %system %iowait %steal %idle\n",
                Looks::Sar,
            ),
            ("02:12:57 PM   runq-sz  plist-sz   ldavg-1\n", Looks::Sar),
            (
                "02:12:57 PM  CPU  %usr  %nice  %sys %iowait %idle\n",
                Looks::Mpstat,
            ),
            ("14:12:57       proc/s   cswch/s\n", Looks::Sar),
            ("3;fio-3.33;r;0;0;240000;8000\n", Looks::FioTerse),
            (
                "r: (groupid=0, jobs=2): err= 0: pid=7: Wed Nov 25\n",
                Looks::FioNormal,
            ),
            ("Vuser 2:Executing Query 14 (1 of 22)\n", Looks::Tproch),
        ] {
            assert_eq!(Looks::of(text), Some(looks), "{text}");
        }
    }

    #[test]
    fn recognizes_what_it_only_names() {
        for (text, looks) in [
            ("\"Dstat 0.7.4 CSV output\"\n", Looks::Dstat),
            (
                "----total-usage---- -dsk/total-\nusr sys idl wai stl| read  writ\n",
                Looks::Dstat,
            ),
            (
                "              disk0       cpu    load average\n    KB/t  tps  MB/s  us sy id\n",
                Looks::BsdIostat,
            ),
            (
                " r b w     avm     fre  flt  re  pi  po    in    sy    cs us sy id\n",
                Looks::OtherVmstat,
            ),
            (
                " r b w   swap  free  re  mf pi po fr de sr s0   in   sy   cs us sy id\n",
                Looks::OtherVmstat,
            ),
            (
                "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n",
                Looks::OtherVmstat,
            ),
            ("[client]\nport=1\n[mysqld]\nport=2\n", Looks::Configuration),
        ] {
            assert_eq!(Looks::of(text), Some(looks), "{text}");
        }
    }

    #[test]
    fn recognizes_json_of_sysstat_and_what_is_not_read() {
        for (text, looks) in [
            ("0, 100, 0, 4096, 0\n1000, 120, 1, 4096, 0\n", Looks::FioLog),
            ("0, 100, 0, 4096\n500, 120, 0, 4096\n", Looks::FioLog),
            (
                "12:00:00  UID  PID  %usr %system  %guest  %wait  %CPU  CPU  Command\n",
                Looks::Pidstat,
            ),
            (
                "{\"sysstat\": {\"hosts\": [{\"statistics\": [\n\
                 {\"timestamp\": \"16:59:59\", \"cpu-load\": [{\"cpu\": \"all\"}]}]}]}}",
                Looks::Mpstat,
            ),
            (
                "{\"sysstat\": {\"hosts\": [{\"statistics\": [\n\
                 {\"timestamp\": {\"utc\": 1}, \"cpu-load\": [{\"cpu\": \"all\"}]}]}]}}",
                Looks::Sar,
            ),
            (
                "{\"sysstat\": {\"hosts\": [{\"statistics\": [{\"avg-cpu\": {}}]}]}}",
                Looks::Iostat,
            ),
        ] {
            assert_eq!(Looks::of(text), Some(looks), "{text}");
        }
        for text in [
            "",
            "lorem ipsum\n",
            "{}",
            "[ 1 ] 2\n",
            "1, 2, 0, 4\n",
            "1, 2, 7, 4\n2, 2, 7, 4\n",
            "{\"sysstat\": {\"hosts\": []}}",
        ] {
            assert_eq!(Looks::of(text), None, "{text}");
        }
    }
}
