//! Logs in various forms.

use super::*;
use dyno_samples::assert_begins;
use proptest::prelude::*;

const LOG: &str = "\
Linux 6.18.44 (vm) \t11/21/26 \t_x86_64_\t(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          24.41    0.00    3.07    0.59    1.71   70.22

Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util
vda             74.72   2705.40    0.70   20.23   2309.35    0.93    0.07   1.82

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          78.28    0.00   17.68    0.51    0.00    3.54

Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util
vda             44.00    700.00    0.16    0.00      0.00    0.00    0.01   0.80
";

fn parse(text: &str) -> HostLog {
    let log = Log::new("iostat.log", text);
    read(&log, &Options::default()).unwrap()
}

fn values(log: &HostLog, name: &str) -> Vec<f64> {
    let series = log.collected.all.iter().find(|values| values.name == name);
    series.map_or(Vec::new(), |s| s.values.iter().map(|(_, v)| *v).collect())
}

#[test]
fn devices_and_shares_by_name() {
    let log = parse(LOG);
    assert_eq!(log.moments.len(), 2);
    assert_eq!(values(&log, "host.cpu.iowait"), [0.59, 0.51]);
    assert_eq!(
        values(&log, "host.disk[vda].read_bytes"),
        [2_770_329.6, 716_800.0]
    );
    assert_eq!(values(&log, "host.disk[vda].read_await"), [0.7, 0.16]);
    assert_eq!(values(&log, "host.disk[vda].queue"), [0.07, 0.01]);
    assert_eq!(values(&log, "host.disk[vda].utilisation"), [1.82, 0.8]);
    assert!(log.warnings.is_empty(), "{:?}", log.warnings);
    let facts: Vec<_> = log.facts.iter().map(|f| f.value.as_str()).collect();
    assert_eq!(facts, ["6.18.44", "vm", "2"]);
    let comma: String = LOG
        .lines()
        .map(|line| match line.starts_with("Linux") {
            true => format!("{line}\n"),
            false => format!("{}\n", line.replace('.', ",")),
        })
        .collect();
    assert_eq!(values(&parse(&comma), "host.cpu.user"), [24.41, 78.28]);
}

#[test]
fn lines_of_other_containers_do_not_end_a_table() {
    let both = |line: &str| format!("iostat-1 | {line}\nbench-1 | [ 1s ] tps: 7.00\n");
    let text: String = LOG.lines().map(both).collect();
    let parts = crate::wrapped::unwrapped(&text).unwrap();
    let own = parts.iter().find(|part| part.source == "iostat-1").unwrap();
    let (own, plain) = (parse(&own.text), parse(LOG));
    for name in ["host.cpu.user", "host.disk[vda].writes"] {
        assert_eq!(values(&own, name), values(&plain, name), "{name}");
    }
}

#[test]
fn old_names_and_times_apart_from_their_day() {
    let heading = "Device:  rrqm/s wrqm/s   r/s   w/s  rsec/s  wsec/s avgrq-sz avgqu-sz \
                       await svctm %util";
    let row = "sda  0.00   1.00  2.00  3.00   16.00   32.00     9.60     0.02  4.00  1.00  0.5";
    let old = format!(
        "Linux 2.6.32 (db1) \t11/21/2026 \t_x86_64_\t(8 CPU)\n\n\
             Time: 01:07:48 PM\n{heading}\n{row}\n\nTime: 01:07:49 PM\n{heading}\n{row}\n"
    );
    let log = parse(&old);
    assert_eq!(log.moments[1].unwrap().seconds, 1_795_266_469.0);
    assert_eq!(values(&log, "host.disk[sda].read_bytes")[1], 8192.0);
    assert_eq!(values(&log, "host.disk[sda].queue")[1], 0.02);
    assert!(log.warnings.is_empty(), "{:?}", log.warnings);
}

#[test]
fn damage_is_reported_with_its_line() {
    let cut = &LOG[..LOG.len() - 20];
    let log = parse(cut);
    assert_eq!(values(&log, "host.disk[vda].queue"), [0.07]);
    assert_begins(&log.warnings[0].to_string(), "iostat.log:13: the log ends");
    let odd = LOG.replace("78.28", "18.28");
    assert!(parse(&odd).warnings[0].text.contains("40 %"));
    let unknown = LOG.replace("aqu-sz", "aqu-zz");
    assert!(parse(&unknown).warnings[0].text.contains("'aqu-zz'"));
    let log = Log::new("x", "nothing");
    let error = read(&log, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("no heading of iostat"));
}

/// Three reports with a time before each line, including blank ones; the first covers the time
/// since boot.
fn stamped() -> String {
    let report = |second: u32, user: f64, kib: f64| {
        [
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle".to_owned(),
            format!(
                "          {user:.2}    0.00    2.00    1.00    0.00   {:.2}",
                97.0 - user
            ),
            String::new(),
            "Device            r/s     w/s     rkB/s     wkB/s".to_owned(),
            format!("sdq              0.00    7.00      0.00   {kib:.2}"),
            String::new(),
        ]
        .map(|line| format!("2026-11-25 10:00:{second:02}.500000 {line}\n"))
        .concat()
    };
    [
        report(0, 60.0, 9999.0),
        report(1, 11.0, 20.0),
        report(2, 12.0, 40.0),
    ]
    .concat()
}

#[test]
fn a_time_before_an_empty_line_is_not_part_of_a_report() {
    let text = stamped();
    for text in [text.clone(), text.replace(".500000 ", ".500000\t")] {
        let log = parse(&text);
        let seconds = log.moments.iter().map(|own| own.unwrap().seconds % 60.0);
        assert_eq!(seconds.collect::<Vec<_>>(), [0.5, 1.5, 2.5]);
        assert_eq!(values(&log, "host.cpu.user"), [60.0, 11.0, 12.0]);
        let kib = values(&log, "host.disk[sdq].write_bytes");
        assert_eq!(kib, [9999.0 * KIB, 20.0 * KIB, 40.0 * KIB]);
    }
    // With -t, the time printed by iostat also counts.
    let both = text.replace(
        "avg-cpu:",
        "11/25/26 09:00:07\n2026-11-25 10:00:09.500000 avg-cpu:",
    );
    let log = parse(&both);
    assert_eq!(
        (log.moments.len(), log.moments[1].unwrap().seconds % 3600.0),
        (3, 7.0)
    );
}

#[test]
fn moments_of_other_locales() {
    for moment in ["2026年11月25日 16時59分58秒", "25.11.2026 16.59.58"] {
        let log = parse(&format!("{moment}\nDevice  w/s  wkB/s\nsdq 1.0 2.0\n"));
        assert_eq!(
            log.moments[0].map(|own| own.seconds),
            Some(1_795_625_998.0),
            "{moment}"
        );
    }
}

#[test]
fn pretty_human_and_json_are_the_same() {
    let pretty = "\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          24.5%    0.0%    3.0%    0.5%    2.0%   70.0%

     r/s     rkB/s r_await rareq-sz Device
   75.00      2.5M    0.50    35.0k vdq
    3.00      0.0k    0.00     0.0k vdr

     w/s     wkB/s w_await wareq-sz Device
   20.00    512.0k    1.25    25.6k vdq

     f/s f_await  aqu-sz  %util Device
   11.00    0.04    0.25   2.5% vdq


avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          78.0%    0.0%   17.5%    0.5%    0.0%    4.0%

     r/s     rkB/s r_await rareq-sz Device
   44.00      1.0M    0.25    23.8k vdq
";
    let log = parse(pretty);
    assert_eq!((log.moments.len(), &log.warnings[..]), (2, &[][..]));
    assert_eq!(values(&log, "host.cpu.user"), [24.5, 78.0]);
    let read = [2.5 * MIB, MIB];
    assert_eq!(values(&log, "host.disk[vdq].read_bytes"), read);
    assert_eq!(values(&log, "host.disk[vdq].write_await"), [1.25]);
    assert_eq!(values(&log, "host.disk[vdq].utilisation"), [2.5]);
    // A table without a row for it is reported; one that may be cut off is not.
    assert!(values(&log, "host.disk[vdr].writes").is_empty());
    assert_eq!(values(&log, "host.disk[vdr].reads"), [3.0]);
    let json = r#"{"sysstat": {"hosts": [{
            "nodename": "box", "sysname": "Linux", "release": "6.6.6", "machine": "x86_64",
            "number-of-cpus": 2, "date": "11/25/26", "statistics": [
            {"avg-cpu": {"user": 24.5, "nice": 0.0, "system": 3.0, "iowait": 0.5, "steal": 2.0,
              "idle": 70.0},
             "disk": [{"disk_device": "vdq", "r/s": 75.0, "rkB/s": 2560.0, "util": 2.5}]},
            {"avg-cpu": {"user": 78.0, "nice": 0.0, "system": 17.5, "iowait": 0.5, "steal": 0.0,
              "idle": 4.0},
             "disk": [{"disk_device": "vdq", "r/s": 44.0, "rkB/s": 1024.0, "util": 1.5}]}
        ]}]}}"#;
    let log = parse(json);
    assert_eq!(values(&log, "host.cpu.user"), [24.5, 78.0]);
    assert_eq!(values(&log, "host.disk[vdq].read_bytes"), read);
    assert_eq!(values(&log, "host.disk[vdq].utilisation"), [2.5, 1.5]);
    assert_eq!((log.facts[0].value.as_str(), log.facts.len()), ("6.6.6", 3));
    let cut = parse(&json[..json.len() - 70]);
    assert_eq!(values(&cut, "host.cpu.user"), [24.5, 78.0]);
    assert_eq!(values(&cut, "host.disk[vdq].read_bytes"), read[..1]);
    assert!(cut.warnings[0].text.contains("the JSON is truncated"));
}

#[test]
fn devices_on_top_of_others_or_idle() {
    let report = |rows: &str| format!("Device  w/s  wkB/s\n{rows}\n");
    let text = [
        report("sdq 1.0 10.0\ndm-3 1.0 10.0\nsdr 5.0 50.0\n"),
        report("sdq 2.0 20.0\ndm-3 2.0 20.0\n"),
        report("sdq 3.0 30.0\nsdr 7.0 70.0\nsdq4 1.0 1.0\n"),
        "Device  w/s  wkB/s\nsdq 4.0 40.0".to_owned(),
    ]
    .concat();
    let log = parse(&text);
    // The last figure may be incomplete.
    assert_eq!(values(&log, "host.disk[sdq].writes"), [1.0, 2.0, 3.0]);
    assert!(log.warnings[0].text.contains("the log ends within a row"));
    assert_eq!(values(&log, "host.disk[sdr].writes"), [5.0, 0.0, 7.0]);
    assert!(values(&log, "host.disk[dm-3].writes").is_empty());
    assert!(values(&log, "host.disk[sdq4].writes").is_empty());
    let left_out: Vec<&str> = log.gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert_eq!(left_out, ["host.disk[dm-3]", "host.disk[sdq4]"]);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(
        text in "(Device|avg-cpu:|Time: |Linux | |[0-9]|\\.|%util|r/s|\n)*", tail in "\\PC*"
    ) {
        let whole = format!("{LOG}{text}\n{tail}");
        let _ = read(&Log { name: "x", text: &whole }, &Options::default());
        let _ = read(&Log { name: "x", text: &text }, &Options::default());
    }
}

#[test]
fn a_first_report_of_an_interval_counts() {
    let report = |kib: u32, per_s: f64| {
        format!(
            "Device   tps  kB_read/s  kB_wrtn/s  kB_dscd/s  kB_read  kB_wrtn  kB_dscd\n\
             vda   100.00  {per_s:.2}  0.00  0.00  {kib}  0  0\n\n"
        )
    };
    // The machine has run for an hour, or iostat ran with -y.
    let since_boot = format!("{}{}", report(360_000, 100.0), report(700, 699.3));
    assert!(parse(&since_boot).first_since_boot);
    let without = format!("{}{}", report(500, 499.5), report(700, 699.3));
    assert!(!parse(&without).first_since_boot);
    // Other forms do not show this.
    assert!(parse(LOG).first_since_boot);
    let options = Options {
        first_report: true,
        ..Options::default()
    };
    let log = Log::new("iostat.log", LOG);
    assert!(!read(&log, &options).unwrap().first_since_boot);
}

#[test]
fn figures_that_contradict_others_are_left_out() {
    let heading = "Device r/s rkB/s r_await rareq-sz w/s wkB/s w_await aqu-sz %util";
    let report = |cpu: &str, row: &str| {
        format!(
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n{cpu}\n\n{heading}\n{row}\n\n"
        )
    };
    let (cpu, row) = (
        "20.00 0.00 10.00 5.00 0.00 65.00",
        "sda 100.00 1600.00 1.50 16.00 0.00 0.00 0.00 0.15 40.00",
    );
    let log = |cpu: &str, changed: &str| {
        let first = report("1.00 0.00 1.00 1.00 0.00 97.00", row);
        parse(&[first, report(cpu, changed), report(cpu, changed)].concat())
    };
    assert_eq!(log(cpu, row).warnings, []);
    let many = log(cpu, &row.replace("1600.00", "9600.00"));
    assert!(
        many.warnings[0]
            .text
            .contains("2 rows of devices whose bytes")
    );
    assert_eq!(values(&many, "host.disk[sda].reads"), [100.0]);
    assert_eq!(values(&many, "host.disk[sda].read_bytes"), [1600.0 * KIB]);
    assert_eq!(values(&many, "host.disk[sda].utilisation").len(), 3);
    let busy = log(cpu, &row.replace("40.00", "400.00"));
    assert_eq!(values(&busy, "host.disk[sda].utilisation"), [40.0]);
    let long = log(cpu, &row.replace("0.15", "90.15"));
    assert_eq!(values(&long, "host.disk[sda].queue"), [0.0; 0]);
    assert_eq!(values(&long, "host.disk[sda].reads").len(), 3);
    let odd = log("920.00 0.00 10.00 5.00 0.00 65.00", row);
    assert_eq!(values(&odd, "host.cpu.user"), [1.0]);
    assert!(odd.warnings[0].text.contains("these shares are left out"));
}

#[test]
fn a_device_whose_row_is_damaged_or_cut_off_is_unknown_not_idle() {
    let report = |rows: &str| format!("Device  w/s  wkB/s\n{rows}\n");
    for (row, count) in [
        ("sdr 5.0\n", 2),
        ("sdr 5.0 x\n", 2),
        ("sdr 5.0 50.0 7.0\n", 2),
        ("", 3),
    ] {
        let whole = report("sdq 1.0 10.0\nsdr 5.0 50.0\n");
        let text = format!("{whole}{}{whole}", report(&format!("sdq 2.0 20.0\n{row}")));
        let log = parse(&text);
        assert_eq!(values(&log, "host.disk[sdq].writes").len(), 3, "{row}");
        assert_eq!(values(&log, "host.disk[sdr].writes").len(), count, "{row}");
    }
    let device = |name: &str| format!(r#"{{"disk_device": "{name}", "w/s": 1.0, "wkB/s": 10.0}}"#);
    let report = format!(r#"{{"disk": [{}, {}]}}"#, device("sdq"), device("sdr"));
    let json = format!(r#"{{"sysstat": {{"hosts": [{{"statistics": [{report}, {report}]}}]}}}}"#);
    let cut = |end: &str| parse(&json[..json.rfind(end).unwrap()]);
    assert_eq!(values(&cut("\"sdr\""), "host.disk[sdq].writes"), [1.0, 1.0]);
    assert_eq!(values(&cut("\"sdr\""), "host.disk[sdr].writes"), [1.0]);
    let idle = json.replacen(&format!(", {}", device("sdr")), "", 2);
    let idle = idle.replacen(
        &device("sdq"),
        &format!("{}, {}", device("sdq"), device("sdr")),
        1,
    );
    for text in [&idle[..], &idle[..idle.len() - 4]] {
        assert_eq!(values(&parse(text), "host.disk[sdr].writes"), [1.0, 0.0]);
    }
}
