-- The tables of ProxySQL's admin interface that `dyno top` reads, with their documented columns
-- and made-up figures.

CREATE TABLE global_variables (variable_name VARCHAR PRIMARY KEY, variable_value VARCHAR);
INSERT INTO global_variables VALUES ('admin-version', '2.7.3-stand-in');

CREATE TABLE stats_mysql_global (Variable_Name VARCHAR PRIMARY KEY, Variable_Value VARCHAR);
INSERT INTO stats_mysql_global VALUES
    ('ProxySQL_Uptime', 86400), ('Active_Transactions', 3),
    ('Client_Connections_aborted', 4), ('Client_Connections_connected', 64),
    ('Client_Connections_created', 70), ('Client_Connections_non_idle', 17),
    ('Server_Connections_aborted', 0), ('Server_Connections_connected', 20),
    ('Server_Connections_created', 21), ('Questions', 1000000), ('Slow_queries', 12),
    ('Queries_backends_bytes_recv', 900000000), ('Queries_backends_bytes_sent', 40000000),
    ('Query_Cache_Memory_bytes', 1048576), ('Query_Cache_count_GET', 100),
    ('Query_Cache_count_GET_OK', 40), ('Stmt_Cached', 11), ('SQLite3_memory_bytes', 3145728);

CREATE TABLE stats_mysql_connection_pool (
    hostgroup INT, srv_host VARCHAR, srv_port INT, status VARCHAR, ConnUsed INT, ConnFree INT,
    ConnOK INT, ConnERR INT, MaxConnUsed INT, Queries INT, Queries_GTID_sync INT,
    Bytes_data_sent INT, Bytes_data_recv INT, Latency_us INT);
INSERT INTO stats_mysql_connection_pool VALUES
    (10, '10.0.0.11', 3306, 'ONLINE', 9, 7, 16, 0, 16, 400000, 0, 20000000, 300000000, 310),
    (20, '10.0.0.12', 3306, 'ONLINE', 8, 12, 20, 1, 20, 600000, 0, 20000000, 600000000, 288),
    (20, '10.0.0.13', 3306, 'SHUNNED', 0, 0, 5, 9, 5, 0, 0, 0, 0, 0);

CREATE TABLE mysql_query_rules (
    rule_id INTEGER PRIMARY KEY, active INT, username VARCHAR, schemaname VARCHAR, flagIN INT,
    match_digest VARCHAR, match_pattern VARCHAR, destination_hostgroup INT, cache_ttl INT,
    multiplex INT, apply INT, comment VARCHAR);
INSERT INTO mysql_query_rules VALUES
    (1, 1, NULL, NULL, 0, '^SELECT .* FOR UPDATE', NULL, 10, NULL, NULL, 1, NULL),
    (2, 1, NULL, NULL, 0, '^SELECT', NULL, 20, NULL, NULL, 1, NULL),
    (3, 1, 'report', 'shop', 0, NULL, 'WHERE card = ''4111-1111''', 20, 5000, NULL, 1, NULL);
CREATE TABLE stats_mysql_query_rules (rule_id INTEGER PRIMARY KEY, hits INT NOT NULL);
INSERT INTO stats_mysql_query_rules VALUES (1, 90000), (2, 610000), (3, 12);

CREATE TABLE stats_mysql_processlist (
    ThreadID INT, SessionID INTEGER PRIMARY KEY, user VARCHAR, db VARCHAR, cli_host VARCHAR,
    cli_port INT, hostgroup INT, l_srv_host VARCHAR, l_srv_port INT, srv_host VARCHAR,
    srv_port INT, command VARCHAR, time_ms INT NOT NULL, info VARCHAR, status_flags INT,
    extended_info VARCHAR);
INSERT INTO stats_mysql_processlist VALUES
    (1, 41, 'shop', 'shop', '10.0.1.5', 50111, 20, '10.0.0.1', 40001, '10.0.0.12', 3306, 'Query',
     812, 'SELECT name FROM customer WHERE card = ''4111-1111'' AND id = 17', 0, NULL),
    (2, 42, 'shop', 'shop', '10.0.1.6', 50112, 10, '10.0.0.1', 40002, '10.0.0.11', 3306, 'Query',
     3, 'UPDATE stock SET quantity = quantity - 1 WHERE item = 4', 0, NULL),
    (3, 43, 'report', 'shop', '10.0.1.7', 50113, 20, NULL, NULL, NULL, NULL, 'Sleep', 90211, NULL,
     0, NULL);

CREATE TABLE stats_mysql_commands_counters (
    Command VARCHAR NOT NULL PRIMARY KEY, Total_Time_us INT NOT NULL, Total_cnt INT NOT NULL,
    cnt_100us INT NOT NULL, cnt_500us INT NOT NULL, cnt_1ms INT NOT NULL, cnt_5ms INT NOT NULL,
    cnt_10ms INT NOT NULL, cnt_50ms INT NOT NULL, cnt_100ms INT NOT NULL, cnt_500ms INT NOT NULL,
    cnt_1s INT NOT NULL, cnt_5s INT NOT NULL, cnt_10s INT NOT NULL, cnt_INFs INT NOT NULL);
INSERT INTO stats_mysql_commands_counters VALUES
    ('SELECT', 350000000, 700000, 1000, 690000, 5000, 3000, 500, 400, 60, 30, 10, 0, 0, 0),
    ('UPDATE', 100000000, 100000, 0, 40000, 50000, 9000, 600, 300, 70, 20, 9, 1, 0, 0),
    ('COMMIT', 90000000, 60000, 0, 1000, 40000, 18000, 800, 150, 40, 9, 1, 0, 0, 0);
