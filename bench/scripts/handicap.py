#!/usr/bin/env python3
"""Count how often a duet finds a true difference of 3 % within five minutes.

    bench/scripts/handicap.py DYNO URL [TRIES]

Events of side A consist of 33 point selects, those of side B of 34, so the true ratio of the rates
is 33/34 = 0.971. The target needs the tables of `dyno prepare oltp_read_write --table-size 10000`.
A try has found the difference if its 95 % interval excludes 1 on the right side.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TRUTH = 33 / 34


def main():
    dyno, url = sys.argv[1:3]
    tries = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    found = covered = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DYNO_RESULTS"] = os.path.join(folder, "dyno.db")
        for number in range(1, tries + 1):
            command = [dyno, "duet", "--selects=33", "--selects=34", f"{HERE}/selects.lua", "-T", url]
            options = ["-c", "4", "--at-most", "5m", "--calibrate", "never", "--json"]
            done = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
            result = json.loads(done.stdout)
            rate = result["figures"][0]
            found += rate["high"] < 1
            covered += rate["low"] <= TRUTH <= rate["high"]
            print(
                f"try {number}: {rate['ratio']:.4f} ({rate['low']:.4f} to {rate['high']:.4f}) "
                f"in {result['measured_s']:.0f} s",
                flush=True,
            )
    print(f"found {found} of {tries}; the interval contains {TRUTH:.4f} in {covered}")


if len(sys.argv) < 3:
    sys.exit(__doc__)
main()
