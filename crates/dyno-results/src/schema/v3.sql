
-- Version 3: session activity, and failed attempts to connect. NULL if unknown.

ALTER TABLE interval ADD COLUMN working INTEGER;
ALTER TABLE interval ADD COLUMN waiting INTEGER;
ALTER TABLE interval ADD COLUMN connecting INTEGER;
ALTER TABLE interval ADD COLUMN lost INTEGER;
ALTER TABLE interval ADD COLUMN finished INTEGER;
ALTER TABLE interval ADD COLUMN connects_failed INTEGER NOT NULL DEFAULT 0;

ALTER TABLE session ADD COLUMN state TEXT;
ALTER TABLE session ADD COLUMN idle_from_s REAL;
ALTER TABLE session ADD COLUMN idle_to_s REAL;
ALTER TABLE session ADD COLUMN idle_in TEXT;
ALTER TABLE session ADD COLUMN connect_attempts INTEGER;

CREATE VIEW what_did_the_sessions_do AS
SELECT interval.run_id, run.name AS run, at_s, working, waiting, connecting, lost, finished,
       connects_failed
FROM interval JOIN run ON run.id = interval.run_id
WHERE working IS NOT NULL;

CREATE VIEW which_session_was_idle AS
SELECT session.run_id, run.name AS run, session, worker, session.state, idle_in, idle_from_s, idle_to_s,
       idle_to_s - idle_from_s AS idle_s, connect_attempts
FROM session JOIN run ON run.id = session.run_id
WHERE idle_from_s IS NOT NULL;
