#!/bin/bash
# vmstat -S M scales the memory of a row, and not its blocks.
#
# -S (--unit) changes the unit of the columns swpd, free, buff and cache: 1000, 1024, 1000000 or
# 1048576 bytes. The columns bi and bo of the same row stay in blocks of 1024 bytes. Nothing in the
# row or in its heading shows either unit, so a log has to be read with the command line that made
# it, and a reader that multiplies a whole row by one unit is wrong by a factor of 1024. (The manual
# says so, and says the same of si and so.)
#
# Seen with procps 2:4.0.2-3 while a file of 64 MiB was written to the disk:
#   no option: cache 2056816, blocks out 66808
#   -S M: cache 2008, blocks out 66808
#   -S k: cache 2106179, blocks out 66808
# The figures vary.
#
# Exit status 0: reproduced. 1: bo is scaled, or the memory is not. 2: no block was written, so the
# test is void.
set -euo pipefail

work=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root procps=2:4.0.2-3 libproc2-0=2:4.0.2-3 >/dev/null
for package in ./*.deb; do dpkg-deb -x "$package" root; done
libraries=$(dirname "$(find root -name 'libproc2.so.*' | head -1)")

watch() {
  LD_LIBRARY_PATH=$libraries root/usr/bin/vmstat "${@:2}" 1 5 >"$1" &
}
watch plain && first=$!
watch mega -S M && second=$!
watch kilo -S k && third=$!
sleep 1.5
dd if=/dev/zero of=file bs=1M count=64 conv=fsync status=none
wait "$first" "$second" "$third"

cache() { awk '$1 ~ /^[0-9]+$/ { print $6; exit }' "$1"; }
# The first row has means since the machine started.
blocks() {
  awk '$1 ~ /^[0-9]+$/ && rows++ > 0 { sum += $10 } END { print sum + 0 }' "$1"
}
for log in plain mega kilo; do
  case $log in plain) option='no option' ;; mega) option='-S M' ;; kilo) option='-S k' ;; esac
  echo "$option: cache $(cache $log), blocks out $(blocks $log)"
done
[ "$(blocks plain)" -ge 32768 ] || { echo "fewer blocks were written than the file has"; exit 2; }
# Whether the first is this multiple of the second, within a tenth.
is_times() {
  awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { exit !(a > b * by * 0.9 && a < b * by * 1.1) }'
}
is_times "$(cache plain)" "$(cache mega)" 1024
is_times "$(cache kilo)" "$(cache plain)" 1.024
is_times "$(blocks mega)" "$(blocks plain)" 1
is_times "$(blocks kilo)" "$(blocks plain)" 1
