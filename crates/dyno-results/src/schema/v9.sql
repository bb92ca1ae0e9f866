-- Version 9: experiments, their planned trials, attempts at them, and the trial of each run.

ALTER TABLE run ADD COLUMN trial TEXT;
CREATE INDEX run_of_trial ON run (trial);

CREATE TABLE experiment (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT NOT NULL UNIQUE,
    file            TEXT NOT NULL,
    scale           TEXT,
    question        TEXT NOT NULL,
    cite            TEXT NOT NULL,
    definition      TEXT NOT NULL,
    planned_unix_s  REAL NOT NULL
);

CREATE TABLE trial (
    experiment_id   INTEGER NOT NULL REFERENCES experiment (id),
    position        INTEGER NOT NULL,
    identity        TEXT NOT NULL,
    label           TEXT NOT NULL,
    levels          TEXT NOT NULL,
    block           INTEGER NOT NULL,
    repeat          INTEGER NOT NULL,
    role            TEXT NOT NULL,
    made_of         TEXT NOT NULL,
    PRIMARY KEY (experiment_id, position)
) WITHOUT ROWID;
CREATE INDEX trial_by_identity ON trial (identity);

CREATE TABLE attempt (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment_id       INTEGER NOT NULL REFERENCES experiment (id),
    trial               TEXT NOT NULL,
    begun_unix_s        REAL NOT NULL,
    ended_unix_s        REAL,
    state               TEXT NOT NULL,
    why                 TEXT NOT NULL,
    done_before         TEXT NOT NULL,
    pid                 INTEGER,
    boot_id             TEXT,
    process_start_ticks INTEGER,
    pid_namespace       TEXT
);
CREATE INDEX attempt_by_trial ON attempt (trial);

CREATE VIEW what_did_the_trials_give AS
SELECT experiment.name AS experiment, trial.position, trial.label, trial.levels, trial.block,
       trial.repeat, trial.role, run.id AS run_id, run.name AS run, run.state, run.verdict,
       run.head ->> '$.phase.name' AS phase, run.events_per_s, run.queries_per_s, run.p95_ms,
       run.p99_ms, run.errors
FROM trial
JOIN experiment ON experiment.id = trial.experiment_id
LEFT JOIN run ON run.trial = trial.identity;
