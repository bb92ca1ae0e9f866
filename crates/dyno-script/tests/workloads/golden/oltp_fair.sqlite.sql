-- create
CREATE TABLE fair1 (id INTEGER NOT NULL PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
-- delete
DELETE FROM fair1 WHERE id = ?;
-- distinct
SELECT DISTINCT c FROM fair1 WHERE id BETWEEN ? AND ? ORDER BY c;
-- found
SELECT COUNT(*), COALESCE(SUM(CASE WHEN id < 1 OR id > 10000 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN k < 1 OR (id % 2 = 0 AND k > 10000) THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN LENGTH(c) <> 119 OR LENGTH(pad) <> 59 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN id % 2 = 1 THEN k ELSE 0 END), 0) FROM fair1;
-- index
CREATE INDEX fair1_k ON fair1 (k);
-- indexed
SELECT COUNT(*) FROM sqlite_master WHERE name = 'fair1_k';
-- insert
INSERT INTO fair1 (id, k, c, pad) VALUES (?, ?, ?, ?);
-- isolation
PRAGMA read_uncommitted = 0;
-- order
SELECT c FROM fair1 WHERE id BETWEEN ? AND ? ORDER BY c;
-- point
SELECT c FROM fair1 WHERE id = ?;
-- range
SELECT c FROM fair1 WHERE id BETWEEN ? AND ?;
-- settle
ANALYZE fair1;
-- sum
SELECT SUM(k) FROM fair1 WHERE id BETWEEN ? AND ?;
-- tables
SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'fair[0-9]*' AND SUBSTR(name, 5) NOT GLOB '*[^0-9]*';
-- update_c
UPDATE fair1 SET c = ? WHERE id = ?;
-- update_k
UPDATE fair1 SET k = k + 1 WHERE id = ?;
