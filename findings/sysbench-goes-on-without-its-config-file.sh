#!/bin/bash
# sysbench runs with its defaults if the file of --config-file does not exist.
#
# --config-file=FILE names a file with one option per line. If FILE cannot be opened, sysbench
# prints the system's message to stderr, without the prefix of an error, and runs with the defaults:
# one thread, no limit of the rate, 10 s. Its exit status is 0. A log of stdout alone does not show
# this, so a mistyped path measures another load.
#
# Seen with sysbench 1.0.20 (Debian 1.0.20+ds-5), a file that says threads=3:
#   with the file:     status 0, Number of threads: 3, 0 lines of errors
#   without the file:  status 0, Number of threads: 1, 1 lines of errors
#
# Exit status 0: reproduced. It needs Debian 12.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root sysbench=1.0.20+ds-5 \
  libluajit2-5.1-2=2.1-20230119-1 libmariadb3=1:10.11.19-0+deb12u1 libpq5=15.20-0+deb12u1 \
  libaio1=0.3.113-4 >/dev/null
for package in ./*.deb; do dpkg-deb -x "$package" root; done
LD_LIBRARY_PATH=$(find root -name '*.so*' -printf "$work/%h\n" | sort -u | paste -sd:)
export LD_LIBRARY_PATH

reproduced=0
look() {
  status=0
  root/usr/bin/sysbench "--config-file=$2" --events=1 cpu run >output 2>errors || status=$?
  threads=$(sed -n 's/^Number of threads: //p' output)
  lines=$(wc -l <errors)
  echo "$1 the file: status $status, Number of threads: $threads, $lines lines of errors"
}
echo 'threads=3' >good
look with good
[ "$status/$threads/$lines" = 0/3/0 ] || reproduced=1
look without missing
[ "$status/$threads/$lines" = 0/1/1 ] || reproduced=1
grep -q '^missing: No such file or directory$' errors || reproduced=1
! grep -qiE 'config|FATAL|WARNING' output || reproduced=1
exit $reproduced
