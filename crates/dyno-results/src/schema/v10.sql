-- Version 10: CPU profiles of server and client. Stacks are sampled and folded, one per line with
-- its count, and stored as deflated text (zlib).

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

CREATE VIEW what_was_profiled AS
SELECT cpu_profile.run_id, run.name AS run, process, frequency_hz, samples, lost, cut
FROM cpu_profile JOIN run ON run.id = cpu_profile.run_id;
