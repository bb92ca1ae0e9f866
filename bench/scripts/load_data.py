#!/usr/bin/env python3
"""Compare `dyno prepare` with LOAD DATA of a ready file, into the same table of the same server.

    bench/scripts/load_data.py DYNO URL [ROWS [ROUNDS]]

URL is a MariaDB or MySQL target, such as mysql://root@localhost/sbtest?socket=/tmp/mysql.sock. The table
sbtest1 is dropped and created again. Both load it through one connection and create its index
afterwards. The `mysql` client of the PATH reads the file, and the server must allow it
(local_infile=ON). Prints the times and the ratio of the rows per second.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.parse import parse_qs, unquote, urlsplit


def client(*more):
    url = urlsplit(URL)
    options = ["--user", unquote(url.username or "root"), "--local-infile=1"]
    socket = parse_qs(url.query).get("socket")
    if socket:
        options += ["--socket", socket[0]]
    else:
        options += ["--protocol=tcp", "--host", url.hostname, "--port", str(url.port or 3306)]
    return ["mysql", *options, "--database", url.path.lstrip("/"), *more]


def sql(text, **more):
    subprocess.run(client("-e", text), check=True, **more)


def dyno():
    command = [DYNO, "prepare", "oltp_read_write", "--target", URL]
    options = ["--tables", "1", "--table-size", str(ROWS), "-c", "1"]
    subprocess.run([*command, *options], check=True, capture_output=True)


def load_data(file):
    sql(
        "CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, "
        "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)); "
        f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE sbtest1; "
        "CREATE INDEX k_1 ON sbtest1(k)"
    )


def timed(work, *arguments):
    sql("DROP TABLE IF EXISTS sbtest1")
    began = time.monotonic()
    work(*arguments)
    return time.monotonic() - began


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "rows.tsv")
        timed(dyno)
        with open(file, "wb") as rows:
            command = client("--batch", "--skip-column-names", "-e", "SELECT * FROM sbtest1")
            subprocess.run(command, check=True, stdout=rows)
        ratios = []
        for number in range(ROUNDS):
            # The order alternates, so that neither always follows the other.
            works = [(dyno,), (load_data, file)]
            took = {work[0].__name__: timed(*work) for work in works[:: (-1) ** number]}
            ratios.append(took["load_data"] / took["dyno"])
            print(
                f"round {number + 1}: dyno {took['dyno']:.2f} s, LOAD DATA {took['load_data']:.2f} s",
                flush=True,
            )
    print(f"rows per second of dyno over LOAD DATA: {statistics.median(ratios):.3f} (median)")


if len(sys.argv) < 3:
    sys.exit(__doc__)
DYNO, URL = sys.argv[1:3]
ROWS = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
main()
