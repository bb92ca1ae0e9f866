//! No part of a secret is shown, for any content and any quoting.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::super::names::SECRET;
use super::*;

/// Both ends of a value; no other text of these tests contains them.
const ENDS: [&str; 2] = ["Zq7Xk", "Wv9Yj"];

/// Values of printable characters.
fn any_value() -> impl Strategy<Value = String> {
    ("[ -~]{0,6}", "[ -~]{0,6}", "[ -~]{0,3}")
        .prop_map(|(before, between, after)| {
            format!("{before}{}{between}{}{after}", ENDS[0], ENDS[1])
        })
        .prop_filter("a mark or a file", |value| {
            !value.starts_with("***") && !value.ends_with(".nk")
        })
}

/// A value as a shell's word, quoted in each way.
fn quoted(value: &str) -> Vec<String> {
    let escaped = |of: &str, chars: &str| -> String {
        let parts = of.chars().map(|c| match chars.contains(c) {
            true => format!("\\{c}"),
            false => c.to_string(),
        });
        parts.collect()
    };
    let single = |of: &str| format!("'{}'", of.replace('\'', "'\\''"));
    let bare = |of: &str| -> String {
        let parts = of.chars().map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_string(),
            false => format!("\\{c}"),
        });
        parts.collect()
    };
    let (begin, end) = value.split_at(value.len() / 2);
    vec![
        single(value),
        format!("\"{}\"", escaped(value, "\"\\$`")),
        bare(value),
        format!("$'{}'", escaped(value, "'\\")),
        format!("{}{}", single(begin), bare(end)),
        format!("{}\"{}\"", bare(begin), escaped(end, "\"\\$`")),
    ]
}

/// Where a line shows a part of a value.
fn leaks(line: &str) -> Option<String> {
    let words = words(line);
    let shown = [text(line), argv(&words).join("\n")];
    let leaks = |shown: &String| ENDS.iter().any(|end| shown.contains(end));
    shown.into_iter().find(leaks)
}

proptest! {
    #[test]
    fn no_assignment_shows_its_value(value in any_value(), at in 0..SECRET.len()) {
        let name = SECRET[at];
        prop_assume!(!(name.contains('.') && value.contains(';')));
        for word in quoted(&value) {
            for line in [
                format!("$ {name}={word} sysbench --threads=4 run"),
                format!("export {name}={word}; sysbench run"),
                format!("$ sysbench --{name}={word} --threads=4 run"),
                format!("docker run -e {name}={word} img"),
            ] {
                prop_assert_eq!(leaks(&line), None, "{}", line);
            }
            if !value.starts_with('-') {
                let line = format!("$ sysbench --{name} {word} --threads=4 run");
                prop_assert_eq!(leaks(&line), None, "{}", line);
            }
        }
        for word in &quoted(&format!("--{name}={value}"))[..2] {
            let line = format!("$ sysbench {word} --threads=4 run");
            prop_assert_eq!(leaks(&line), None, "{}", line);
        }
        let json = format!("{{{:?}: {:?}}}", name, value);
        let shown = text(&json);
        prop_assert!(ENDS.iter().all(|end| !shown.contains(end)), "{}", shown);
    }

    #[test]
    fn no_form_shows_its_value(value in any_value()) {
        let escaped = value.replace('\\', "\\\\").replace('\'', "\\'");
        let encoded = utf8_percent_encode(&value, NON_ALPHANUMERIC);
        let string = format!("host=db password = '{escaped}' dbname=b");
        for line in [
            format!("pgbench postgresql://u:{encoded}@h/db -c 1"),
            format!("pgbench 'postgresql://h/db?sslpassword={encoded}&port=1' -c 1"),
        ] {
            prop_assert_eq!(leaks(&line), None, "{}", line);
        }
        let shown = argv(&[string]).remove(0);
        prop_assert!(ENDS.iter().all(|end| !shown.contains(end)), "{}", shown);
        prop_assume!(!value.starts_with('-'));
        for word in quoted(&value) {
            for line in [
                format!("mysql -uroot -p{word} db"),
                format!("sshpass -p {word} ssh host"),
                format!("curl -u user:{word} http://x"),
            ] {
                prop_assert_eq!(leaks(&line), None, "{}", line);
            }
        }
    }

    #[test]
    fn hiding_twice_changes_nothing(
        words in proptest::collection::vec("[-a-z=:;'\" /?&@]{0,12}", 0..4),
        secret in "(--password=|PGPASSWORD=|-p|p=|host=a password=)?[a-z ';]{0,8}",
    ) {
        let args: Vec<String> = words.into_iter().chain([secret]).collect();
        let once = argv(&args);
        prop_assert_eq!(argv(&once), once);
        for arg in &args {
            let once = setting("note", arg);
            prop_assert_eq!(setting("note", &once), once);
        }
    }

    #[test]
    fn any_words_are_taken(words in proptest::collection::vec("\\PC{0,20}", 0..6)) {
        let line = words.join(" ");
        let _ = (argv(&words), setting("password_x", &line), text(&line));
        let _ = argv(&super::words(&line));
    }
}

#[test]
fn a_value_may_look_like_a_list() {
    for value in [";Zq7XkWv9Yj=", ";Zq7Xk=1;Wv9Yj=2"] {
        let line = format!("$ PASSWORD='{value}' sysbench run");
        assert_eq!(leaks(&line), None, "{line}");
    }
}
