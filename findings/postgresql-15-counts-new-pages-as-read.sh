#!/bin/bash
# PostgreSQL 15 counts the pages that a table grows by as pages read.
#
# `pg_stat_database.blks_read` and `heap_blks_read` are documented as disk blocks read, and the hit
# ratio of the cache is computed with them. In version 15 a page that an INSERT or an UPDATE adds
# to a table or an index is requested like any other and not found, so it counts as read, although
# nothing is read. A load that writes to a table in memory shows "reads" that end when VACUUM has
# freed enough room and the table no longer grows, which looks like a cache warming up. PostgreSQL
# 18.6 counts 49 blocks for the same statement in the whole database, and none in the table.
#
# Seen with PostgreSQL 15.20 of Debian 12:
#
#     an INSERT adds 1026 pages of 8192 bytes: blks_read +1109, heap_blks_read +1002
#     meanwhile the session read 0 % of that many bytes from files
#
# Exit status 0: reproduced.
set -euo pipefail

version=15.20-0+deb12u1
work=$(mktemp -d)
chmod 755 "$work"
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root "postgresql-15=$version" \
  "postgresql-client-15=$version" "libpq5=$version" >/dev/null
for package in *.deb; do dpkg-deb -x "$package" tree; done
bin=$work/tree/usr/lib/postgresql/15/bin
# The server refuses to run as root.
mkdir data && chown nobody data
as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups
  env "LD_LIBRARY_PATH=$work/tree/usr/lib/$(uname -m)-linux-gnu")
trap '"${as_nobody[@]}" "$bin/pg_ctl" -D data -m immediate -s stop || true; rm -rf "$work"' EXIT
"${as_nobody[@]}" "$bin/initdb" -D data -L "$work/tree/usr/share/postgresql/15" -U postgres \
  -A trust >/dev/null
"${as_nobody[@]}" "$bin/pg_ctl" -D data -s -w -l data/log \
  -o "-c listen_addresses= -c unix_socket_directories=$work/data -c autovacuum=off" start
ask() { # STATEMENT…, in one session
  local all=()
  for statement; do all+=(-c "$statement"); done
  "${as_nobody[@]}" "$bin/psql" -X -q -A -t -h "$work/data" -U postgres "${all[@]}"
}
counters() {
  # A new session reads the counters that the one before reported when it ended.
  ask "SELECT (SELECT blks_read FROM pg_stat_database WHERE datname = 'postgres'), heap_blks_read
    FROM pg_statio_user_tables"
}
own_bytes="SELECT substring(pg_read_file('/proc/self/io') FROM 'rchar: (\d+)')"
ask "CREATE TABLE t (id int PRIMARY KEY, f text)"

IFS='|' read -r database heap < <(counters)
mapfile -t bytes < <(ask "SELECT count(*) FROM t" "$own_bytes" \
  "INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 7000) g" "$own_bytes")
IFS='|' read -r database_after heap_after < <(counters)
database=$((database_after - database)) heap=$((heap_after - heap))
pages=$(ask "SELECT (pg_table_size('t') + pg_indexes_size('t')) / 8192")
share=$(((bytes[2] - bytes[1]) * 100 / (pages * 8192)))
echo "an INSERT adds $pages pages of 8192 bytes: blks_read +$database, heap_blks_read +$heap"
echo "meanwhile the session read $share % of that many bytes from files"
[ "$database" -ge "$pages" ] && [ "$heap" -ge 1000 ] && [ "$share" -lt 10 ]
