-- Version 6: errors have a kind, which is not known of runs from before.

ALTER TABLE error ADD COLUMN kind TEXT;

DROP VIEW which_errors_came;

CREATE VIEW which_errors_came AS
SELECT error.run_id, run.name AS run, code, kind, count, sample
FROM error JOIN run ON run.id = error.run_id;
