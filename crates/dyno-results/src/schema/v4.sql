-- Version 4: stalls as the verdict defines them (crate dyno-analysis, `course` and `stalls`): whole
-- seconds of the measurement, short intervals merged; the level is the median of the seconds
-- above 5 % of the rate at which the median event ended; at most 5 % of the level is stalled.

DROP VIEW where_did_it_stall;

CREATE VIEW where_did_it_stall AS
WITH RECURSIVE
measured AS (
    SELECT run.id AS run_id,
           coalesce(nullif(max(run.summary ->> '$.measured_s', 0), 0),
                    (SELECT max(at_s) FROM interval WHERE run_id = run.id)) AS length_s
    FROM run
),
fitting AS (
    SELECT interval.run_id, interval.at_s, interval.length_s, interval.events, interval.max_ms,
           row_number() OVER (PARTITION BY interval.run_id ORDER BY interval.number) AS place
    FROM interval JOIN measured USING (run_id)
    WHERE interval.length_s > 0
      AND interval.at_s - interval.length_s >= -0.001
      AND interval.at_s <= measured.length_s + 0.001
),
growing AS (
    SELECT run_id, place, at_s, length_s, events, max_ms FROM fitting WHERE place = 1
    UNION ALL
    SELECT next.run_id, next.place, next.at_s,
           iif(so_far.length_s >= 0.9, next.length_s, so_far.length_s + next.length_s),
           iif(so_far.length_s >= 0.9, next.events, so_far.events + next.events),
           iif(so_far.length_s >= 0.9, next.max_ms, max(so_far.max_ms, next.max_ms))
    FROM growing AS so_far
    JOIN fitting AS next ON next.run_id = so_far.run_id AND next.place = so_far.place + 1
),
placed AS (
    SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY length_s) AS longer_than,
           count(*) OVER (PARTITION BY run_id) AS count
    FROM growing WHERE length_s >= 0.9
),
usual AS (
    SELECT run_id, (min(length_s) + max(length_s)) / 2.0 AS length_s
    FROM placed WHERE longer_than IN ((count + 1) / 2, count / 2 + 1)
    GROUP BY run_id
),
whole AS (
    SELECT placed.run_id, placed.at_s, placed.length_s, placed.events, placed.max_ms,
           placed.events / placed.length_s AS rate,
           row_number() OVER (PARTITION BY placed.run_id ORDER BY placed.place) AS number,
           count(*) OVER (PARTITION BY placed.run_id) AS seconds
    FROM placed JOIN usual USING (run_id)
    WHERE placed.length_s >= usual.length_s * 0.9
),
summed AS (
    SELECT run_id, rate,
           sum(events) OVER (PARTITION BY run_id ORDER BY rate ROWS UNBOUNDED PRECEDING) AS upto,
           sum(events) OVER (PARTITION BY run_id) AS total
    FROM whole WHERE events > 0
),
median_event AS (
    SELECT run_id, min(rate) AS rate FROM summed WHERE 2 * upto >= total GROUP BY run_id
),
moving AS (
    SELECT whole.run_id, whole.rate,
           row_number() OVER (PARTITION BY whole.run_id ORDER BY whole.rate) AS faster_than,
           count(*) OVER (PARTITION BY whole.run_id) AS count
    FROM whole JOIN median_event USING (run_id)
    WHERE whole.rate > 0.05 * median_event.rate
),
level AS (
    SELECT run_id, (min(rate) + max(rate)) / 2.0 AS rate
    FROM moving WHERE faster_than IN ((count + 1) / 2, count / 2 + 1)
    GROUP BY run_id
),
total AS (
    SELECT run_id, sum(events) / sum(length_s) AS events_per_s FROM whole GROUP BY run_id
),
stalled AS (
    SELECT whole.*, level.rate AS level, total.events_per_s AS mean,
           whole.number - row_number() OVER (PARTITION BY whole.run_id ORDER BY whole.number)
               AS stall
    FROM whole JOIN level USING (run_id) JOIN total USING (run_id)
    WHERE whole.seconds >= 5 AND level.rate >= 20 AND whole.rate <= 0.05 * level.rate
)
SELECT stalled.run_id, run.name AS run, min(stalled.at_s - stalled.length_s) AS from_s,
       max(stalled.at_s) AS to_s, sum(stalled.events) / sum(stalled.length_s) AS events_per_s,
       max(stalled.mean) AS mean_events_per_s, max(stalled.level) AS level_events_per_s,
       max(stalled.max_ms) AS max_ms
FROM stalled JOIN run ON run.id = stalled.run_id
GROUP BY stalled.run_id, stalled.stall
ORDER BY stalled.run_id, from_s;
