#!/bin/sh
# MariaDB with `binlog_format = MIXED`, its default, commits to the binary log for an UPDATE or
# DELETE that matches no row. `Binlog_commits` counts it, and the log has the statement in a
# separate transaction. An UPDATE that sets a row to its current values is logged as well. With ROW,
# MariaDB writes nothing in any of these cases.
#
# So on MariaDB the commits of the binary log, and with sync_binlog = 1 its syncs, count statements
# that requested a change, even if they changed nothing. A statement in the log does not prove that
# it changed a row.
#
# Seen with MariaDB 10.11.19 of Debian 12, amd64, after 10 statements each:
#   MIXED: 10 commits for UPDATE of no row, 10 for DELETE of no row, 10 for UPDATE to the same value
#   ROW: 0 commits for UPDATE of no row, 0 for DELETE of no row, 0 for UPDATE to the same value
#
# Exit status 0: reproduced. It needs Debian 12 on amd64.
set -eu
VERSION=1:10.11.19-0+deb12u1
FOLDER=$(mktemp -d /var/tmp/finding.XXXXXX)
SERVER=
finish() {
    test -z "$SERVER" || kill -9 "$SERVER" 2>/dev/null || true
    rm -rf "$FOLDER"
}
trap finish EXIT
cd "$FOLDER"
apt-get -qq download "mariadb-server-core=$VERSION" "mariadb-client-core=$VERSION" \
    liburing2=2.3-3 libnuma1=2.0.16-1 libaio1=0.3.113-4 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
ROOT=$FOLDER/root
export LD_LIBRARY_PATH="$ROOT/usr/lib/x86_64-linux-gnu:$ROOT/lib/x86_64-linux-gnu"

sql() {
    "$ROOT/usr/bin/mariadb" --no-defaults -u root -S "$FOLDER/sock" -N -B -e "$1" test
}

"$ROOT/usr/bin/mariadb-install-db" --no-defaults --user="$(id -un)" --basedir="$ROOT/usr" \
    --datadir="$FOLDER/data" --lc-messages-dir="$ROOT/usr/share/mysql" \
    --auth-root-authentication-method=normal >install.log 2>&1 || { cat install.log; exit 2; }
mkdir -p data/test
"$ROOT/usr/sbin/mariadbd" --no-defaults --user="$(id -un)" --basedir="$ROOT/usr" \
    --datadir="$FOLDER/data" --lc-messages-dir="$ROOT/usr/share/mysql" --skip-networking \
    --socket="$FOLDER/sock" --server-id=1 --log-bin=bin >log 2>&1 &
SERVER=$!
tries=0
until sql 'SELECT 1' >/dev/null 2>&1; do
    tries=$((tries + 1))
    test $tries -lt 600 || { tail log; exit 2; }
    sleep 0.1
done
test "$(sql "SELECT @@global.binlog_format")" = MIXED ||
    { echo "MIXED is not the default"; exit 1; }
sql 'CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB; INSERT INTO t VALUES (1, 7)'

commits() { # How many commits of the binary log 10 executions of a statement are.
    before=$(sql "SHOW GLOBAL STATUS LIKE 'Binlog_commits'" | cut -f2)
    i=0
    statements="SET SESSION binlog_format = $1;"
    while [ $i -lt 10 ]; do
        i=$((i + 1))
        statements="$statements $2;"
    done
    sql "$statements"
    after=$(sql "SHOW GLOBAL STATUS LIKE 'Binlog_commits'" | cut -f2)
    echo $((after - before))
}
result=0
for format in MIXED ROW; do
    update=$(commits $format 'UPDATE t SET v = v + 1 WHERE id = 100')
    delete=$(commits $format 'DELETE FROM t WHERE id = 100')
    same=$(commits $format 'UPDATE t SET v = 7 WHERE id = 1')
    echo "$format: $update commits for UPDATE of no row, $delete for DELETE of no row," \
        "$same for UPDATE to the same value"
    case $format in
    MIXED) test "$update $delete $same" = "10 10 10" || result=1 ;;
    ROW) test "$update $delete $same" = "0 0 0" || result=1 ;;
    esac
done
exit $result
