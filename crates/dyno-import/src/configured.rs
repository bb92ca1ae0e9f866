//! A server's configuration file that accompanies a log. The server may have run with other
//! settings.

use dyno_core::catalogue::names;
use dyno_core::record::Fact;
use dyno_core::redact;

use crate::{Log, Warning, text};

/// Groups of a `my.cnf` that a server reads.
const GROUPS: [&str; 6] = [
    "mysqld",
    "mariadb",
    "server",
    "mariadbd",
    "client-server",
    "galera",
];

/// The options in the server's groups as facts `server.configured.NAME`; of repeated names the last
/// one counts. An option without a value is `ON`. Secrets are hidden.
pub fn configured(log: &Log<'_>) -> (Vec<Fact>, Vec<Warning>) {
    let source = format!("as configured, from {}", log.name);
    let mut of_server = false;
    let mut facts: Vec<Fact> = Vec::new();
    let mut warnings = Vec::new();
    for line in text::lines(log.text) {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with(['#', ';']) {
            continue;
        }
        let group = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((group, _)) = group {
            of_server = GROUPS.contains(&without_version(group));
            continue;
        }
        if text.starts_with('!') {
            let what = text::excerpt(text);
            let included = format!("'{what}' includes another file, which is not read");
            warnings.push(Warning::new(log.name, Some(line.number), included));
            continue;
        }
        if !of_server {
            continue;
        }
        let (name, value) = option(text);
        let fact = Fact::new(
            names::SERVER_CONFIGURED_EACH.of(&name),
            redact::setting(&name, &value),
            source.clone(),
        );
        facts.retain(|other| other.name != fact.name);
        facts.push(fact);
    }
    if facts.is_empty() {
        let text = "it has no option in a server's group, such as [mysqld]".to_owned();
        warnings.push(Warning::new(log.name, None, text));
    }
    (facts, warnings)
}

/// Removes the version from a group such as `mysqld-8.0`, but keeps `mariadb-client`.
fn without_version(group: &str) -> &str {
    let version = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    match group.rsplit_once('-') {
        Some((name, after)) if version(after) => name,
        _ => group,
    }
}

/// Parses `name = value # why` as a server does.
fn option(text: &str) -> (String, String) {
    // An equals sign in a comment does not start a value.
    let sign = text
        .find('=')
        .filter(|at| *at < without_comment(text).len());
    let (name, value) = sign.map_or((text, "ON"), |at| (&text[..at], &text[at + 1..]));
    let (name, value) = (without_comment(name), value.trim());
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inside = &value[1..];
            inside.split_once(quote).map_or(inside, |(text, _)| text)
        }
        _ => without_comment(value),
    };
    let name = name
        .trim_start_matches("loose-")
        .trim_start_matches("loose_");
    (
        name.to_ascii_lowercase().replace('-', "_"),
        value.to_owned(),
    )
}

fn without_comment(text: &str) -> &str {
    let at = text.find(" #").or_else(|| text.find("\t#"));
    text[..at.unwrap_or(text.len())].trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::assert_begins;

    #[test]
    fn groups_of_other_programs_and_comments_give_nothing() {
        let text = "[mariadb-client]\na=1\n[mariadbd-safe]\nb=2\n[mysqld-8.0]\nc=3\n\
                    skip-name-resolve # d=4\n[client-server]\ne=5\n[galera]\n\
                    wsrep_sst_auth=user:canary\n";
        let log = Log::new("my.cnf", text);
        let (facts, _) = configured(&log);
        let found: Vec<(&str, &str)> = (facts.iter())
            .map(|fact| {
                let name = fact.name.strip_prefix("server.configured.").unwrap();
                (name, fact.value.as_str())
            })
            .collect();
        let expected = [
            ("c", "3"),
            ("skip_name_resolve", "ON"),
            ("e", "5"),
            ("wsrep_sst_auth", redact::HIDDEN),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn options_of_the_server_are_facts() {
        let text = "\
# of the benchmark
[client]
password = hidden1
[mysqld]
innodb-buffer-pool-size = 5G   # of 128
skip-log-bin
sync_binlog=0
sync_binlog = 1
sql_mode = \"A,B # no comment\"
master_password = hidden2
ssl_passphrase = hidden3
wsrep_provider_options = \"gcache.size=1G; socket.ssl_key_password=hidden4;x.y=2\"
wsrep_cluster_address = gcomm://192.0.2.1?socket.ssl_key_pwd=hidden5&a.b=c
wsrep_sst_auth = sst:hidden6
file_key_management_filekey = hidden7
init_connect = \"SET PASSWORD = 'hidden 8'\"
ssl_key = /etc/mysql/server-key.pem
loose-rocksdb_cache=1
!includedir /etc/my.cnf.d
[mysqld-8.0]
port = 3307
[mysqldump]
quick
";
        let log = Log::new("x/my.cnf", text);
        let (facts, warnings) = configured(&log);
        let found: Vec<String> = facts
            .iter()
            .map(|fact| {
                let name = fact.name.strip_prefix("server.configured.").unwrap();
                format!("{name}={}", fact.value)
            })
            .collect();
        assert_eq!(
            found,
            [
                "innodb_buffer_pool_size=5G",
                "skip_log_bin=ON",
                "sync_binlog=1",
                "sql_mode=A,B # no comment",
                "master_password=***",
                "ssl_passphrase=***",
                "wsrep_provider_options=gcache.size=1G; socket.ssl_key_password=***;x.y=2",
                "wsrep_cluster_address=gcomm://192.0.2.1?socket.ssl_key_pwd=***&a.b=c",
                "wsrep_sst_auth=***",
                "file_key_management_filekey=***",
                "init_connect=SET PASSWORD = '***'",
                "ssl_key=/etc/mysql/server-key.pem",
                "rocksdb_cache=1",
                "port=3307",
            ]
        );
        assert_eq!(facts[0].source, "as configured, from x/my.cnf");
        assert_eq!(warnings.len(), 1);
        assert_begins(&warnings[0].to_string(), "x/my.cnf:19: '!includedir");
        let (facts, warnings) = configured(&Log::new("y", "[client]\nuser=x\n"));
        assert!(facts.is_empty() && warnings[0].text.contains("no option"));
    }
}
