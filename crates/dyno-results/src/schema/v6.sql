-- Version 6: errors have a kind; unknown in older runs.

ALTER TABLE error ADD COLUMN kind TEXT;

DROP VIEW which_errors_came;

CREATE VIEW which_errors_came AS
SELECT error.run_id, run.name AS run, code, kind, count, sample
FROM error JOIN run ON run.id = error.run_id;
