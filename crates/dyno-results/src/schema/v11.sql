-- Version 11: values of a finding: its causes, as a JSON array of names, and the possible cost of a
-- crash, as `{"class": …, "because": […]}`.

ALTER TABLE finding ADD COLUMN causes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE finding ADD COLUMN durability TEXT;

DROP VIEW which_findings_spoke_against_it;
CREATE VIEW which_findings_spoke_against_it AS
SELECT finding.run_id, run.name AS run, check_name, outcome, causes, evidence, rule, advice
FROM finding JOIN run ON run.id = finding.run_id
WHERE outcome IN ('doubt', 'refuse') AND waived IS NULL;

CREATE VIEW how_durable_were_commits AS
SELECT finding.run_id, run.name AS run, durability ->> '$.class' AS class,
       durability ->> '$.because' AS because, evidence
FROM finding JOIN run ON run.id = finding.run_id
WHERE durability IS NOT NULL;
