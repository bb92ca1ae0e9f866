//! The database: what its observer measures, and its tables. Counters are in `counted`.

define! {
    one Gauge "count" from "the observer's connection" {
        DB_UP = "db.up": "1 if the database answers within a period, else 0";
    }
    one Gauge "ms" from "SELECT 1" {
        DB_ROUND_TRIP = "db.round_trip": "round trip of the observer";
    }
    one Gauge "s" from "Uptime, pg_postmaster_start_time()" {
        DB_UPTIME = "db.uptime": "time since the server's start";
    }
    one Gauge "count" from "the list of sessions, every 3rd to 5th sample or less often" {
        DB_OTHER_SESSIONS = "db.other_sessions": "sessions of other clients";
        DB_OTHER_SESSIONS_ACTIVE = "db.other_sessions_active":
            "sessions of other clients that execute a statement (PostgreSQL: or did within 0.1 s)";
    }
    one Gauge "count" from "SHOW REPLICA STATUS" {
        DB_REPLICATION_RUNNING = "db.replication.running":
            "MySQL, MariaDB: 1 while a replica receives and applies, else 0";
    }
    one Gauge "bytes" from "stat" {
        DB_FILE_SIZE = "db.file.size": "SQLite: size of the file";
        DB_WAL_SIZE = "db.wal.size": "SQLite: size of its WAL";
    }
    one Fact "" from "SQLite, at the end" {
        DB_FILE_CHANGED = "db.file.changed": "`yes` if the file changed, else `no`";
    }
    one Fact "" from "the server's table definitions, see [below](#tables)" {
        DB_TABLES = "db.tables": "number of tables (`1000 or more`)";
        DB_TABLES_READ = "db.tables.read": "number of tables that were read";
        DB_TABLES_ELSEWHERE_UNREAD = "db.tables.elsewhere.unread":
            "other schemas that were too large or slow to read";
    }
    one Fact "" from "the statements, at the end" {
        DB_TABLES_NAMED = "db.tables.named": "tables that were read and that statements name";
        DB_TABLES_UNSEEN = "db.tables.unseen":
            "tables that statements name and that could not be read: temporary, created by the \
             run, views of other schemas";
    }
    one Fact "" from "the tables' columns and indexes, at the end" {
        DB_TABLES_COMPARED = "db.tables.compared":
            "tables whose columns and indexes were compared with those before the load";
    }
    each Gauge "count" from "the process list; PostgreSQL: pg_stat_activity" {
        DB_SESSIONS_EACH = "db.sessions[" "]":
            "busy sessions by state, without the observer's. MySQL and MariaDB: the process \
             list's state, such as `opening_tables` or `no_state` (40 states, the rest as \
             `other`). PostgreSQL: the wait type (`no_wait`, `lock`, `lwlock`, `buffer`, `io`, \
             `client`, `ipc`, `other`)";
    }
    each Counter "by name" from "SHOW GLOBAL STATUS" {
        DB_STATUS_EACH = "db.status." "":
            "numeric variables in lower case, without means and ratios since the start or `FLUSH \
             STATUS`, `Acl_…`, TLS settings, features, page sizes and positions";
        DB_ROCKSDB_EACH = "db.rocksdb." "": "the variables `Rocksdb_…`";
    }
    each Counter "by name" from "information_schema.INNODB_METRICS" {
        DB_INNODB_EACH = "db.innodb." "": "enabled counters";
    }
    each Fact "" from "the server's table definitions, see [below](#tables)" {
        DB_TABLE_EACH = "db.table[" "": "tables with the same definition";
        DB_TABLES_USES_EACH = "db.tables.uses[" "]":
            "tables behind a view, rule or trigger, and UNLOGGED partitions";
        DB_TABLES_ELSEWHERE_EACH = "db.tables.elsewhere[" "]":
            "at most 300 tables of other schemas that are UNLOGGED, foreign or not InnoDB, by kind";
    }
    each Fact "" from "the statements, at the end" {
        DB_TABLES_USED_ELSEWHERE_EACH = "db.tables.used_elsewhere[" "]":
            "tables of other schemas, of these kinds, that statements name";
    }
    each Fact "" from "the tables' columns and indexes, at the end" {
        DB_TABLES_CHANGED_EACH = "db.tables.changed[" "]":
            "columns and indexes that were added, dropped or changed";
    }
}
