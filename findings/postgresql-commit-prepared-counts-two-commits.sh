#!/bin/bash
# PostgreSQL counts a two-phase transaction as two commits, at COMMIT PREPARED.
#
# `pg_stat_database.xact_commit` is documented as the number of transactions that have been
# committed. PREPARE TRANSACTION itself counts nothing. COMMIT PREPARED counts two commits: the
# prepared transaction, and the one in which the statement itself runs. ROLLBACK PREPARED counts a
# rollback and a commit. So with two-phase commit, the server's commits per second are twice the
# load's transactions, and a check of a client's count against the server's must allow for that.
# VACUUM of one table counts three commits, REINDEX TABLE CONCURRENTLY of a table with one index
# ten.
#
# Seen with PostgreSQL 15.20 of Debian 12:
#
#     commits and rollbacks of a query: 1 0, BEGIN to COMMIT: 1 0, PREPARE TRANSACTION: 0 0,
#     COMMIT PREPARED: 2 0, ROLLBACK PREPARED: 1 1, VACUUM: 3 0, REINDEX CONCURRENTLY: 10 0
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
settings="-c autovacuum=off -c max_prepared_transactions=5"
"${as_nobody[@]}" "$bin/pg_ctl" -D data -s -w -l data/log \
  -o "-c listen_addresses= -c unix_socket_directories=$work/data $settings" start
ask() { # DATABASE STATEMENT…, in one session
  local all=()
  for statement in "${@:2}"; do all+=(-c "$statement"); done
  "${as_nobody[@]}" "$bin/psql" -X -q -A -t -h "$work/data" -U postgres -d "$1" "${all[@]}"
}
ask postgres "CREATE DATABASE counted" >/dev/null
ask counted "CREATE TABLE t (id int PRIMARY KEY, f int)" "INSERT INTO t VALUES (1, 0)"
# Another database reads the counters, so that reading is not counted.
counters="SELECT xact_commit || ' ' || xact_rollback FROM pg_stat_database
  WHERE datname = 'counted'"
count() { # STATEMENT…: the commits and rollbacks of a session without its log-in
  local before after
  read -r -a before < <(ask postgres "$counters")
  ask counted "$@" >/dev/null
  read -r -a after < <(ask postgres "$counters")
  echo "$((after[0] - before[0] - log_in)) $((after[1] - before[1]))"
}
log_in=0
read -r log_in _ < <(count "SELECT 1")
log_in=$((log_in - 1))
change="UPDATE t SET f = f + 1"
single=$(count "SELECT 1")
block=$(count BEGIN "$change" COMMIT)
prepare=$(count BEGIN "$change" "PREPARE TRANSACTION 'a'")
commit=$(count "COMMIT PREPARED 'a'")
count BEGIN "$change" "PREPARE TRANSACTION 'b'" >/dev/null
rollback=$(count "ROLLBACK PREPARED 'b'")
vacuum=$(count "VACUUM t")
reindex=$(count "REINDEX TABLE CONCURRENTLY t")
echo "commits and rollbacks of a query: $single, BEGIN to COMMIT: $block, PREPARE TRANSACTION:" \
  "$prepare,"
echo "COMMIT PREPARED: $commit, ROLLBACK PREPARED: $rollback, VACUUM: $vacuum," \
  "REINDEX CONCURRENTLY: $reindex"
[ "$single/$block/$prepare/$commit/$rollback/$vacuum/$reindex" = \
  "1 0/1 0/0 0/2 0/1 1/3 0/10 0" ]
