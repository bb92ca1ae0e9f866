#!/bin/sh
# MariaDB's `Rows_tmp_read` counts the look-ups in the temporary table of a GROUP BY.
#
# Its name suggests the rows that are read from temporary tables: one per group for a GROUP BY. But
# without an index on the column, MariaDB looks up the group of each base table row in the temporary
# table, and each look-up that finds its group counts as a row read. A query over 1000 rows with 10
# groups therefore "reads" about 1000 rows from a temporary table that never has more than 10. So
# the counter shows neither the size of temporary tables nor the rows of results. A derived table
# of 10 rows, which is only read, counts 10.
#
# Seen with MariaDB 10.11.19 of Debian 12:
#
#     GROUP BY over 1000 rows with 10 groups: Rows_tmp_read +1010
#     a derived table of 10 rows: Rows_tmp_read +10
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
    --socket="$FOLDER/sock" >log 2>&1 &
SERVER=$!
tries=0
until sql 'SELECT 1' >/dev/null 2>&1; do
    tries=$((tries + 1))
    test $tries -lt 600 || { tail log; exit 2; }
    sleep 0.1
done
sql 'CREATE TABLE t (id INT PRIMARY KEY, g INT) ENGINE=InnoDB;
    INSERT INTO t SELECT seq, seq % 10 FROM seq_1_to_1000'

value() { # The session's counter after a statement.
    sql "FLUSH STATUS; $1; SHOW SESSION STATUS LIKE 'Rows_tmp_read'" |
        sed -n 's/^Rows_tmp_read\t//p'
}
# SHOW STATUS uses a temporary table, too.
idle=$(value 'DO 0')
grouped=$(($(value 'SELECT g, COUNT(*) FROM t GROUP BY g') - idle))
derived=$(($(value 'SELECT SUM(id) FROM (SELECT id FROM t LIMIT 10) AS d') - idle))
groups=$(sql 'SELECT COUNT(DISTINCT g) FROM t')
echo "GROUP BY over 1000 rows with $groups groups: Rows_tmp_read +$grouped"
echo "a derived table of 10 rows: Rows_tmp_read +$derived"
test "$groups" = 10
# The first row of each group finds nothing.
test "$grouped" -ge 990
test "$derived" -ge 10 && test "$derived" -le 20
