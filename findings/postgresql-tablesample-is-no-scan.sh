#!/bin/bash
# PostgreSQL counts rows read through TABLESAMPLE, but no scan.
#
# pg_stat_user_tables.seq_scan counts sequential scans, seq_tup_read the rows that they fetch. A
# query with TABLESAMPLE reads its rows from the table directly: seq_tup_read grows by the sampled
# rows, while neither seq_scan nor idx_scan grows. Rows per scan is then a division by zero, and a
# monitor that takes seq_scan + idx_scan as the use of a table sees an idle one. BERNOULLI visits
# every page and looks as cheap as SYSTEM, because rows that it skips do not count.
#
# Seen with PostgreSQL 15.20 (Debian 15.20-0+deb12u1), a table of 10,000 rows on 45 pages:
#   a count, whole: seq_scan +1, seq_tup_read +10000, idx_scan +0
#   a count, TABLESAMPLE SYSTEM (50): seq_scan +0, seq_tup_read +4972, idx_scan +0
#   a count, TABLESAMPLE BERNOULLI (50): seq_scan +0, seq_tup_read +4960, idx_scan +0
# The rows of the samples vary.
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
  >/dev/null
"${as_nobody[@]}" "$bin/pg_ctl" -D data -s -w -l data/log \
  -o "-c listen_addresses= -c unix_socket_directories=$work/data -c autovacuum=off" start
ask() {
  "${as_nobody[@]}" "$bin/psql" -X -q -A -t -h "$work/data" -U postgres -c "$1"
}
counters() {
  # A new session reads the counters that the one before reported when it ended.
  ask "SELECT seq_scan, seq_tup_read, coalesce(idx_scan, 0) FROM pg_stat_user_tables"
}
ask "CREATE TABLE t (id int PRIMARY KEY)"
ask "INSERT INTO t SELECT generate_series(1, 10000)"

reproduced=0
look() {
  IFS='|' read -r scans rows index < <(counters)
  ask "SELECT count(*) FROM t $1" >/dev/null
  IFS='|' read -r scans_after rows_after index_after < <(counters)
  scans=$((scans_after - scans)) rows=$((rows_after - rows)) index=$((index_after - index))
  echo "a count, ${1:-whole}: seq_scan +$scans, seq_tup_read +$rows, idx_scan +$index"
}
look ''
[ "$scans/$rows/$index" = 1/10000/0 ] || reproduced=1
for method in SYSTEM BERNOULLI; do
  look "TABLESAMPLE $method (50)"
  { [ "$scans/$index" = 0/0 ] && [ "$rows" -gt 0 ]; } || reproduced=1
done
exit $reproduced
