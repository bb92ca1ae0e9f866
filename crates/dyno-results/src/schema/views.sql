-- Each view is named after the question it answers.

CREATE VIEW which_runs_are_there AS
SELECT id, name, state, verdict,
       datetime(CASE WHEN source = 'dyno' THEN coalesce(started_unix_s, created_unix_s)
                     ELSE started_unix_s END, 'unixepoch') AS started_utc,
       workload, command, target_url, product, server_version, sessions, offered_per_s,
       events_per_s, queries_per_s, p95_ms, p99_ms, errors, source, profile, tool, note
FROM run
ORDER BY id;

CREATE VIEW what_was_seen AS
SELECT sample.run_id, run.name AS run, CAST(sample.at_s AS REAL) AS at_s, series.name AS series,
       CAST(sample.value AS REAL) AS value,
       series.unit, series.kind, series.source
FROM sample
JOIN run ON run.id = sample.run_id
JOIN series ON series.run_id = sample.run_id AND series.number = sample.series;

CREATE VIEW what_did_the_host_do AS
SELECT * FROM what_was_seen WHERE series LIKE 'host.%';

CREATE VIEW what_did_the_server_do AS
SELECT * FROM what_was_seen WHERE series LIKE 'server.%' OR series LIKE 'db.%';

CREATE VIEW what_did_it_cost AS
SELECT run.id AS run_id, run.name AS run, cost.value ->> '$.name' AS cost,
       cost.value ->> '$.value' AS per_event, cost.value ->> '$.unit' AS unit,
       cost.value ->> '$.source' AS source
FROM run, json_each(run.summary, '$.costs') AS cost;

CREATE VIEW which_settings_changed AS
SELECT setting.run_id, run.name AS run, setting.name, at_start, at_end
FROM setting JOIN run ON run.id = setting.run_id
WHERE at_end IS NOT NULL AND at_start IS NOT at_end;

CREATE VIEW what_happened_meanwhile AS
SELECT event.run_id, run.name AS run, at_s, until_s, kind, text
FROM event JOIN run ON run.id = event.run_id;

CREATE VIEW what_was_not_observed AS
SELECT not_observed.run_id, run.name AS run, what, why
FROM not_observed JOIN run ON run.id = not_observed.run_id;

CREATE VIEW what_differs_between_two_runs AS
SELECT a.run_id AS base_id, b.id AS new_id, 'setting' AS what, a.name,
       a.at_start AS base, o.at_start AS new
FROM setting a JOIN run b ON b.id <> a.run_id
LEFT JOIN setting o ON o.run_id = b.id AND o.name = a.name
WHERE a.at_start IS NOT o.at_start
UNION ALL
SELECT a.id, b.run_id, 'setting', b.name, NULL, b.at_start
FROM setting b JOIN run a ON a.id <> b.run_id
WHERE NOT EXISTS (SELECT 1 FROM setting o WHERE o.run_id = a.id AND o.name = b.name)
UNION ALL
SELECT a.run_id, b.id, 'fact', a.name, a.value, o.value
FROM fact a JOIN run b ON b.id <> a.run_id
LEFT JOIN fact o ON o.run_id = b.id AND o.name = a.name
WHERE a.value IS NOT o.value
UNION ALL
SELECT a.id, b.run_id, 'fact', b.name, NULL, b.value
FROM fact b JOIN run a ON a.id <> b.run_id
WHERE NOT EXISTS (SELECT 1 FROM fact o WHERE o.run_id = a.id AND o.name = b.name)
UNION ALL
SELECT a.id, b.id, 'option', x.key, x.value,
       (SELECT y.value FROM json_each(b.head, '$.workload.options') y WHERE y.key = x.key)
FROM run a JOIN run b ON a.id <> b.id, json_each(a.head, '$.workload.options') x
WHERE x.value IS NOT
       (SELECT y.value FROM json_each(b.head, '$.workload.options') y WHERE y.key = x.key)
UNION ALL
SELECT a.id, b.id, 'option', y.key, NULL, y.value
FROM run a JOIN run b ON a.id <> b.id, json_each(b.head, '$.workload.options') y
WHERE NOT EXISTS
       (SELECT 1 FROM json_each(a.head, '$.workload.options') x WHERE x.key = y.key)
UNION ALL
SELECT a.id, b.id, 'drive', x.key, x.value, b.head -> ('$.drive.' || x.key)
FROM run a JOIN run b ON a.id <> b.id, json_each(a.head, '$.drive') x
WHERE a.head -> ('$.drive.' || x.key) IS NOT b.head -> ('$.drive.' || x.key)
UNION ALL
SELECT a.id, b.id, 'run', 'workload', a.workload, b.workload
FROM run a JOIN run b ON a.id <> b.id WHERE a.workload IS NOT b.workload
UNION ALL
SELECT a.id, b.id, 'run', 'script', a.head ->> '$.script_sha256', b.head ->> '$.script_sha256'
FROM run a JOIN run b ON a.id <> b.id
WHERE a.head ->> '$.script_sha256' IS NOT b.head ->> '$.script_sha256'
UNION ALL
SELECT a.id, b.id, 'run', 'target', a.target_url, b.target_url
FROM run a JOIN run b ON a.id <> b.id WHERE a.target_url IS NOT b.target_url
UNION ALL
SELECT a.id, b.id, 'run', 'server', a.product || ' ' || a.server_version,
       b.product || ' ' || b.server_version
FROM run a JOIN run b ON a.id <> b.id
WHERE a.product IS NOT b.product OR a.server_version IS NOT b.server_version
UNION ALL
SELECT a.id, b.id, 'run', 'tool', a.tool, b.tool
FROM run a JOIN run b ON a.id <> b.id WHERE a.tool IS NOT b.tool;

CREATE VIEW which_session_was_idle AS
SELECT session.run_id, run.name AS run, session, worker, session.state, idle_in, idle_from_s,
       idle_to_s,
       idle_to_s - idle_from_s AS idle_s, connect_attempts
FROM session JOIN run ON run.id = session.run_id
WHERE idle_from_s IS NOT NULL;

CREATE VIEW which_errors_came AS
SELECT error.run_id, run.name AS run, code, kind, count, sample
FROM error JOIN run ON run.id = error.run_id;

CREATE VIEW what_did_the_trials_give AS
SELECT experiment.name AS experiment, trial.position, trial.label, trial.levels, trial.block,
       trial.repeat, trial.role, run.id AS run_id, run.name AS run, run.state, run.verdict,
       run.head ->> '$.phase.name' AS phase, run.events_per_s, run.queries_per_s, run.p95_ms,
       run.p99_ms, run.errors
FROM trial
JOIN experiment ON experiment.id = trial.experiment_id
LEFT JOIN run ON run.trial = trial.identity;

CREATE VIEW what_was_profiled AS
SELECT cpu_profile.run_id, run.name AS run, process, frequency_hz, samples, lost, cut
FROM cpu_profile JOIN run ON run.id = cpu_profile.run_id;

CREATE VIEW which_findings_spoke_against_it AS
SELECT finding.run_id, run.name AS run, check_name, outcome, causes, evidence, rule, advice
FROM finding JOIN run ON run.id = finding.run_id
WHERE outcome IN ('doubt', 'refuse') AND waived IS NULL;

CREATE VIEW how_durable_were_commits AS
SELECT finding.run_id, run.name AS run, durability ->> '$.class' AS class,
       durability ->> '$.because' AS because, evidence
FROM finding JOIN run ON run.id = finding.run_id
WHERE durability IS NOT NULL;

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
