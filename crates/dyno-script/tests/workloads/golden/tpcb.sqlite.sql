-- insert_history
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?, ?, ?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'));
-- select_account
SELECT abalance FROM pgbench_accounts WHERE aid = ?;
-- update_account
UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?;
-- update_branch
UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?;
-- update_teller
UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?;
