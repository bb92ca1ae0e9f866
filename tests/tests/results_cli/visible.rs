//! Text from a server is escaped. It must not control a terminal or reverse text, and must never
//! contain the password.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use dyno_tests::command::run;

use crate::common::{LIMIT, Lab, sound};

/// A terminal title, a screen cleared by C1 bytes, reversed text, and colour.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}tfel\u{2066}\u{1b}[31m\r\u{feff}";
/// The user's password, which the server repeats in its messages.
const SECRET: &str = "c4naryWord";

fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[sequence], body].concat()
}

/// A MySQL server that puts hostile text everywhere: in its version, its settings and its errors.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    port
}

fn serve(mut stream: TcpStream) -> Option<()> {
    let mut greeting = format!("\x0a8.0.0{HOSTILE}\0\x01\0\0\012345678\0").into_bytes();
    greeting.extend([0xff, 0xf7, 45, 2, 0, 0x08, 0, 21]);
    greeting.extend([0; 10]);
    greeting.extend(b"123456789012\0mysql_native_password\0");
    stream.write_all(&packet(0, &greeting)).ok()?;
    read(&mut stream)?;
    stream.write_all(&packet(2, b"\0\0\0\x02\0\0\0")).ok()?;
    let mut failed = false;
    loop {
        let request = read(&mut stream)?;
        let text = String::from_utf8_lossy(&request).to_uppercase();
        let answer = if text.contains("VARIABLES") {
            settings()
        } else if text.contains("SELECT 1") && !failed {
            failed = true;
            let mut error = b"\xff\x51\x04#HY000".to_vec();
            error.extend(format!("denied {HOSTILE} to {SECRET}").bytes());
            packet(1, &error)
        } else {
            packet(1, b"\0\0\0\x02\0\0\0")
        };
        stream.write_all(&answer).ok()?;
    }
}

/// Reads one packet and returns its body.
fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Two columns, name and value, in the format of an older server.
fn settings() -> Vec<u8> {
    let column = [
        b"\x03def\0\0\0\x01c\0\x0c".to_vec(),
        vec![45, 0, 0, 1, 0, 0, 253, 0, 0, 0, 0, 0],
    ]
    .concat();
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let eof = b"\xfe\0\0\x02\0";
    let row = |name: &str, value: &str| [text(name), text(value)].concat();
    let rows = [
        row("version_comment", HOSTILE),
        row("init_connect", &format!("user me, {SECRET}")),
        row(&format!("name_{HOSTILE}"), "1"),
    ];
    let mut packets = [
        packet(1, &[2]),
        packet(2, &column),
        packet(3, &column),
        packet(4, eof),
    ]
    .concat();
    for (index, row) in rows.iter().enumerate() {
        packets.extend(packet(5 + index as u8, row));
    }
    packets.extend(packet(8, eof));
    packets
}

/// Fails if the text controls, hides or leaks anything.
fn harmless(text: &str, what: &str) {
    let steers = |c: char| match c {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => true,
        c => c.is_control(),
    };
    if let Some(at) = text.find(steers) {
        let from = text[..at]
            .char_indices()
            .rev()
            .nth(40)
            .map_or(0, |(at, _)| at);
        panic!(
            "{what}: {:?}",
            text[from..].chars().take(80).collect::<String>()
        );
    }
    assert!(!text.contains(SECRET), "{what}");
}

#[test]
fn server_text_can_neither_steer_the_terminal_nor_reveal_secrets() {
    let lab = Lab::new();
    let port = server();
    let script = lab.file(
        "ask.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\n\
         function event() con:query('SELECT 1') end\n",
    );
    let target = format!("mysql://me:{SECRET}@127.0.0.1:{port}/d?connect_timeout=2s");
    let run_it = format!(
        "run {script} --target {target} -t 1s --warmup 0 -c 2 --calibrate never --ignore-errors all"
    );
    let failing = format!("run {script} --target {target} -t 1s --warmup 0 --calibrate never");
    let sysbench = format!(
        "sysbench {script} --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=me \
         --mysql-password={SECRET} --time=1 run"
    );
    let mut shown = Vec::new();
    for line in [
        run_it.clone(),
        format!("{run_it} --json"),
        format!("{run_it} --json=result.json"),
        failing,
        sysbench,
        "show 1".to_owned(),
        "show 1 --findings".to_owned(),
        "show 1 --json".to_owned(),
        "list runs".to_owned(),
        "list runs --json".to_owned(),
        "compare 1 2 --force".to_owned(),
        "compare 1 2 --force --json".to_owned(),
        "compare 1 2 --force --format markdown".to_owned(),
        "report 1 2 -o report.html".to_owned(),
        "report 1 --format markdown".to_owned(),
        "report 1 2 --format markdown".to_owned(),
        "report 1 --format junit".to_owned(),
        "export 1 -o export.json".to_owned(),
        format!("doctor --target {target} --time 1s"),
        format!("doctor --target {target} --time 1s --json"),
    ] {
        let output = sound(run(&mut lab.command(&line), LIMIT));
        harmless(&output.stdout, &line);
        harmless(&output.stderr, &line);
        let both = format!("{}{}", output.stdout, output.stderr);
        // In text or in JSON, no matter where lines are folded.
        let all: String = both.split_whitespace().collect();
        let written = ["\\x1b]0;owned", "\\u001b]0;owned"];
        shown.extend(
            written
                .iter()
                .any(|text| all.contains(text))
                .then_some(line),
        );
    }
    // The text is shown and not dropped: in the error, the version and the settings.
    assert!(shown.len() >= 3, "{shown:?}");
    check_record(&lab);
}

/// Fails if the record controls or leaks anything, or if Dyno does not report that it hid the
/// password.
fn check_record(lab: &Lab) {
    let page = std::fs::read_to_string(lab.path("report.html")).unwrap();
    assert!(!page.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{2066}']));
    assert!(!page.contains(SECRET));
    harmless(
        &std::fs::read_to_string(lab.path("result.json")).unwrap(),
        "result.json",
    );
    for name in ["export.json", "dyno.db"] {
        let bytes = std::fs::read(lab.path(name)).unwrap();
        let holds = bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes());
        assert!(!holds, "{name}");
    }
    // The check says where it was found.
    let result = lab.json("show 1 --json");
    let finding = crate::common::finding(&result, "secrets");
    assert!(finding.to_string().contains("was hidden"), "{finding}");
}

/// Part of a script's output may come from a server.
#[test]
fn warnings_are_escaped_and_script_output_stays_out_of_the_result() {
    let lab = Lab::new();
    let text = "function init() dyno.warning('say \\27[31m\\27]0;owned\\7\\226\\128\\174') end\n\
        function event() io.write('one ') io.stdout:write('two ') print('three') end\n";
    let script = lab.file("says.lua", text);
    let line = format!("run {script} --events 5 -c 1 --warmup 0 --calibrate never --json");
    let output = lab.dyno(&line).success();
    harmless(&output.stderr, "standard error");
    assert!(
        output.stderr.contains("warning: say \\x1b[31m"),
        "{output:?}"
    );
    assert!(output.stderr.contains("one two three"), "{output:?}");
    serde_json::from_str::<serde_json::Value>(&output.stdout).unwrap();
}

#[test]
fn files_without_an_end_are_refused() {
    let lab = Lab::new();
    for (line, status) in [
        ("import sysbench /dev/zero", 1),
        ("run --plan=/dev/zero", 2),
    ] {
        let output = lab.dyno(line).failure(status);
        assert!(output.stderr.contains("it has more than"), "{output:?}");
    }
}
