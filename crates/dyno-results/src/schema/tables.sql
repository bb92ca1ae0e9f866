CREATE TABLE schema_history (
    version        INTEGER PRIMARY KEY,
    applied_unix_s REAL NOT NULL,
    tool           TEXT NOT NULL
);

-- Every column is explained in docs/results.md. NULL is unknown.
CREATE TABLE run (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    name                TEXT NOT NULL UNIQUE,
    state               TEXT NOT NULL,
    verdict             TEXT,
    source              TEXT NOT NULL,
    profile             TEXT NOT NULL,
    tool                TEXT NOT NULL,
    created_unix_s      REAL NOT NULL,
    started_unix_s      REAL,
    finished_unix_s     REAL,
    workload            TEXT NOT NULL,
    command             TEXT NOT NULL,
    target_url          TEXT NOT NULL,
    product             TEXT NOT NULL,
    server_version      TEXT NOT NULL,
    sessions            INTEGER,
    offered_per_s       REAL,
    note                TEXT NOT NULL,
    events              INTEGER,
    events_per_s        REAL,
    queries_per_s       REAL,
    p95_ms              REAL,
    p99_ms              REAL,
    errors              INTEGER,
    head                TEXT NOT NULL,
    summary             TEXT,
    pid                 INTEGER,
    boot_id             TEXT,
    process_start_ticks INTEGER,
    pid_namespace       TEXT,
    trial               TEXT
);

CREATE TABLE operation (
    run_id INTEGER NOT NULL REFERENCES run (id),
    number INTEGER NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

-- With row ids: a histogram would not fit next to others in an index page.
CREATE TABLE span (
    run_id           INTEGER NOT NULL REFERENCES run (id),
    number           INTEGER NOT NULL,
    operation        INTEGER NOT NULL,
    from_s           REAL NOT NULL,
    to_s             REAL NOT NULL,
    count            INTEGER NOT NULL,
    sum_ns           INTEGER NOT NULL,
    min_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    p50_ns           INTEGER,
    p95_ns           INTEGER,
    p99_ns           INTEGER,
    p999_ns          INTEGER,
    response_p50_ns  INTEGER,
    response_p95_ns  INTEGER,
    response_p99_ns  INTEGER,
    response_p999_ns INTEGER,
    service          BLOB,
    response         BLOB,
    sum_ms           REAL GENERATED ALWAYS AS (sum_ns / 1e6) VIRTUAL,
    min_ms           REAL GENERATED ALWAYS AS (min_ns / 1e6) VIRTUAL,
    max_ms           REAL GENERATED ALWAYS AS (max_ns / 1e6) VIRTUAL,
    p50_ms           REAL GENERATED ALWAYS AS (p50_ns / 1e6) VIRTUAL,
    p95_ms           REAL GENERATED ALWAYS AS (p95_ns / 1e6) VIRTUAL,
    p99_ms           REAL GENERATED ALWAYS AS (p99_ns / 1e6) VIRTUAL,
    p999_ms          REAL GENERATED ALWAYS AS (p999_ns / 1e6) VIRTUAL,
    response_p50_ms  REAL GENERATED ALWAYS AS (response_p50_ns / 1e6) VIRTUAL,
    response_p95_ms  REAL GENERATED ALWAYS AS (response_p95_ns / 1e6) VIRTUAL,
    response_p99_ms  REAL GENERATED ALWAYS AS (response_p99_ns / 1e6) VIRTUAL,
    response_p999_ms REAL GENERATED ALWAYS AS (response_p999_ns / 1e6) VIRTUAL,
    UNIQUE (run_id, number)
);

CREATE TABLE total (
    run_id           INTEGER NOT NULL REFERENCES run (id),
    operation        INTEGER NOT NULL,
    from_s           REAL NOT NULL,
    to_s             REAL NOT NULL,
    count            INTEGER NOT NULL,
    sum_ns           INTEGER NOT NULL,
    min_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    p50_ns           INTEGER,
    p95_ns           INTEGER,
    p99_ns           INTEGER,
    p999_ns          INTEGER,
    response_p50_ns  INTEGER,
    response_p95_ns  INTEGER,
    response_p99_ns  INTEGER,
    response_p999_ns INTEGER,
    service          BLOB,
    response         BLOB,
    sum_ms           REAL GENERATED ALWAYS AS (sum_ns / 1e6) VIRTUAL,
    min_ms           REAL GENERATED ALWAYS AS (min_ns / 1e6) VIRTUAL,
    max_ms           REAL GENERATED ALWAYS AS (max_ns / 1e6) VIRTUAL,
    p50_ms           REAL GENERATED ALWAYS AS (p50_ns / 1e6) VIRTUAL,
    p95_ms           REAL GENERATED ALWAYS AS (p95_ns / 1e6) VIRTUAL,
    p99_ms           REAL GENERATED ALWAYS AS (p99_ns / 1e6) VIRTUAL,
    p999_ms          REAL GENERATED ALWAYS AS (p999_ns / 1e6) VIRTUAL,
    response_p50_ms  REAL GENERATED ALWAYS AS (response_p50_ns / 1e6) VIRTUAL,
    response_p95_ms  REAL GENERATED ALWAYS AS (response_p95_ns / 1e6) VIRTUAL,
    response_p99_ms  REAL GENERATED ALWAYS AS (response_p99_ns / 1e6) VIRTUAL,
    response_p999_ms REAL GENERATED ALWAYS AS (response_p999_ns / 1e6) VIRTUAL,
    PRIMARY KEY (run_id, operation)
);

CREATE TABLE series (
    run_id INTEGER NOT NULL REFERENCES run (id),
    number INTEGER NOT NULL,
    name   TEXT NOT NULL,
    unit   TEXT NOT NULL,
    source TEXT NOT NULL,
    kind   TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

-- In order of time, so that a run is appended at one end and read in one scan. In a table without
-- row ids, SQLite stores a whole number compactly only if the column is not of type REAL.
CREATE TABLE sample (
    run_id INTEGER NOT NULL REFERENCES run (id),
    at_s   NUMERIC NOT NULL,
    series INTEGER NOT NULL,
    value  NUMERIC NOT NULL,
    PRIMARY KEY (run_id, at_s, series)
) WITHOUT ROWID;

CREATE TABLE fact (
    run_id INTEGER NOT NULL REFERENCES run (id),
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;

CREATE TABLE setting (
    run_id   INTEGER NOT NULL REFERENCES run (id),
    name     TEXT NOT NULL,
    at_start TEXT,
    at_end   TEXT,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;

-- `detail` has the values of the text: `{"setting": {"name": …, "from": …, "to": …}}`,
-- `{"kernel_log": …}`, and `"on_server_host": true` for events on the server's host.
CREATE TABLE event (
    run_id  INTEGER NOT NULL REFERENCES run (id),
    number  INTEGER NOT NULL,
    at_s    REAL NOT NULL,
    until_s REAL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL,
    detail  TEXT,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

CREATE TABLE not_observed (
    run_id INTEGER NOT NULL REFERENCES run (id),
    what   TEXT NOT NULL,
    why    TEXT NOT NULL,
    PRIMARY KEY (run_id, what)
) WITHOUT ROWID;

CREATE TABLE error (
    run_id INTEGER NOT NULL REFERENCES run (id),
    code   TEXT NOT NULL,
    count  INTEGER NOT NULL,
    sample TEXT NOT NULL,
    kind   TEXT,
    PRIMARY KEY (run_id, code)
) WITHOUT ROWID;

CREATE TABLE session (
    run_id           INTEGER NOT NULL REFERENCES run (id),
    session          INTEGER NOT NULL,
    worker           INTEGER NOT NULL,
    events           INTEGER NOT NULL,
    busy_s           REAL NOT NULL,
    state            TEXT,
    idle_from_s      REAL,
    idle_to_s        REAL,
    idle_in          TEXT,
    connect_attempts INTEGER,
    PRIMARY KEY (run_id, session)
) WITHOUT ROWID;

-- `causes` is a JSON array of names, `durability` is `{"class": …, "because": […]}`, and `stalls`
-- a JSON array.
CREATE TABLE finding (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    number     INTEGER NOT NULL,
    check_name TEXT NOT NULL,
    check_no   INTEGER NOT NULL,
    outcome    TEXT NOT NULL,
    evidence   TEXT NOT NULL,
    rule       TEXT NOT NULL,
    numbers    TEXT NOT NULL,
    advice     TEXT NOT NULL,
    waived     TEXT,
    causes     TEXT NOT NULL DEFAULT '[]',
    durability TEXT,
    stalls     TEXT,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

CREATE TABLE waiver (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    check_name TEXT NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (run_id, check_name)
) WITHOUT ROWID;

CREATE INDEX run_of_trial ON run (trial);

CREATE TABLE experiment (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    name           TEXT NOT NULL UNIQUE,
    file           TEXT NOT NULL,
    scale          TEXT,
    question       TEXT NOT NULL,
    cite           TEXT NOT NULL,
    definition     TEXT NOT NULL,
    planned_unix_s REAL NOT NULL
);

CREATE TABLE trial (
    experiment_id INTEGER NOT NULL REFERENCES experiment (id),
    position      INTEGER NOT NULL,
    identity      TEXT NOT NULL,
    label         TEXT NOT NULL,
    levels        TEXT NOT NULL,
    block         INTEGER NOT NULL,
    repeat        INTEGER NOT NULL,
    role          TEXT NOT NULL,
    made_of       TEXT NOT NULL,
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

-- Stacks are sampled and folded, one per line with its count, and stored as deflated text (zlib).
CREATE TABLE cpu_profile (
    run_id       INTEGER NOT NULL REFERENCES run (id),
    process      TEXT NOT NULL,
    frequency_hz INTEGER NOT NULL,
    samples      INTEGER NOT NULL,
    lost         INTEGER NOT NULL,
    cut          TEXT,
    stacks       BLOB NOT NULL,
    PRIMARY KEY (run_id, process)
);

-- The rates as another tool printed them are NULL if events were counted.
CREATE TABLE interval (
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
