#!/bin/bash
# fio's JSON of a group (group_reporting) has the first job's name and the last job's options.
#
# With group_reporting fio prints one entry for all jobs of a group. Its figures are sums over all
# of them. Its "jobname" is that of the first job, but its "job options" are those of the last one,
# and neither the number of jobs nor group_reporting itself is in the document. The entry of a 4 KiB
# job and a 64 KiB job therefore looks like the first job with 64 KiB blocks, but its own bytes per
# I/O contradict that.
#
# Seen with fio 3.33 (Debian 3.33-3), jobs [small] bs=4k and [large] bs=64k of 100 I/Os each:
#   jobname small, bs 64k, 200 I/Os of 34816 bytes each, group_reporting null,
#   jobs in the document: 1
#
# Exit status 0: reproduced.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -qq -o APT::Sandbox::User=root fio=3.33-3 >/dev/null
dpkg-deb -x fio_3.33-3_*.deb root
# Libraries of fio that are not installed.
needed=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
  --no-replaces --no-enhances fio | grep -E '^lib' |
  grep -vE '^(libc6|libgcc-s1|libcrypt1)$' | sort -u)
if ldd root/usr/bin/fio | grep -q 'not found'; then
  mkdir libraries
  (cd libraries && apt-get download -qq -o APT::Sandbox::User=root $needed >/dev/null)
  for package in libraries/*.deb; do dpkg-deb -x "$package" root; done
fi
LD_LIBRARY_PATH=$(find root -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)
export LD_LIBRARY_PATH

cat >group.fio <<'END'
[global]
ioengine=null
rw=write
group_reporting
number_ios=100
size=64m
[small]
bs=4k
[large]
bs=64k
END
root/usr/bin/fio --output-format=json group.fio >group.json
python3 - <<'END'
import json, sys
document = json.load(open("group.json"))
(entry,) = document["jobs"]
write = entry["write"]
size = write["io_bytes"] // write["total_ios"]
options = entry["job options"]
told = {**document["global options"], **options}.get("group_reporting")
print(f"jobname {entry['jobname']}, bs {options['bs']}, "
      f"{write['total_ios']} I/Os of {size} bytes each, "
      f"group_reporting {json.dumps(told)}, jobs in the document: {len(document['jobs'])}")
same = (entry["jobname"], options["bs"], write["total_ios"], size, told)
sys.exit(same != ("small", "64k", 200, 34816, None))
END
