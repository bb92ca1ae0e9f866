-- add_node
INSERT INTO nodetable (type, version, time, data) VALUES (?, 1, ?, ?);
-- count_less
INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, 0, ?, 0) ON DUPLICATE KEY UPDATE count = IF(count = 0, 0, count - 1), version = version + 1, time = ?;
-- count_link
SELECT count FROM counttable WHERE id = ? AND link_type = ?;
-- count_more
INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, 1, ?, 0) ON DUPLICATE KEY UPDATE count = count + 1, version = version + 1, time = ?;
-- delete_node
DELETE FROM nodetable WHERE id = ? AND type = ?;
-- get_links_list
SELECT id1, id2, link_type, visibility, data, time, version FROM linktable FORCE INDEX (id1_type) WHERE id1 = ? AND link_type = ? AND time >= 0 AND time <= ? AND visibility = 1 ORDER BY time DESC LIMIT 10000;
-- get_more_links
SELECT id1, id2, link_type, visibility, data, time, version FROM linktable FORCE INDEX (id1_type) WHERE id1 = ? AND link_type = ? AND time >= 0 AND time <= ? AND visibility = 1 ORDER BY time DESC LIMIT 10000 OFFSET 1;
-- get_node
SELECT id, type, version, time, data FROM nodetable WHERE id = ?;
-- hide_link
UPDATE linktable SET visibility = 0 WHERE id1 = ? AND id2 = ? AND link_type = ?;
-- insert_link
INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) VALUES (?, ?, ?, 1, ?, ?, 0) ON DUPLICATE KEY UPDATE visibility = 1;
-- lock_link
SELECT visibility FROM linktable WHERE id1 = ? AND id2 = ? AND link_type = ? FOR UPDATE;
-- multiget_link
SELECT id1, id2, link_type, visibility, data, time, version FROM linktable WHERE id1 = ? AND link_type = ? AND id2 IN (?, ?);
-- update_link
UPDATE linktable SET visibility = 1, data = ?, time = ?, version = 0 WHERE id1 = ? AND id2 = ? AND link_type = ?;
-- update_node
UPDATE nodetable SET version = 2, time = ?, data = ? WHERE id = ? AND type = ?;
