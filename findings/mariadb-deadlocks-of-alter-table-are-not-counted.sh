#!/bin/sh
# An ALTER TABLE ends transactions with "Deadlock found" that MariaDB counts nowhere.
#
# A transaction that has read a table holds a metadata lock for reading it. An ALTER TABLE that
# copies the table allows reading but not writing; at its end it waits for the transaction, and if
# the transaction then writes to the table, each waits for the other. The server detects the cycle
# and ends the transaction with error 1213, the message of a row lock deadlock. `Innodb_deadlocks`
# and the section LATEST DETECTED DEADLOCK of SHOW ENGINE INNODB STATUS cover only row locks: one
# stays 0, the other is missing. No other counter includes these deadlocks. If a table is altered
# during a run of short transactions that read and then write, each session gets one such error,
# and nothing in the server's statistics explains it.
#
# Seen with MariaDB 10.11.19 of Debian 12:
#
#     the transaction: ERROR 1213 (40001) at line 2: Deadlock found when trying to get lock; ...
#     Innodb_deadlocks: 0
#     sections LATEST DETECTED DEADLOCK: 0
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

client() {
    "$ROOT/usr/bin/mariadb" --no-defaults -u root -S "$FOLDER/sock" -N -B "$@" test
}
wait_for() { # CONDITION: until it holds for a session
    tries=0
    until test "$(client -e "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE $1")" -gt 0
    do
        tries=$((tries + 1))
        test $tries -lt 300 || { client -e 'SHOW PROCESSLIST'; exit 2; }
        sleep 0.1
    done
}

"$ROOT/usr/bin/mariadb-install-db" --no-defaults --user="$(id -un)" --basedir="$ROOT/usr" \
    --datadir="$FOLDER/data" --lc-messages-dir="$ROOT/usr/share/mysql" \
    --auth-root-authentication-method=normal >install.log 2>&1 || { cat install.log; exit 2; }
mkdir -p data/test
"$ROOT/usr/sbin/mariadbd" --no-defaults --user="$(id -un)" --basedir="$ROOT/usr" \
    --datadir="$FOLDER/data" --lc-messages-dir="$ROOT/usr/share/mysql" --skip-networking \
    --socket="$FOLDER/sock" >log 2>&1 &
SERVER=$!
tries=0
until client -e 'SELECT 1' >/dev/null 2>&1; do
    tries=$((tries + 1))
    test $tries -lt 600 || { tail log; exit 2; }
    sleep 0.1
done
client -e 'CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB;
    INSERT INTO t SELECT seq, 0 FROM seq_1_to_1000'

# A session whose statements come one by one.
mkfifo statements
client <statements >session.out 2>&1 &
SESSION=$!
exec 3>statements
echo 'BEGIN; SELECT v FROM t WHERE id = 1; SELECT SLEEP(1);' >&3
wait_for "INFO LIKE 'SELECT SLEEP%'"
client -e 'ALTER TABLE t FORCE, ALGORITHM=COPY' &
ALTER=$!
wait_for "STATE LIKE 'Waiting for table metadata lock%'"
echo 'UPDATE t SET v = 1 WHERE id = 1;' >&3
exec 3>&-
wait $SESSION || true
wait $ALTER
error=$(grep 1213 session.out || true)
deadlocks=$(client -e "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'" | cut -f 2)
sections=$(client -e 'SHOW ENGINE INNODB STATUS' | grep -c 'LATEST DETECTED DEADLOCK' || true)
echo "the transaction: $error"
echo "Innodb_deadlocks: $deadlocks"
echo "sections LATEST DETECTED DEADLOCK: $sections"
case $error in
'ERROR 1213 (40001)'*'Deadlock found'*) ;;
*) cat session.out; exit 1 ;;
esac
test "$deadlocks" = 0
test "$sections" = 0
