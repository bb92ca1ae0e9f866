use proptest::prelude::*;

use super::*;

mod forms;
mod quoting;

#[test]
fn secrets_disappear_and_nothing_else_does() {
    for (typed, shown) in [
        (
            "mysql://u:pw@h:1/db?sslmode=require",
            "mysql://u:***@h:1/db?sslmode=require",
        ),
        ("mysql://u:p@w/x@h", "mysql://u:***@h"),
        ("mysql://u@h:3306/db", "mysql://u@h:3306/db"),
        ("mysql://h:3306/db is down", "mysql://h:3306/db is down"),
        ("mysql://u:two words@h/db", "mysql://u:***@h/db"),
        ("mysql://u:it's@h/db", "mysql://u:***@h/db"),
        ("'mysql://u:a \"b@h' fails", "'mysql://u:***@h' fails"),
        ("mysql://root:hunter2", "mysql://root:***"),
        (
            "postgres://h/?user=a&password=b&port=1",
            "postgres://h/?user=a&password=***&port=1",
        ),
        (
            "'mysql://u:pw@h' is one word",
            "'mysql://u:***@h' is one word",
        ),
        ("--mysql-password=x y", "--mysql-password=*** y"),
        (
            "mysql://h/d?socket=t%3D/db-password%3Dx,3 is down",
            "mysql://h/d?socket=t%3D/db-password%3D*** is down",
        ),
        ("--mysql-password x y", "--mysql-password *** y"),
        ("--mysql-password='a b' y", "--mysql-password='***' y"),
        ("--mysql-password \\\n  x y", "--mysql-password \\\n  *** y"),
        ("--mysql-pasword=x", "--mysql-pasword=***"),
        ("'--mysql-password=x' y", "'--mysql-password=***' y"),
        ("--passwrod=x", "--passwrod=***"),
        ("password='x y' z", "password='***' z"),
        ("password = x y", "password = *** y"),
        ("{\"password\": \"x y\"}", "{\"password\": \"***\"}"),
        ("length=password=x", "length=password=***"),
        ("--api_key=a --key=b", "--api_key=*** --key=***"),
        ("--auth-token=a", "--auth-token=***"),
        (
            "CREATE USER u IDENTIFIED BY 'a b'",
            "CREATE USER u IDENTIFIED BY '***'",
        ),
        ("ALTER ROLE u PASSWORD 'a'", "ALTER ROLE u PASSWORD '***'"),
        ("(using password: YES)", "(using password: YES)"),
        ("the password is wrong", "the password is wrong"),
        ("--password_env=NAME", "--password_env=NAME"),
        (
            "sslkey=/k.pem&server_public_key=/p",
            "sslkey=/k.pem&server_public_key=/p",
        ),
        ("allow_cleartext_password=1", "allow_cleartext_password=1"),
        ("--ask-password run", "--ask-password run"),
        ("--key=on --sort-key=1", "--key=on --sort-key=1"),
        ("a=1&b=2", "a=1&b=2"),
        ("naïve — text", "naïve — text"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
    ] {
        assert_eq!(text(typed), shown);
    }
}

#[test]
fn paths_of_key_files_are_not_redacted() {
    for (typed, shown) in [
        ("--bus-key FILE names", "--bus-key FILE names"),
        ("--key FILE names", "--key FILE names"),
        ("--key gen1.nk, or not", "--key gen1.nk, or not"),
        (
            "--bus-key bus/gen1 --key gen1.nk",
            "--bus-key bus/gen1 --key gen1.nk",
        ),
        (
            "--bus-key SUAMK2FG4MI6UE3ACF3FK3OIQBCEIEZV7NSWFFEW63UXMRLFM2XLAXK4GY",
            "--bus-key ***",
        ),
    ] {
        assert_eq!(text(typed), shown);
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        assert_eq!(argv(&words).join(" "), shown);
    }
}

#[test]
fn command_lines_lose_their_secrets() {
    for (typed, shown) in [
        ("--mysql-password=two words", "--mysql-password=***"),
        ("--pgsql_password=", "--pgsql_password="),
        ("--time=3", "--time=3"),
        ("mysql://u:a b 'c' @d@h/db", "mysql://u:***@h/db"),
        (
            "--target=mysql://u:a b@h/db?x=1",
            "--target=mysql://u:***@h/db?x=1",
        ),
        ("--waive=length=password=x y", "--waive=length=password=***"),
        ("--note=token='a b'", "--note=token='***'"),
    ] {
        assert_eq!(argv(&[typed.to_owned()]), [shown]);
    }
    let words = [
        "--db-password",
        "a b",
        "--ask-password",
        "run",
        "--api-key",
        "on",
    ];
    let words: Vec<String> = words.map(str::to_owned).into();
    let shown = [
        "--db-password",
        "***",
        "--ask-password",
        "run",
        "--api-key",
        "on",
    ];
    assert_eq!(argv(&words), shown);
}

#[test]
fn options_lose_their_secrets() {
    let option = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
    let typed = [
        option("my_password", "x"),
        option("api_key", "x"),
        option("empty_password", ""),
        ("tables".to_owned(), OptionValue::Number(3.0)),
        ("sort_key".to_owned(), OptionValue::Number(3.0)),
    ];
    let shown = options(&typed);
    let hidden = OptionValue::Text("***".to_owned());
    assert_eq!((&shown[0].1, &shown[1].1), (&hidden, &hidden));
    assert_eq!(shown[2..], typed[2..]);
}

/// Passwords with any characters of a keyboard, and letters that are in none of the names. Not with
/// digits first: `host:3306 and more` has a port.
fn any_secret() -> impl Strategy<Value = String> {
    "([#-%+,.:;J-Z^_|~ ][#-%+,.:;0-9J-Z^_|~ ]{0,5})?[QXZ]{5}[!-%(-~]{0,6}"
        .prop_filter("a separator", |text| {
            !text.contains(['&', '@', '?', '#', '/', '\\', '`', '"']) && !text.starts_with(' ')
        })
}

proptest! {
    #[test]
    fn no_part_of_a_secret_is_left(secret in any_secret(), quote in "['\"]") {
        let core = secret.find(['Q', 'X', 'Z']).map(|at| &secret[at..at + 5]).unwrap();
        for typed in [
            format!("mysql://user:{secret}@host/db"),
            format!("cannot use 'mysql://user:{secret}@host/db': no"),
            format!("--mysql-password={quote}{secret}{quote} run"),
            format!("--mysql-password {quote}{secret}{quote} run"),
            format!("password = {quote}{secret}{quote}"),
            format!("{{\"password\": \"{secret}\"}}"),
        ] {
            let shown = text(&typed);
            prop_assert!(!shown.contains(core), "{} of {}", shown, typed);
        }
        for typed in [
            format!("--db_password={secret}"),
            format!("--target=mysql://user:{secret}@host/db"),
            format!("mysql://user:{secret}@host/db"),
        ] {
            let shown = argv(&[typed]).remove(0);
            prop_assert!(!shown.contains(core), "{}", shown);
        }
    }

    #[test]
    fn any_text_is_taken(words in "\\PC{0,60}", marks in "[-a-z='\"&:@/? \\n\\\\]{0,60}") {
        let named = format!("password={marks}");
        for text in [words.clone(), marks, named, format!("--key {words}")] {
            let once = super::text(&text);
            prop_assert_eq!(super::text(&once), once);
            let _ = argv(&[text]);
        }
    }

    #[test]
    fn redacting_twice_changes_nothing(marks in "[:/ @=']{0,12}") {
        let once = text(&format!("password={marks}"));
        prop_assert_eq!(text(&once), once);
    }

    #[test]
    fn plain_words_stay(words in "[a-z]{1,9}( [a-z]{1,9}){0,9}") {
        prop_assume!(!words.contains(" by"));
        prop_assert_eq!(text(&words), words);
    }
}
