-- all_indexes
SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND name GLOB 'many_[0-9]*';
-- all_schemas
SELECT 0;
-- all_tables
SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name GLOB 'many_[0-9]*';
-- alter_table
ALTER TABLE many_1.t1 ALTER COLUMN k SET DEFAULT 2;
-- count_tables
SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name GLOB 'many_1_t*';
-- create_index
CREATE INDEX k_1 ON many_1.t1 (k);
-- create_table
CREATE TABLE many_1.t1 (id INTEGER PRIMARY KEY, k INT NOT NULL DEFAULT 0, c VARCHAR(120) NOT NULL DEFAULT '', pad VARCHAR(60) NOT NULL DEFAULT '');
-- drop_table
DROP TABLE many_1.t1;
-- insert
INSERT INTO many_1.t1 (k, c, pad) VALUES (2, 'c', 'pad');
-- insert_with_id
INSERT INTO many_1.t1 (id, k, c, pad) VALUES (1, 2, 'c', 'pad');
-- select
SELECT id, k, c, pad FROM many_1.t1 WHERE id = 1;
