#!/usr/bin/env python3
"""Compare the precision of a duet with that of two runs in sequence.

    bench/scripts/duet.py DYNO URL_A URL_B [ROUNDS [SECONDS]]

Both targets must have the same tables of oltp_read_write (4 tables of 10,000 rows), and should be
equally fast: the true ratio is then 1. Each round takes SECONDS with a duet and SECONDS with two
runs of half that time. Prints the half-widths of the 95 % intervals, their ratio (the target is at
most 1/6), and the root mean square errors of the logarithm of the ratio.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

OPTIONS = "oltp_read_write --tables 4 --table-size 10000 -c 4 --calibrate never".split()


def dyno(*args):
    """The JSON that a command prints."""
    done = subprocess.run([DYNO, *args], check=True, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout.strip() else None


def half_width(low, high):
    return math.log(high / low) / 2


def duet(a, b, seconds):
    found = dyno("duet", a, b, *OPTIONS, "--precision", "0.01%", "--at-most", f"{seconds}s", "--json")
    rate = found["figures"][0]
    return rate["ratio"], half_width(rate["low"], rate["high"])


def sequence(a, b, seconds):
    runs = []
    for url in (a, b):
        done = dyno("run", *OPTIONS, "--target", url, "-t", f"{seconds / 2}s", "--json")
        runs.append(str(done["recorded"]["id"]))
    metrics = dyno("compare", *runs, "--json")[0]["metrics"]
    rate = next(metric for metric in metrics if metric["name"] == "events")
    return rate["ratio"], half_width(rate["low"], rate["high"])


def main():
    a, b = sys.argv[2:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 9
    seconds = int(sys.argv[5]) if len(sys.argv) > 5 else 24
    results = {"duet": [], "sequence": []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DYNO_RESULTS"] = os.path.join(folder, "dyno.db")
        for number in range(rounds):
            for name, measure in (("duet", duet), ("sequence", sequence)):
                ratio, half = measure(a, b, seconds)
                results[name].append((math.log(ratio), half))
                print(f"round {number + 1}: {name} {ratio:.4f} ± {half:.2%}", flush=True)
    halves = {name: statistics.median(half for _, half in found) for name, found in results.items()}
    for name, found in results.items():
        error = math.sqrt(statistics.fmean(log * log for log, _ in found))
        print(f"{name}: half-width {halves[name]:.2%} (median), root mean square error {error:.4f}")
    print(f"half-width of the duet over that of the sequence: {halves['duet'] / halves['sequence']:.3f}")


DYNO = sys.argv[1] if len(sys.argv) > 3 else sys.exit(__doc__)
main()
