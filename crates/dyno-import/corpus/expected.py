#!/usr/bin/env python3
"""Compute expected.json from logs/ by rules that are independent of the importer.

A figure is [value, tolerance], or null if the log does not have it. The tolerance is half of
the last printed digit, plus rounding of the sum.
"""
import json
import os
import re
import statistics

HERE = os.path.dirname(os.path.abspath(__file__))
LOGS = os.path.join(HERE, "logs")
TINY = 1e-9


def half_digit(text):
    """Half of the last digit of a printed figure."""
    text = text.replace(",", ".")
    decimals = len(text.rsplit(".", 1)[1]) if "." in text else 0
    return 0.5 * 10.0**-decimals


def value(text):
    return float(text.replace(",", "."))


def figure(text, scale=1.0, slack=1.0):
    return [value(text) * scale, half_digit(text) * scale * slack + TINY]


def exact(number):
    return [number, abs(number) * 1e-6 + TINY]


def first(pattern, text):
    found = re.search(pattern, text, re.M)
    return found.group(1) if found else None


def put(figures, key, text, scale=1.0):
    if text is not None:
        figures[key] = figure(text, scale)


# ---- pgbench: the report, progress lines and logs, as its manual describes them ----


def pgbench_report(name, text):
    f = {}
    processed = int(first(r"^number of transactions actually processed: (\d+)", text))
    failed = int(first(r"^number of failed transactions: (\d+)", text) or 0)
    retries = int(first(r"^total number of retries: (\d+)", text) or 0)
    f["events"], f["failed"] = exact(processed), exact(failed)
    f["retries"] = exact(retries)
    f["clients"] = exact(int(first(r"^number of clients: (\d+)", text)))
    # Versions before 14 print two rates. Later ones exclude the time to connect, unless each
    # transaction connects (--connect).
    including = first(r"^tps = ([\d.]+) \(incl", text)
    excluding = first(r"^tps = ([\d.]+) \((?!incl)", text) or including
    put(f, "rate", including if name.endswith("-connect.out") else excluding)
    skipped = first(r"^number of transactions skipped: (\d+)", text)
    put(f, "skipped", skipped)
    above = first(r"^number of transactions above the [\d.]+ ms latency limit: (\d+)", text)
    put(f, "above", above)
    mean = first(r"^latency average = ([\d.]+) ms", text)
    stddev = first(r"^latency stddev = ([\d.]+) ms", text)
    lag = first(r"^rate limit schedule lag: avg ([\d.]+) ", text)
    connect = first(r"^average connection time = ([\d.]+) ms", text)
    if lag:
        f["response.mean"] = figure(mean)
        # Up to version 14, which prints no failures, the lag is divided by all transactions,
        # including those that were skipped and have none.
        late = int(skipped or 0) if "number of failed" not in text else 0
        each = (processed + late) / processed
        own = value(mean) - value(lag) * each
        f["mean"] = [own, half_digit(mean) + half_digit(lag) * each + TINY]
    elif not stddev and "(including connections" in text:
        # Before version 14 a computed mean includes the time to connect; the number of clients
        # divided by the rate without that time does not.
        own = f["clients"][0] / value(excluding) * 1000
        f["mean"] = [own, half_digit(mean) * 2 + own * 1e-3]
    elif connect and not stddev:
        f["mean"] = [value(mean) - value(connect), 2 * half_digit(mean) + TINY]
    else:
        f["mean"] = figure(mean)
    points = re.findall(r"^progress: [\d.]+ s, ([\d.]+) tps", text, re.M)
    f["intervals"] = exact(len(points))
    if points:
        f["intervals.median"] = exact(statistics.median(map(float, points)))
    return f


def rank(values, percent):
    """The nearest rank; the importer's histogram is exact to 0.1 %. Dyno withholds a percentile
    with fewer than five values beyond it."""
    if len(values) * min(percent, 100 - percent) < 500:
        return None
    place = max(1, -(-len(values) * percent // 100))
    own = sorted(values)[int(place) - 1]
    return [own, own * 0.002 + 0.001]


def pgbench_log(text, lines):
    """A log of each transaction, or of sums per interval (--aggregate-interval)."""
    rows = [line.split() for line in lines]
    f = {}
    if all(len(row[0]) == 10 and row[0].isdigit() for row in rows):
        # The run covers an unknown part of the first and the last interval.
        sums = [[int(word) for word in row] for row in rows][1:-1]
        if len(sums[0]) == 11:
            # Up to version 14 the count includes skipped transactions, the last column.
            sums = [[row[0], row[1] - row[10], *row[2:]] for row in sums]
        n, total = sum(row[1] for row in sums), sum(row[2] for row in sums)
        lag = len(sums[0]) >= 10 and sum(row[6] for row in sums) or 0
        f["events"] = exact(n)
        f["mean"] = exact((total - lag) / n / 1000)
        name = "response" if lag else "service"
        f[name + ".min"] = exact(min(row[4] for row in sums if row[1]) / 1000)
        f[name + ".max"] = exact(max(row[5] for row in sums) / 1000)
        if lag:
            f["response.mean"] = exact(total / n / 1000)
        f["intervals"] = exact(len(sums))
        return f
    done = [row for row in rows if row[2].isdigit()]
    # The seventh column may be retries. Only a schedule (--rate) has transactions skipped.
    rated = any(row[2] == "skipped" for row in rows)
    lags = [int(row[6]) if rated else 0 for row in done]
    times = [int(row[2]) for row in done]
    own = [(t - lag) / 1000 for t, lag in zip(times, lags) if t > 0]
    f["events"] = exact(len(done))
    f["mean"] = exact(statistics.mean(own))
    f["service.min"], f["service.max"] = exact(min(own)), exact(max(own))
    for percent in (50, 95, 99):
        f[f"p{percent}"] = rank(own, percent)
    return f


def pgbench(name, text):
    if name.endswith(".log"):
        entry = {"runs": [pgbench_log(text, text.splitlines())]}
        # Each line has its client and which of its transactions it was.
        last, lines = {}, [line.split() for line in text.splitlines()]
        for row in lines:
            last[row[0]] = max(last.get(row[0], 0), int(row[1]))
        if len(lines[0][0]) < 10 and sum(last.values()) > len(lines):
            entry["incomplete"] = True
        return entry
    return {"runs": [pgbench_report(name, text)]}


# ---- sysbench ----


def sysbench(name, text):
    f = {}
    sql = "SQL statistics:" in text
    eps = first(r"^ +(?:events/s \(eps\)|events per second): +([\d.]+)", text)
    parts = re.findall(r"^ +transactions: +(\d+) +\(([\d.]+) per sec", text, re.M)
    if sql:
        f["events"] = exact(sum(int(count) for count, _ in parts))
        f["queries"] = exact(sum(map(int, re.findall(r"^ +queries: +(\d+) ", text, re.M))))
        f["errors"] = exact(sum(map(int, re.findall(r"^ +ignored errors: +(\d+) ", text, re.M))))
    else:
        events = first(r"^ +total number of events: +(\d+)", text)
        put(f, "events", events)
    if sql and len(parts) == 1:
        f["rate"] = figure(parts[0][1])
    elif eps:
        put(f, "rate", eps)
    if len(parts) <= 1:
        # With a rate, latencies count from the queue.
        rate = "Target transaction rate:" in text
        keys = ("response.min", "response.mean", "response.max")
        keys = keys if rate else ("service.min", "mean", "service.max")
        for label, key in zip(("min", "avg", "max"), keys):
            printed = first(rf"^ +{label}: +([\d.]+)$", text)
            # Below 5 us sysbench prints 0.00.
            if printed and (float(printed) > 0 or label == "avg"):
                put(f, key, printed)
        percentile = re.search(r"^ +(\d+)th percentile: +([\d.]+)", text, re.M)
        if percentile and float(percentile.group(2)) > 0:
            f["p" + percentile.group(1)] = figure(percentile.group(2))
    lines = re.findall(r"^\[ \d+s \] thds: \d+ (?:tps|eps): ([\d.]+)", text, re.M)
    memory = re.findall(r"^\[ \d+s \] ([\d.]+) MiB/sec", text, re.M)
    if memory:
        block = int(first(r"block size: (\d+)KiB", text))
        lines = [float(mib) * 1024 / block for mib in memory]
    f["intervals"] = exact(len(lines) or len(re.findall(r"^\[ \d+s \] reads: ", text, re.M)))
    if lines:
        f["intervals.median"] = exact(statistics.median(map(float, lines)))
    put(f, "clients", first(r"^Number of threads: (\d+)", text))
    return {"runs": [f]}


# ---- fio ----


def directions(job):
    own = [job.get(name, {}) for name in ("read", "write", "trim")]
    if not any(one.get("total_ios") for one in own):
        own = [job.get("mixed", {})]
    return [one for one in own if one.get("total_ios")]


def documents(text):
    """The JSON documents among other lines."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while True:
        at = 0 if at == 0 and text.startswith("{") else text.find("\n{", at) + 1
        if at == 0 and not text.startswith("{"):
            return found
        try:
            document, end = decoder.raw_decode(text, at)
        except ValueError:
            return found
        found.append(document)
        at = end
        if text.find("\n{", at) < 0:
            return found


def fio(name, text):
    if "fio version" not in text:
        terse = re.search(r"^\d;fio-", text, re.M)
        return {"refused": "fio's terse output" if terse else "fio's normal output"}
    last = documents(text)[-1]
    jobs = last.get("jobs") or last["client_stats"]
    jobs = [job for job in jobs if job["jobname"] != "All clients"]
    runs = []
    for group in sorted({job["groupid"] for job in jobs}):
        own = [job for job in jobs if job["groupid"] == group]
        all_of = [one for job in own for one in directions(job)]
        f = {}
        events = sum(one["total_ios"] for one in all_of)
        f["events"] = exact(events)
        rate = sum(one["iops"] for one in all_of)
        f["rate"] = [rate, rate * 1e-6 + 1e-5]
        lat = "clat_ns"
        if not any(one["clat_ns"].get("percentile") for one in all_of):
            lat = "lat_ns"
        n = sum(one[lat].get("N") or one["total_ios"] for one in all_of)
        mean = sum(one[lat]["mean"] * (one[lat].get("N") or one["total_ios"]) for one in all_of) / n
        f["mean"] = [mean / 1e6, mean / 1e6 * 1e-6 + TINY]
        f["service.min"] = exact(min(one[lat]["min"] for one in all_of) / 1e6)
        f["service.max"] = exact(max(one[lat]["max"] for one in all_of) / 1e6)
        if len(all_of) == 1:
            lat_bins = "bins" in all_of[0][lat]
            for percent, ns in all_of[0][lat].get("percentile", {}).items():
                if float(percent) in (50, 95, 99):
                    # With json+ they are computed from the bins, which are up to 1/64 wide.
                    few = lat_bins and events * (100 - float(percent)) < 500
                    f[f"p{float(percent):g}"] = None if few else [ns / 1e6, ns / 1e6 / 64 + 1e-5]
        syncs = sum(job.get("sync", {}).get("total_ios", 0) for job in own)
        if syncs:
            f["syncs"] = exact(syncs)
        runs.append(f)
    for disk in last.get("disk_util", []):
        runs[0][f"disk[{disk['name']}].utilisation"] = [disk["util"], 0.05 + TINY]
    all_jobs = [own.get("jobs", []) for own in documents(text)]
    count = len([1 for own in all_jobs if any(map(directions, own))])
    if count > 1:
        runs[0]["intervals"] = [count, 1]
    return {"runs": runs}


# ---- HammerDB: logs/hammerdb is written by hand from the lines of its source ----


def hammerdb(name, text):
    new = re.search(r"System achieved (\d+) NOPM from (\d+) ", text)
    old = re.search(r"System achieved (\d+) .*TPM at (\d+) NOPM", text)
    orders, transactions = new.groups() if new else (old.group(2), old.group(1))
    minutes = int(first(r"Timing test period of (\d+) in minutes", text))
    f = {"orders": exact(int(orders)), "rate": exact(int(transactions) / 60)}
    f["events"] = exact(int(transactions) * minutes)
    put(f, "clients", first(r"(\d+) Active Virtual Users configured", text))
    return {"runs": [f]}


# ---- vmstat, iostat, mpstat, sar: the mean of each column over the reports that count ----


def table(rows_of, tolerance, count):
    series = {}
    for name, values in rows_of.items():
        mean = sum(values) / count
        series[name] = [mean, tolerance.get(name, 0.0) + abs(mean) * 1e-9 + 1e-9]
    return series


VMSTAT = {
    "r": ("host.run_queue", 1), "us": ("host.cpu.user", 1), "sy": ("host.cpu.system", 1),
    "id": ("host.cpu.idle", 1), "wa": ("host.cpu.iowait", 1), "st": ("host.cpu.steal", 1),
    "in": ("host.interrupts", 1), "cs": ("host.context_switches", 1),
    "bi": ("host.disk[all].read_bytes", 1024), "bo": ("host.disk[all].write_bytes", 1024),
}
UNITS = {"k": 1000, "K": 1024, "m": 1e6, "M": 1048576}


def vmstat(name, text, command, began):
    lines = text.splitlines()
    heading = next(line for line in lines if line.split()[:2] == ["r", "b"]).split()
    rows = [line.split() for line in lines if re.match(r" *\d", line)]
    skip = 0 if " -y" in command else 1
    unit = first(r"-S (\w)", command)
    names = dict(VMSTAT)
    memory = UNITS[unit] if unit else 1024
    names["free"] = ("host.memory.free", memory)
    own = {}
    for column, (series, scale) in names.items():
        at = heading.index(column)
        own[series] = [int(row[at]) * scale for row in rows[skip:]]
    figures = table(own, {}, len(rows) - skip)
    figures["samples"] = exact(len(rows) - skip)
    at = heading.index("free")
    if len(rows) >= 3 and len({row[at] for row in rows}) == 1:
        figures["host.memory.free"] = None  # procps 4.0.2 repeats its first figure
    if " -t" in command:
        figures["began"] = [began + 1, 4.0]
    entry = {"host": figures}
    if not skip:
        entry["first_report"] = True
    if unit:
        entry["unit"] = unit
    return entry


DISK = {
    "r/s": ("reads", 1), "w/s": ("writes", 1), "rkb/s": ("read_bytes", 1024),
    "wkb/s": ("write_bytes", 1024), "rmb/s": ("read_bytes", 1048576),
    "wmb/s": ("write_bytes", 1048576), "kb_read/s": ("read_bytes", 1024),
    "kb_wrtn/s": ("write_bytes", 1024), "mb_read/s": ("read_bytes", 1048576),
    "mb_wrtn/s": ("write_bytes", 1048576), "aqu-sz": ("queue", 1), "%util": ("utilisation", 1),
}
CPU = {"%user": "user", "%usr": "user", "%nice": "nice", "%system": "system", "%sys": "system",
       "%iowait": "iowait", "%steal": "steal", "%idle": "idle"}
HUMAN = {"B": 1, "k": 1024, "M": 1048576, "G": 1073741824}


def human(word, scale):
    """A figure, perhaps with a unit, and half of its last digit."""
    if word[-1] in HUMAN:
        return value(word[:-1]) * HUMAN[word[-1]], half_digit(word[:-1]) * HUMAN[word[-1]]
    word = word.rstrip("%")
    return value(word) * scale, 0.0


def iostat(name, text, command, began):
    cpu, disk, room = {}, {}, {}
    skip = 0 if re.search(r" -\w*y", command) else 1
    if "JSON" in command:
        reports = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
        for report in reports[skip:]:
            for key, number in report["avg-cpu"].items():
                series = CPU.get("%" + key)
                if series:
                    cpu.setdefault(series, []).append(number)
            for row in report["disk"]:
                if row["disk_device"] != "vda":
                    continue
                for key, number in row.items():
                    key = {"util": "%util"}.get(key, key.lower())
                    if key in DISK:
                        series, scale = DISK[key]
                        disk.setdefault(series, []).append(number * scale)
        reports = len(reports)
    else:
        columns, kind = [], None
        times = 0
        for line in text.splitlines():
            words = line.split()
            if not words:
                kind = None
            elif words[0] == "avg-cpu:":
                kind, columns, times = "cpu", words[1:], times + 1
            elif "Device" in (words[0], words[-1]) and len(words) > 2:
                if " -d" in command:
                    times += 1
                kind = "disk"
                columns = [word.lower() for word in words if word != "Device"]
            elif kind == "cpu" and times > skip:
                for key, word in zip(columns, words):
                    if key in CPU:
                        cpu.setdefault(CPU[key], []).append(human(word, 1)[0])
            elif kind == "disk" and times > skip and "vda" in words:
                words.remove("vda")
                for key, word in zip(columns, words):
                    if key in DISK:
                        series, scale = DISK[key]
                        number, half = human(word, scale)
                        disk.setdefault(series, []).append(number)
                        series = f"host.disk[vda].{series}"
                        room[series] = max(room.get(series, 0.0), half)
        reports = times
    own = {f"host.cpu.{key}": values for key, values in cpu.items()}
    own.update({f"host.disk[vda].{key}": values for key, values in disk.items()})
    figures = table(own, room, reports - skip)
    figures["samples"] = exact(reports - skip)
    if re.search(r" -\w*t", command):
        figures["began"] = [began + 1, 4.0]
    entry = {"host": figures}
    if not skip:
        entry["first_report"] = True
    if " -xs " in command:
        entry["warnings"] = 2  # kB/s and rqm/s, which are of reads and writes together
    return entry


SAR = {
    "cswch/s": ("host.context_switches", 1), "proc/s": ("host.forks", 1),
    "runq-sz": ("host.run_queue", 1), "kbmemfree": ("host.memory.free", 1024),
    "kbavail": ("host.memory.available", 1024), "kbcached": ("host.memory.cached", 1024),
    "rtps": ("host.disk[all].reads", 1), "wtps": ("host.disk[all].writes", 1),
    "bread/s": ("host.disk[all].read_bytes", 512), "bwrtn/s": ("host.disk[all].write_bytes", 512),
    "ldavg-1": ("host.load1", 1), "pswpin/s": ("host.swap.in", 4096),
}


def sysstat(name, text, command, began):
    """Rows between a heading and an empty line. The words of a time come before the figures, so
    columns are counted from the end."""
    own, figures = {}, {}
    if "JSON" in command:
        host = json.loads(text)["sysstat"]["hosts"][0]
        rows = [[cpu for cpu in report["cpu-load"] if cpu["cpu"] in ("all", "-1")][0]
                for report in host["statistics"]]
        for key in ("usr", "sys", "iowait", "idle"):
            own["host.cpu." + CPU["%" + key]] = [row[key] for row in rows]
        own["host.cpu.user"] = [row["usr"] + row["guest"] for row in rows]
    columns = []
    for line in [] if own else text.splitlines():
        words = line.split()
        if not words or not re.search(r"\d", "".join(words[:2])):
            columns = []
            continue
        if any(word[0] == "%" or word in SAR or word in ("DEV", "IFACE") for word in words):
            columns = words
            continue
        if not columns or len(words) < 3:
            continue
        # Columns are aligned from the end of heading and row.
        pairs = list(zip(reversed(columns), reversed(words)))
        row = {key: word for key, word in pairs}
        if "CPU" in row and row["CPU"] != "all":
            continue
        if "DEV" in row or "IFACE" in row:
            continue
        for key, word in row.items():
            if key in CPU:
                number = value(word)
                if key == "%usr":
                    number += value(row.get("%guest", "0"))
                if key == "%nice" and "%gnice" in row:
                    number += value(row["%gnice"])
                own.setdefault("host.cpu." + CPU[key], []).append(number)
            elif key in SAR:
                series, scale = SAR[key]
                own.setdefault(series, []).append(value(word) * scale)
    counts = {len(values) for values in own.values()}
    for series, values in own.items():
        figures[series] = exact(sum(values) / len(values))
        figures[series][1] += 1e-6
    figures["samples"] = exact(max(counts))
    figures["began"] = [began + 1, 4.0]
    return {"host": figures}


READ = {"pgbench": pgbench, "sysbench": sysbench, "fio": fio, "hammerdb": hammerdb}
HOST = {"vmstat": vmstat, "iostat": iostat, "mpstat": sysstat, "sar": sysstat}


def main():
    manifest = {}
    with open(os.path.join(HERE, "manifest.tsv"), encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                file, _, began, command = line.rstrip("\n").split("\t")
                manifest[file] = (float(began), command)
    expected = {}
    for tool in sorted(os.listdir(LOGS)):
        for file in sorted(os.listdir(os.path.join(LOGS, tool))):
            name = f"{tool}/{file}"
            with open(os.path.join(LOGS, name), encoding="utf-8") as log:
                text = log.read()
            if tool in READ:
                expected[name] = READ[tool](name, text)
            else:
                began, command = manifest[name]
                expected[name] = HOST[tool](name, text, command, began)
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8") as out:
        out.write("{\n")
        rows = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in expected.items()]
        out.write(",\n".join(rows) + "\n}\n")


main()
