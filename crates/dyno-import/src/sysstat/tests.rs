//! Logs in various forms.

use super::*;
use dyno_samples::assert_has;
use proptest::prelude::*;

fn parse(text: &str) -> HostLog {
    let log = Log::new("sar.log", text);
    read("sar", Looks::Sar, &log).unwrap()
}

fn values(log: &HostLog, name: &str) -> Vec<f64> {
    let found = log.collected.all.iter().find(|values| values.name == name);
    found.map_or(Vec::new(), |own| own.values.iter().map(|v| v.1).collect())
}

#[test]
fn tables_of_sar_over_the_same_times() {
    let log = parse(include_str!("../../fixtures/sar.txt"));
    assert_eq!(log.moments.len(), 5);
    assert_eq!(values(&log, "host.cpu.system"), [1.0, 0.5, 0.5, 0.5, 0.0]);
    assert_eq!(values(&log, "host.context_switches")[0], 352.48);
    assert_eq!(values(&log, "host.memory.dirty")[0], 49_880.0 * 1024.0);
    assert_eq!(values(&log, "host.disk[vda].write_bytes")[1], 4096.0);
    assert_eq!(values(&log, "host.disk[all].write_bytes")[1], 4096.0);
    assert_eq!(values(&log, "host.network[eth0].rx_bytes").len(), 5);
    assert_eq!(values(&log, "host.blocked").len(), 5);
    assert_eq!(log.warnings, []);
    assert_eq!(log.facts[0].value, "6.18.44");
}

#[test]
fn shares_of_mpstat_by_name() {
    let log = parse(include_str!("../../fixtures/mpstat.txt"));
    assert_eq!(values(&log, "host.cpu.user"), [36.36, 1.01]);
    assert_eq!(values(&log, "host.cpu.softirq"), [0.0, 0.0]);
    let odd = include_str!("../../fixtures/mpstat.txt").replace(" 30.48", " 80.48");
    assert_has(&parse(&odd).warnings[0].text, "150 %");
}

#[test]
fn clocks_of_twelve_hours_and_midnight() {
    let text = "Linux 5.4 (db1) \t11/25/2026 \t_x86_64_\t(4 CPU)\n\n\
            11:59:58 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
            11:59:59 PM     all      5.00      0.00      1.00      0.00      0.00     94.00\n\
            12:00:00 AM     all      6.00      0.00      1.00      0.00      0.00     93.00\n\
            12:00:01 AM     all      7.00      0.00      1.00      0.00      0.00     92.00\n\
            Average:        all      6.00      0.00      1.00      0.00      0.00     93.00\n\n\
            11:59:58 PM       DEV       tps  rd_sec/s  wr_sec/s     %util\n\
            12:00:00 AM    dev8-0      1.00      8.00     16.00      2.00\n";
    let log = parse(text);
    let seconds = log.moments.iter().map(|moment| moment.unwrap().seconds);
    let seconds: Vec<f64> = seconds.collect();
    assert_eq!(seconds[2] - seconds[0], 2.0);
    assert_eq!(seconds.len(), 3);
    assert_eq!(values(&log, "host.disk[dev8-0].read_bytes"), [4096.0]);
}

#[test]
fn tables_of_a_whole_day_begin_with_its_first_time() {
    let text = "Linux 5.4 (db1) \t11/25/2026 \t_x86_64_\t(4 CPU)\n\n\
            00:00:01        CPU     %user     %idle\n\
            00:10:01        all      5.00     95.00\n\
            23:50:01        all      6.00     94.00\n\n\
            00:00:01       proc/s   cswch/s\n\
            00:10:01         1.00    351.00\n\
            13:00:01       proc/s   cswch/s\n\
            23:50:01         1.00    353.00\n";
    let log = parse(text);
    assert_eq!(log.moments.len(), 2);
    assert_eq!(values(&log, "host.context_switches"), [351.0, 353.0]);
    assert_eq!(values(&log, "host.forks"), [1.0, 1.0]);
}

#[test]
fn times_as_other_locales_have_them() {
    for (from, to, date) in [
        ("16时59分58秒", "16时59分59秒", "2026年11月25日"),
        ("16時59分58秒", "16時59分59秒", "2026年11月25日"),
        ("16시 59분 58초", "16시 59분 59초", "2026년 11월 25일"),
        ("16.59.58", "16.59.59", "25.11.2026"),
        ("04:59:58 PM", "04:59:59 PM", "11/25/2026"),
        (
            "下午 04時59分58秒 HKT",
            "下午 04時59分59秒 HKT",
            "2026年11月25日 星期三",
        ),
        ("04:59:58 μμ", "04:59:59 μμ", "25/11/2026"),
        ("16:59:58", "16:59:59", "25/11/2569"),
        ("오후 04시 59분 58초", "오후 04시 59분 59초", "2026-11-25"),
    ] {
        let text = format!(
            "Linux 5.4 (box) \t{date} \t_x86_64_\t(4 CPU)\n\n\
                 {from}     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
                 {to}     all      5.25      0.00      1.50      0.00      0.00     93.25\n\
                 平均时间:     all      5.25      0.00      1.50      0.00      0.00     93.25\n"
        );
        let log = parse(&text);
        let seconds: Vec<f64> = log.moments.iter().map(|own| own.unwrap().seconds).collect();
        assert_eq!(seconds, [1_795_625_999.0], "{from}");
        assert_eq!(values(&log, "host.cpu.system"), [1.5], "{from}");
    }
}

#[test]
fn figures_with_units_and_idle_devices() {
    let text = "16:59:58  CPU  %user  %nice  %system  %iowait  %steal  %idle\n\
            16:59:59  all  5.2%  0.0%  1.5%  0.0%  0.0%  93.3%\n\n\
            16:59:58  kbmemfree  kbavail  %memused\n16:59:59  1.5G  2.0G  9.5%\n\n\
            16:59:58  tps  rkB/s  wkB/s  %util DEV\n\
            16:59:59  9.00  0.0k  2.5M  1.5% dev8-0\n\
            16:59:59  9.00  0.0k  2.5M  1.5% dev253-2\n\
            16:59:59  9.00  0.0k  0.5M  1.5% dev8-16\n\
            17:00:00  9.00  0.0k  1.0M  1.5% dev8-0\n\n";
    let log = parse(text);
    assert_eq!(values(&log, "host.cpu.user"), [5.2]);
    assert_eq!(values(&log, "host.memory.free"), [1.5 * 1024.0_f64.powi(3)]);
    let mib = 1024.0_f64.powi(2);
    assert_eq!(
        values(&log, "host.disk[dev8-0].write_bytes"),
        [2.5 * mib, mib]
    );
    assert_eq!(
        values(&log, "host.disk[dev8-16].write_bytes"),
        [0.5 * mib, 0.0]
    );
    assert!(values(&log, "host.disk[dev253-2].write_bytes").is_empty());
    assert_eq!((log.gaps.len(), log.warnings.len()), (1, 0));
    let ends_in_figure = parse(text.trim_end().trim_end_matches("dev8-0"));
    assert_has(
        &ends_in_figure.warnings[0].text,
        "the log ends within a row",
    );
    let cut = parse(&format!("{}\n", text.trim_end()));
    assert_eq!(values(&cut, "host.disk[dev8-16].write_bytes"), [0.5 * mib]);
}

#[test]
fn json_of_mpstat_and_sadf() {
    let json = |rest: &str| {
        format!(
            "{{\"sysstat\": {{\"hosts\": [{{\"nodename\": \"box\", \"release\": \"6.6\", \
                 \"machine\": \"x86_64\", \"number-of-cpus\": 2, {rest}}}]}}}}"
        )
    };
    let mpstat = json(
        r#""date": "11/25/26", "statistics": [
            {"timestamp": "16:59:59", "cpu-load": [{"cpu": "all", "usr": 5.25, "nice": 0.0,
             "sys": 1.5, "idle": 93.25}]},
            {"timestamp": "17:00:00", "cpu-load": [{"cpu": "all", "usr": 6.25, "nice": 0.0,
             "sys": 1.5, "idle": 92.25}]}]"#,
    );
    let log = parse(&mpstat);
    assert_eq!(values(&log, "host.cpu.user"), [5.25, 6.25]);
    assert_eq!(
        log.moments[0].map(|own| (own.seconds, own.utc)),
        Some((1_795_625_999.0, false))
    );
    let sadf = json(
        r#""file-date": "2026-11-25", "statistics": [{"timestamp": {"date": "2026-11-25",
            "time": "16:59:59", "utc": 1, "interval": 1},
            "cpu-load": [{"cpu": "all", "user": 5.25, "system": 1.5, "idle": 93.25}],
            "process-and-context-switch": {"proc": 3.0, "cswch": 720.5},
            "io": {"tps": 7.0, "io-reads": {"rtps": 3.0, "bread": 16.0}},
            "memory": {"memfree": 1024, "buffers": 4},
            "disk": [{"disk-device": "vdq", "tps": 7.0, "rkB": 8.0, "wkB": 2.0, "aqu-sz": 0.25,
             "util-percent": 2.5}],
            "network": {"net-dev": [{"iface": "eth7", "rxkB": 4.0}]}}]"#,
    );
    let log = parse(&sadf);
    assert_eq!(
        log.moments[0].map(|own| (own.seconds, own.utc)),
        Some((1_795_625_999.0, true))
    );
    for (name, value) in [
        ("host.cpu.user", 5.25),
        ("host.context_switches", 720.5),
        ("host.disk[all].reads", 3.0),
        ("host.disk[all].read_bytes", 8192.0),
        ("host.memory.free", 1_048_576.0),
        ("host.disk[vdq].write_bytes", 2048.0),
        ("host.disk[vdq].queue", 0.25),
        ("host.disk[vdq].utilisation", 2.5),
        ("host.network[eth7].rx_bytes", 4096.0),
    ] {
        assert_eq!(values(&log, name), [value], "{name}");
    }
}

#[test]
fn device_names_may_come_last_and_guests_are_programs() {
    let text = "14:12:57          tps     rkB/s     wkB/s     %util DEV\n\
            14:12:58         1.00      4.00      8.00      2.00 vda\n\
            14:12:57     CPU    %usr   %nice    %sys  %guest  %gnice   %idle\n\
            14:12:58     all    1.00    0.00    2.00   50.00    0.00   47.00\n\
            14:12:57     atmptf/s  estres/s retrans/s isegerr/s   orsts/s\n\
            14:12:58         0.00      0.00      3.00      0.00      0.00\n\
            14:12:57       call/s retrans/s    read/s   write/s\n\
            14:12:58         9.00      9.00      9.00      9.00\n";
    let log = parse(text);
    assert_eq!(values(&log, "host.disk[vda].write_bytes"), [8192.0]);
    assert_eq!(values(&log, "host.cpu.user"), [51.0]);
    assert_eq!(values(&log, "host.tcp.retransmits"), [3.0]);
    assert_eq!(log.warnings, []);
}

#[test]
fn tables_without_a_series_are_passed_over() {
    let text = "14:12:57         INTR       all      CPU0\n\
            14:12:58          sum    194.06    117.82\n\
            14:12:57     CPU     %usr     %sys    %idle\n\
            14:12:58     all     1.00     2.00    97.00\n\
            14:12:57          TTY   rcvin/s   xmtin/s\n\
            14:12:58            0      0.00      0.00\n";
    let log = parse(text);
    assert_eq!(log.warnings, []);
    assert_eq!(values(&log, "host.cpu.idle"), [97.0]);
}

#[test]
fn rejects_text_without_a_known_table() {
    let error = |text| {
        let log = Log { name: "x", text };
        read("mpstat", Looks::Mpstat, &log).unwrap_err().to_string()
    };
    assert!(error("nothing").contains("no table of mpstat"));
    let heading = "14:12:57     CPU    %usr   %idle\n";
    assert!(error(heading).contains("no table in it has a known row"));
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "[0-9:. %/a-zCPUADEVM\n-]*", tail in "\\PC*") {
        let text = format!("{}{text}\n{tail}", include_str!("../../fixtures/sar.txt"));
        let _ = read("sar", Looks::Sar, &Log { name: "x", text: &text });
    }
}

#[test]
fn a_damaged_time_makes_no_long_interval() {
    assert_eq!(super::interval_s(&[9034.0], Some(1.0)), 1.0);
    assert_eq!(super::interval_s(&[60.0], Some(60.0)), 60.0);
    assert_eq!(super::interval_s(&[10.0, 10.0], Some(3.0)), 10.0);
    assert_eq!(super::interval_s(&[], None), 1.0);
    let log = |second: &str| {
        let text = format!(
            "Linux 6.1.0 (host) \t2026-11-27 \t_x86_64_\t(2 CPU)\n\n\
             16:30:32  CPU  %user  %nice  %system  %iowait  %steal  %idle\n\
             16:30:33  all  70.15  0.00  29.85  0.00  0.00  0.00\n\
             {second}  all  74.75  0.00  25.25  0.00  0.00  0.00\n"
        );
        let log = Log::new("log", &text);
        super::read("sar", Looks::Sar, &log).unwrap().interval_s
    };
    assert_eq!((log("16:30:34"), log("19:00:34")), (1.0, 1.0));
}

#[test]
fn figures_that_contradict_others_are_left_out() {
    let text = |row: &str| {
        let table = |second: u32| {
            format!(
                "16:59:5{second}  DEV  tps  rkB/s  wkB/s  dkB/s  areq-sz  aqu-sz  await  %util\n\
                 16:59:5{}  sda  {row}\n\n",
                second + 1
            )
        };
        format!("{}{}", table(6), table(7))
    };
    let usual = "300.00  1600.00  3200.00  0.00  16.00  0.60  2.00  40.00";
    assert_eq!(parse(&text(usual)).warnings, []);
    let log = parse(&text(
        "300.00  1600.00  3200.00  0.00  160.00  40.60  2.00  240.00",
    ));
    let names: Vec<&str> = log
        .collected
        .all
        .iter()
        .map(|own| own.name.as_str())
        .collect();
    assert_eq!(names, [""; 0]);
    assert_eq!(log.warnings.len(), 3, "{:?}", log.warnings);
    let odd = include_str!("../../fixtures/mpstat.txt").replace(" 30.48", " 80.48");
    assert_eq!(values(&parse(&odd), "host.cpu.user").len(), 1);
}

#[test]
fn a_device_whose_row_is_damaged_or_cut_off_is_unknown_not_idle() {
    let heading = |second: u32| format!("16:59:5{second}  DEV  tps  rkB/s  wkB/s\n");
    let row = |second: u32, name: &str| format!("16:59:5{second}  {name}  3.00  16.00  32.00\n");
    let first = format!("{}{}{}\n", heading(6), row(7, "sda"), row(7, "sdb"));
    let after = |tail: &str| {
        let text = format!("{first}{}{}{tail}", heading(7), row(8, "sda"));
        let log = parse(&text);
        assert_eq!(values(&log, "host.disk[sda].read_bytes").len(), 2, "{tail}");
        values(&log, "host.disk[sdb].read_bytes")
    };
    let cpus = "\n16:59:58  CPU  %user  %idle\n16:59:59  all  5.00  95.00\n";
    for tail in [
        "",
        "16:5",
        "16:59:58  sdb  3.00  16.0",
        "16:59:58  sdb  3.00  16.00  32.0",
    ] {
        assert_eq!(after(tail), [16_384.0], "{tail}");
    }
    for row in [
        "16:59:58  sdb  3.00",
        "16:59:58  sdb  3.00  x  32.00",
        "sdb  3.00",
    ] {
        assert_eq!(after(&format!("{row}\n{cpus}")), [16_384.0], "{row}");
    }
    for whole in [cpus, "\n"] {
        assert_eq!(after(whole), [16_384.0, 0.0], "{whole}");
    }
}

#[test]
fn the_date_of_a_report_counts_and_not_that_of_its_file() {
    // East of Greenwich, the local day begins on the day before.
    let text = r#"{"sysstat": {"hosts": [{"release": "6.6", "file-date": "2026-11-25",
        "statistics": [
        {"timestamp": {"date": "2026-11-24", "time": "23:59:59", "utc": 1},
         "memory": {"memfree": 1024}},
        {"timestamp": {"date": "2026-11-25", "time": "00:00:00", "utc": 1},
         "memory": {"memfree": 1020}}]}]}}"#;
    let log = parse(text);
    let seconds: Vec<f64> = log.moments.iter().flatten().map(|at| at.seconds).collect();
    assert_eq!(seconds, [1_795_564_799.0, 1_795_564_800.0]);
}

#[test]
fn a_list_of_devices_cut_off_in_json_is_partial() {
    let report = |second: u32| {
        format!(
            r#"{{"timestamp": {{"date": "2026-11-25", "time": "16:59:5{second}", "utc": 1}},
            "memory": {{"memfree": 1024, "buffers": 4}},
            "disk": [{{"disk-device": "sda", "tps": 7.0, "rkB": 8.0}},
                     {{"disk-device": "sdb", "tps": 7.0, "rkB": 8.0}}],
            "network": {{"net-dev": [{{"iface": "eth7", "rxkB": 4.0}},
                                     {{"iface": "eth8", "rxkB": 4.0}}]}}}}"#
        )
    };
    let text = format!(
        r#"{{"sysstat": {{"hosts": [{{"release": "6.6", "machine": "x", "file-date": "2026-11-25",
        "statistics": [{}, {}]}}]}}}}"#,
        report(7),
        report(8)
    );
    for (before, sdb, eth7) in [
        ("\"sdb\"", 1, 1),
        ("\"rkB\": 8.0}],", 1, 1),
        ("\"network\"", 2, 1),
        ("\"eth8\"", 2, 2),
    ] {
        let log = parse(&text[..text.rfind(before).unwrap()]);
        for (name, count) in [
            ("host.memory.free", 2),
            ("host.disk[sda].read_bytes", 2),
            ("host.disk[sdb].read_bytes", sdb),
            ("host.network[eth7].rx_bytes", eth7),
        ] {
            assert_eq!(values(&log, name).len(), count, "{before}: {name}");
        }
    }
    // A device that a whole list lacks was idle.
    let start = text.rfind("{\"disk-device\": \"sda\"").unwrap();
    let end = text.rfind("{\"disk-device\": \"sdb\"").unwrap();
    let idle = format!("{}{}", &text[..start], &text[end..]);
    for text in [&idle[..], &idle[..idle.rfind("\"eth8\"").unwrap()]] {
        let log = parse(text);
        assert_eq!(values(&log, "host.disk[sda].read_bytes"), [8192.0, 0.0]);
    }
    let stamped: String = text
        .lines()
        .map(|line| format!("2026-11-25 17:00:00 {line}\n"))
        .collect();
    let stamped = stamped.replacen("{\"sysstat\"", "{\n2026-11-25 17:00:00 \"sysstat\"", 1);
    assert_eq!(
        values(&parse(&stamped), "host.disk[sdb].read_bytes").len(),
        2
    );
}
