-- Version 12: stalls as the verdict found them, as a JSON array, and NULL instead of 0 for unknown
-- figures of an interval. Older files have no stalls.

ALTER TABLE finding ADD COLUMN stalls TEXT;

DROP VIEW where_did_it_stall;
DROP VIEW how_fast_was_it_each_second;
DROP VIEW what_did_the_sessions_do;
DROP VIEW what_latency_each_second;
DROP VIEW what_latency_in_all;

CREATE TABLE interval_12 (
    run_id                INTEGER NOT NULL REFERENCES run (id),
    number                INTEGER NOT NULL,
    at_s                  REAL NOT NULL,
    length_s              REAL NOT NULL,
    sessions              INTEGER,
    events                INTEGER NOT NULL,
    reads                 INTEGER,
    writes                INTEGER,
    other                 INTEGER,
    errors                INTEGER,
    errors_seen           INTEGER,
    reconnects            INTEGER,
    retries               INTEGER,
    rows                  INTEGER,
    bytes_in              INTEGER,
    bytes_out             INTEGER,
    max_ms                REAL,
    backlog               INTEGER,
    concurrency           INTEGER,
    percentiles           TEXT NOT NULL,
    not_done              INTEGER,
    working               INTEGER,
    waiting               INTEGER,
    connecting            INTEGER,
    lost                  INTEGER,
    finished              INTEGER,
    connects_failed       INTEGER,
    reads_empty           INTEGER,
    printed_events_per_s  REAL,
    printed_queries_per_s REAL,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

-- Without events there is no maximum. A log of a closed loop has no queue.
INSERT INTO interval_12
SELECT run_id, number, at_s, length_s, interval.sessions, interval.events, reads, writes, other,
       interval.errors, errors_seen, reconnects, retries, rows, bytes_in, bytes_out,
       iif(interval.events = 0 AND max_ms = 0, NULL, max_ms),
       iif(run.source <> 'dyno' AND run.offered_per_s IS NULL, NULL, backlog),
       iif(run.source <> 'dyno' AND run.offered_per_s IS NULL, NULL, concurrency),
       percentiles, not_done, working, waiting, connecting, lost, finished, connects_failed,
       reads_empty, printed_events_per_s, printed_queries_per_s
FROM interval JOIN run ON run.id = interval.run_id;

DROP TABLE interval;
ALTER TABLE interval_12 RENAME TO interval;

UPDATE interval SET max_ms = NULL
WHERE max_ms = 0
  AND run_id IN (SELECT run_id FROM not_observed WHERE what = 'intervals.max_ms');
UPDATE interval SET backlog = NULL, concurrency = NULL
WHERE run_id IN (SELECT run_id FROM not_observed WHERE what = 'open_loop.backlog');
UPDATE interval SET sessions = NULL
WHERE run_id IN (SELECT run_id FROM not_observed WHERE what = 'intervals.sessions');
UPDATE interval SET reads = NULL, reads_empty = NULL, writes = NULL, other = NULL
WHERE run_id IN (SELECT run_id FROM not_observed
                 WHERE what IN ('counters.queries', 'intervals.queries'));
UPDATE interval SET errors = NULL, errors_seen = NULL, reconnects = NULL
WHERE run_id IN (SELECT run_id FROM not_observed WHERE what IN ('errors', 'intervals.errors'));
UPDATE interval SET rows = NULL, bytes_in = NULL, bytes_out = NULL, reads_empty = NULL,
       connects_failed = NULL
WHERE run_id IN (SELECT run_id FROM not_observed WHERE what = 'counters.rows');
UPDATE interval SET retries = NULL
WHERE run_id IN (SELECT run_id FROM not_observed JOIN run ON run.id = run_id
                 WHERE what = 'counters.rows' AND run.source IN ('sysbench', 'fio'));

UPDATE run SET errors = NULL
WHERE id IN (SELECT run_id FROM not_observed WHERE what = 'errors');
UPDATE run SET queries_per_s = NULL
WHERE id IN (SELECT run_id FROM not_observed WHERE what = 'counters.queries');

-- If a log does not name the workload, its name is empty.
UPDATE run SET workload = '', head = json_set(head, '$.workload.name', ''),
       summary = iif(summary IS NULL, NULL, json_set(summary, '$.workload.name', ''))
WHERE source <> 'dyno' AND workload = 'unknown';

CREATE VIEW where_did_it_stall AS
SELECT finding.run_id, run.name AS run, stall.value ->> '$.from_s' AS from_s,
       stall.value ->> '$.to_s' AS to_s, stall.value ->> '$.events_per_s' AS events_per_s,
       run.events_per_s AS mean_events_per_s, stall.value ->> '$.level_per_s' AS level_events_per_s,
       (SELECT max(max_ms) FROM interval
        WHERE interval.run_id = run.id
          AND at_s > (stall.value ->> '$.from_s') + 0.001
          AND at_s - length_s < (stall.value ->> '$.to_s') - 0.001) AS max_ms,
       (stall.value ->> '$.to_s') - (stall.value ->> '$.from_s') AS length_s
FROM finding JOIN run ON run.id = finding.run_id, json_each(finding.stalls) AS stall
ORDER BY finding.run_id, from_s;

CREATE VIEW how_fast_was_it_each_second AS
SELECT interval.run_id, run.name AS run, at_s, length_s,
       coalesce(printed_events_per_s, interval.events / nullif(length_s, 0)) AS events_per_s,
       coalesce(printed_queries_per_s, (reads + writes + other) / nullif(length_s, 0))
           AS queries_per_s,
       interval.errors / nullif(length_s, 0) AS errors_per_s,
       max_ms, interval.sessions, backlog, concurrency, percentiles,
       not_done / nullif(length_s, 0) AS not_done_per_s
FROM interval JOIN run ON run.id = interval.run_id;

CREATE VIEW what_did_the_sessions_do AS
SELECT interval.run_id, run.name AS run, at_s, working, waiting, connecting, lost, finished,
       connects_failed
FROM interval JOIN run ON run.id = interval.run_id
WHERE working IS NOT NULL;

-- Minimum and maximum are NULL without events.
CREATE VIEW what_latency_each_second AS
SELECT span.run_id, run.name AS run, operation.name AS operation, from_s, to_s, count,
       sum_ms / nullif(count, 0) AS mean_ms, iif(count > 0, min_ms, NULL) AS min_ms,
       iif(count > 0, max_ms, NULL) AS max_ms,
       span.p50_ms, span.p95_ms, span.p99_ms, span.p999_ms,
       response_p50_ms, response_p95_ms, response_p99_ms, response_p999_ms
FROM span
JOIN run ON run.id = span.run_id
JOIN operation ON operation.run_id = span.run_id AND operation.number = span.operation;

CREATE VIEW what_latency_in_all AS
SELECT total.run_id, run.name AS run, operation.name AS operation, from_s, to_s, count,
       sum_ms / nullif(count, 0) AS mean_ms, iif(count > 0, min_ms, NULL) AS min_ms,
       iif(count > 0, max_ms, NULL) AS max_ms,
       total.p50_ms, total.p95_ms, total.p99_ms, total.p999_ms,
       response_p50_ms, response_p95_ms, response_p99_ms, response_p999_ms
FROM total
JOIN run ON run.id = total.run_id
JOIN operation ON operation.run_id = total.run_id AND operation.number = total.operation;
