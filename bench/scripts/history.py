#!/usr/bin/env python3
"""Measure `dyno history` on a results file of many runs.

    bench/scripts/history.py DYNO [RUNS]

Makes one run, copies its rows RUNS (10,000) times with noise and four lasting changes of the rate,
and prints the wall time and the CPU time of `dyno history` on the file.
"""

import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

DYNO = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000


def copy(connection, table, run, new, values):
    """Copies the rows of a run, with other values of these columns."""
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    key = "id" if table == "run" else "run_id"
    picked = [
        "?" if name == key or name in values else name
        for name in names
    ]
    filled = [new if name == key else values[name] for name in names if name == key or name in values]
    connection.execute(
        f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(picked)} FROM {table} "
        f"WHERE {key} = ?",
        [*filled, run],
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "dyno.db")
        environment = {**os.environ, "DYNO_RESULTS": file}
        run = [DYNO, "run", "oltp_point_select", "-t", "2s", "--warmup", "0", "-q"]
        subprocess.run(run, check=True, env=environment)
        connection = sqlite3.connect(file)
        rate, = connection.execute("SELECT events_per_s FROM run").fetchone()
        source = random.Random(1)
        for number in range(2, RUNS + 1):
            level = 1 + 0.1 * (5 * number // RUNS % 2)
            values = {
                "name": f"copy-{number}",
                "created_unix_s": 1.7e9 + 3600 * number,
                "events_per_s": rate * level * source.gauss(1, 0.02),
                "p95_ms": source.gauss(1, 0.05),
                "p99_ms": source.gauss(2, 0.1),
            }
            copy(connection, "run", 1, number, values)
            for table in ("fact", "setting", "finding"):
                copy(connection, table, 1, number, {})
        connection.commit()
        connection.close()
        began = time.monotonic()
        done = subprocess.run([DYNO, "history"], check=True, env=environment, capture_output=True)
        took = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(done.stdout.decode())
        size = os.path.getsize(file) / 1e6
        cpu = used.ru_utime + used.ru_stime
        print(f"{RUNS} runs, {size:.0f} MB: {took:.2f} s (CPU time with the run: {cpu:.2f} s)")


main()
