//! The forms in which logs and configuration files show secrets.

use super::*;

const SECRET: &str = "S3cr3tX";

/// A line's words without secrets, as an import keeps them.
fn kept(line: &str) -> String {
    argv(&words(line)).join(" | ")
}

#[test]
fn command_lines_hide_whole_values() {
    for line in [
        "sysbench --mysql-password=a\\ S3cr3tX run",
        "sysbench --mysql-password=$(echo S3cr3tX) run",
        "sysbench --mysql-password=$(cat $(find x S3cr3tX) S3cr3tX) run",
        "sysbench --mysql-password=`cat S3cr3tX` run",
        "sysbench --mysql-password=${PW:-a S3cr3tX} run",
        "sysbench --mysql-password='a\"S3cr3tX' run",
        "sysbench '--mysql-password=a S3cr3tX' run",
        "sysbench $'--mysql-password=a\\' S3cr3tX' run",
        "sysbench --mysql-password=a'b 'S3cr3tX run",
        "sysbench --mysql-password 'a b S3cr3tX' run",
        "sysbench --mysql-password=a&S3cr3tX run",
        "sysbench --mysql-password=a;S3cr3tX run",
        "sysbench --mysql-password='a S3cr3tX run",
        "sysbench --mysql-password=\"$(echo S3cr3tX run",
        "sysbench -password S3cr3tX run",
        "sysbench run --api_token=S3cr3tX",
        "pgbench \"host=db user=x password='a S3cr3tX' dbname=b\"",
        "pgbench 'host=db password = S3cr3tX'",
        "pgbench 'host=db password='\\''a S3cr3tX'\\'' dbname=b'",
        "pgbench 'host=db password=a\\ S3cr3tX dbname=b'",
        "pgbench \"password='a\\\\'S3cr3tX' host=db\"",
        "pgbench --dbname=\"host=db password='a S3cr3tX'\"",
        "pgbench 'postgresql://h/db?sslpassword=S3cr3tX'",
        "pgbench 'postgresql://h/db?user=u&password=a S3cr3tX&port=1'",
        "pgbench 'postgresql://u:a@S3cr3tX@h/db'",
        "pgbench 'postgresql://u:a S3cr3tX@h/db'",
        "java -Durl=jdbc:mysql://h/db?user=u&password=S3cr3tX",
        "PGPASSWORD='a S3cr3tX' pgbench -c 1",
        "env PGPASSWORD=a\\ S3cr3tX pgbench -c 1",
        "export MYSQL_PWD=S3cr3tX; sysbench run",
        "export MYSQL_PWD='a S3cr3tX'; sysbench run",
        "setenv MYSQL_PWD=S3cr3tX",
        "docker run -e MYSQL_ROOT_PASSWORD=S3cr3tX img",
        "docker run -e 'MYSQL_ROOT_PASSWORD=a S3cr3tX' img",
        "docker login -u x -p S3cr3tX host",
        "bash -c \"PGPASSWORD=S3cr3tX pgbench -c 1\"",
        "bash -c \"sysbench --mysql-password='a S3cr3tX' run\"",
        "ssh h \"bash -c \\\"mysql -u root -pS3cr3tX\\\"\"",
        "mysql -uroot -pS3cr3tX -e x",
        "mysql -uroot '-pa S3cr3tX' -e x",
        "mysqladmin -p\"a S3cr3tX\" status",
        "sshpass -p S3cr3tX ssh host",
        "sshpass -pS3cr3tX ssh host",
        "sshpass -p 'a S3cr3tX' ssh host",
        "curl -u user:S3cr3tX http://x",
        "curl -su user:S3cr3tX http://x",
        "curl --user=user:S3cr3tX http://x",
        "curl -u 'user:a S3cr3tX' http://x",
        "curl -H 'Authorization: Bearer S3cr3tX' http://x",
        "curl -H 'X-Api-Key: S3cr3tX' http://x",
        "curl -d '{\"user\": \"u\", \"password\": \"a S3cr3tX\"}' http://x",
        "redis-cli -a S3cr3tX ping",
        "openssl rsa -passin pass:S3cr3tX",
        "pt-query-digest h=db,u=root,p=S3cr3tX",
        "mysql -e \"SET PASSWORD FOR 'u'@'h' = 'a S3cr3tX'\"",
        "mysql -e \"ALTER USER u IDENTIFIED WITH x AS 'S3cr3tX'\"",
        "mysql -e \"SET PASSWORD = PASSWORD('a S3cr3tX')\"",
        "ycsb run -p db.passwd=S3cr3tX",
    ] {
        for shown in [kept(line), text(line)] {
            assert!(!shown.contains(SECRET), "{line}: {shown}");
            assert!(shown.contains(HIDDEN), "{line}: {shown}");
        }
    }
}

#[test]
fn text_around_a_secret_is_kept() {
    for (line, shown) in [
        (
            "sysbench --mysql-password=a\\ b --threads=4 run",
            "sysbench | --mysql-password=*** | --threads=4 | run",
        ),
        (
            "pgbench 'host=db password='\\''a b'\\'' dbname=b' -c 1",
            "pgbench | host=db password='***' dbname=b | -c | 1",
        ),
        (
            "pgbench 'password = a host=db' -c 1",
            "pgbench | password = *** host=db | -c | 1",
        ),
        (
            "pgbench 'postgresql://h/db?sslpassword=a&sslmode=require'",
            "pgbench | postgresql://h/db?sslpassword=***&sslmode=require",
        ),
        ("curl -u user:a http://x", "curl | -u | user:*** | http://x"),
        (
            "docker run -p 80:80 -e PASSWORD=a img",
            "docker | run | -p | 80:80 | -e | PASSWORD=*** | img",
        ),
        (
            "mysql -uroot -pa -P3306 db",
            "mysql | -uroot | -p*** | -P3306 | db",
        ),
    ] {
        assert_eq!(kept(line), shown, "{line}");
    }
}

#[test]
fn secrets_in_free_text_are_hidden() {
    for (typed, shown) in [
        (
            "export MYSQL_PWD='a b'; sysbench run",
            "export MYSQL_PWD='***'; sysbench run",
        ),
        (
            "mysql -uroot -pa -e 'x'; sysbench --threads=4 run",
            "mysql -uroot -p*** -e 'x'; sysbench --threads=4 run",
        ),
        (
            "cannot use 'host=db password=a dbname=b': no",
            "cannot use 'host=db password=*** dbname=b': no",
        ),
        (
            "{\"cmd\": \"x --password=\\\"a b\\\" y\", \"n\": 1}",
            "{\"cmd\": \"x --password=*** y\", \"n\": 1}",
        ),
        (
            "{\"password\": \"a, b\", \"n\": 1}",
            "{\"password\": \"***\", \"n\": 1}",
        ),
        ("  db_password: a b", "  db_password: *** b"),
        ("- password: 'a b'", "- password: '***'"),
        (
            "Authorization: Basic dTpwdw==\nHost: x",
            "Authorization: ***\nHost: x",
        ),
        (
            "Changed tpcc:maria_pass from a b to c for MariaDB",
            "Changed tpcc:maria_pass from *** for MariaDB",
        ),
        (
            "hammerdb>diset tpcc maria_pass a",
            "hammerdb>diset tpcc maria_pass ***",
        ),
        ("SET password FOR u = 'a b'", "SET password FOR u =***"),
        ("IDENTIFIED BY 'a''b c', x", "IDENTIFIED BY ***, x"),
        ("API_KEY=a b", "API_KEY=*** b"),
    ] {
        assert_eq!(text(typed), shown);
    }
}

#[test]
fn secrets_in_settings_and_options_are_hidden() {
    for (name, value, shown) in [
        ("http_pass", "a b", HIDDEN),
        ("http_s3_key", "a", HIDDEN),
        ("http_swift_auth_token", "a", HIDDEN),
        ("ssl_passphrase", "a", HIDDEN),
        ("wsrep_sst_auth", "sst:a", HIDDEN),
        (
            "exec_prerun",
            "curl -u user:a http://x",
            "curl -u user:*** http://x",
        ),
        (
            "wsrep_provider_options",
            "socket.ssl_key_password=a;gcache.size=1G; socket.ssl_key=/k",
            "socket.ssl_key_password=***;gcache.size=1G; socket.ssl_key=/k",
        ),
        (
            "wsrep_provider_options",
            "gcache.size=1G;socket.ssl_key_password=a\\;b;x.y=1",
            "gcache.size=1G;socket.ssl_key_password=***;x.y=1",
        ),
        (
            "wsrep_cluster_address",
            "gcomm://192.0.2.1,192.0.2.2?socket.ssl_key_pwd=a&x=y",
            "gcomm://192.0.2.1,192.0.2.2?socket.ssl_key_pwd=***&x=y",
        ),
        (
            "primary_conninfo",
            "host=a password='b c' user=d",
            "host=a password='***' user=d",
        ),
        ("init_connect", "SET PASSWORD='a b'", "SET PASSWORD='***'"),
        ("dsn", "Driver=x;PWD=a;Port=1", "Driver=x;PWD=***;Port=1"),
        ("note", "password=a;b=c", "password=***"),
    ] {
        assert_eq!(setting(name, value), shown, "{name}={value}");
        assert_eq!(setting(name, shown), shown, "{name}={shown}");
        let option = [(name.to_owned(), OptionValue::Text(value.to_owned()))];
        let text = OptionValue::Text(shown.to_owned());
        assert_eq!(options(&option)[0].1, text, "{name}={value}");
    }
    let number = [("http_pass".to_owned(), OptionValue::Number(4711.0))];
    assert_eq!(options(&number)[0].1, OptionValue::Text(HIDDEN.to_owned()));
}

#[test]
fn ordinary_settings_and_words_are_shown() {
    for (name, value) in [
        ("key_buffer_size", "128M"),
        ("ssl_key", "/etc/mysql/server-key.pem"),
        ("primary_key", "id"),
        ("old_passwords", "OFF"),
        ("password_encryption", "scram-sha-256"),
        ("report_password", ""),
        ("report_password", "(hidden)"),
        ("wsrep_provider_options", "socket.ssl_password = ; b = 2"),
        ("wsrep_sst_auth", ""),
        ("optimizer_switch", "mrr=on,use_index_extensions=on"),
        ("sql_mode", "A,B # no comment"),
        ("log_line_prefix", "%m [%p] %q%u@%d "),
        ("archive_command", "cp %p /archive/%f"),
        ("filename", "/dev/nvme0n1:/dev/nvme1n1"),
        ("ioengine", "http"),
        ("http_user", "u"),
        ("verify_pattern", "0xff"),
        ("password_env", "DB_PASSWORD"),
    ] {
        assert_eq!(setting(name, value), value, "{name}");
    }
    for line in [
        "mysql --defaults-extra-file=/etc/my.cnf -P 3306 -p db",
        "PGPASSFILE=/x/pgpass pgbench -h db -p 5432 -c 8 -T 60 bench",
        "docker run -p 80:80 -e MYSQL_ROOT_PASSWORD_FILE=/run/x img",
        "sysbench oltp_read_write --mysql-host=db --key_size=8 --primary_key=id run",
        "pgbench 'host=db port=5432 user=x passfile=/p sslkey=/k' -c 1",
        "curl -s http://x:8080/y",
        "curl -u user http://x",
        "SELECT * FROM lineitem WHERE l_orderkey=o_orderkey AND c_custkey=5",
        "it's the user's password",
        "Authentication plugin 'caching_sha2_password' cannot be loaded",
        "read the password from ~/.pgpass",
        "tcp_keepalives_idle=60 token_bucket=3 max_tokens=7",
        "error: the token is unexpected",
        "sshpass -f /x ssh host",
    ] {
        assert_eq!(text(line), line);
        assert_eq!(argv(&words(line)), words(line), "{line}");
    }
}
