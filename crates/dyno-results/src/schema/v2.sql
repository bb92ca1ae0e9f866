-- Version 2: count events without work done separately.

ALTER TABLE interval ADD COLUMN not_done INTEGER NOT NULL DEFAULT 0;

DROP VIEW how_fast_was_it_each_second;

CREATE VIEW how_fast_was_it_each_second AS
SELECT interval.run_id, run.name AS run, at_s, length_s,
       interval.events / nullif(length_s, 0) AS events_per_s,
       (reads + writes + other) / nullif(length_s, 0) AS queries_per_s,
       interval.errors / nullif(length_s, 0) AS errors_per_s,
       max_ms, interval.sessions, backlog, concurrency, percentiles,
       not_done / nullif(length_s, 0) AS not_done_per_s
FROM interval JOIN run ON run.id = interval.run_id;
