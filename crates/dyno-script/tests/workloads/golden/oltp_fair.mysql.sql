-- create
CREATE TABLE fair1 (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, pad CHAR(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL);
-- delete
DELETE FROM fair1 WHERE id = ?;
-- distinct
SELECT DISTINCT c FROM fair1 WHERE id BETWEEN ? AND ? ORDER BY c;
-- found
SELECT COUNT(*), COALESCE(SUM(CASE WHEN id < 1 OR id > 10000 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN k < 1 OR (id % 2 = 0 AND k > 10000) THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN LENGTH(c) <> 119 OR LENGTH(pad) <> 59 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN id % 2 = 1 THEN k ELSE 0 END), 0) FROM fair1;
-- index
CREATE INDEX fair1_k ON fair1 (k);
-- indexed
SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'fair1_k';
-- insert
INSERT INTO fair1 (id, k, c, pad) VALUES (?, ?, ?, ?);
-- isolation
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- order
SELECT c FROM fair1 WHERE id BETWEEN ? AND ? ORDER BY c;
-- point
SELECT c FROM fair1 WHERE id = ?;
-- range
SELECT c FROM fair1 WHERE id BETWEEN ? AND ?;
-- settle
ANALYZE TABLE fair1;
-- sum
SELECT SUM(k) FROM fair1 WHERE id BETWEEN ? AND ?;
-- tables
SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name REGEXP '^fair[0-9]+$';
-- update_c
UPDATE fair1 SET c = ? WHERE id = ?;
-- update_k
UPDATE fair1 SET k = k + 1 WHERE id = ?;
