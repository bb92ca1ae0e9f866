#!/bin/bash
# vmstat of procps 4.0.2 (Debian 12) prints the memory of its first row in all rows.
#
# `vmstat 1 5` prints a row each second, and the columns of CPU, disks and interrupts are those of
# that second. The columns free, buff and cache are not: vmstat reads them once and repeats them in
# every row. A plot of a long vmstat log therefore shows a perfectly flat line, as if the server's
# memory did not change, while /proc/meminfo shows that it does.
#
# Seen with procps 2:4.0.2-3 while a file of 256 MiB was written into memory:
#   MemFree of /proc/meminfo, KiB: 1368432 before, 679424 after
#   free in vmstat's rows: 1368432 1368432 1368432 1368432 1368432
#
# Exit status 0: reproduced. 1: free changes. 2: inconclusive, the memory did not change.
set -euo pipefail

work=$(mktemp -d)
file=$(mktemp -p /dev/shm)
trap 'rm -rf "$work" "$file"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root procps=2:4.0.2-3 libproc2-0=2:4.0.2-3
for package in ./*.deb; do dpkg-deb -x "$package" root; done
libraries=$(dirname "$(find root -name 'libproc2.so.*' | head -1)")

free_kib() { awk '/^MemFree:/ { print $2 }' /proc/meminfo; }

before=$(free_kib)
LD_LIBRARY_PATH=$libraries root/usr/bin/vmstat 1 5 >rows &
watcher=$!
sleep 1.5
head -c 268435456 /dev/zero >"$file"
wait "$watcher"
after=$(free_kib)

all=$(awk '$1 ~ /^[0-9]+$/ { print $4 }' rows)
echo "MemFree of /proc/meminfo, KiB: $before before, $after after"
echo "free in vmstat's rows:" $all
moved=$((before - after))
if ((${moved#-} < 1024)); then
  echo "the free memory did not move by a MiB, so that it may be the same in all rows"
  exit 2
fi
[ "$(wc -l <<<"$all")" = 5 ] && [ "$(sort -u <<<"$all" | wc -l)" = 1 ]
