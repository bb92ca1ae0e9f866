//! Prefixes of names, for gaps in observations and for groups that code treats alike, and the
//! names of families that code uses.

bare! {
    Scope {
        CLIENT_COST = "client.cost";
        CLIENT_SESSIONS = "client.sessions";
        CLIENT_WORKER = "client.worker";
        DATA_ARIA_LOG = "data.aria_log";
        DATA_DATABASE = "data.database";
        DATA_DOUBLEWRITE = "data.doublewrite";
        DATA_FILESYSTEM = "data.filesystem";
        DATA_GLOBAL = "data.global";
        DATA_ROCKSDB = "data.rocksdb";
        DATA_ROCKSDB_WAL = "data.rocksdb_wal";
        DATA_TABLESPACES = "data.tablespaces";
        DATA_TRANSACTIONS = "data.transactions";
        DB_BGWRITER = "db.bgwriter";
        DB_BINLOG = "db.binlog";
        DB_CHECKPOINTER = "db.checkpointer";
        DB_DATABASE = "db.database";
        DB_ENDPOINTS = "db.endpoints";
        DB_INNODB = "db.innodb";
        DB_IO = "db.io";
        DB_LOCKS = "db.locks";
        DB_OLDEST_XMIN = "db.oldest_xmin";
        DB_PAGE_CACHE = "db.page_cache";
        DB_PAGE_CACHE_HITS = "db.page_cache.hits";
        DB_PAGE_CACHE_MISSES = "db.page_cache.misses";
        DB_PRIVILEGES = "db.privileges";
        DB_REPLICATION = "db.replication";
        DB_SESSIONS = "db.sessions";
        DB_SESSIONS_LOCK = "db.sessions[lock]";
        DB_SESSIONS_OPENING_TABLES = "db.sessions[opening_tables]";
        DB_SESSIONS_OTHER = "db.sessions[other]";
        DB_SESSIONS_THREADS = "db.sessions.threads";
        DB_STATISTICS = "db.statistics";
        DB_STATUS = "db.status";
        DB_TABLE = "db.table";
        DB_TABLE_TRIGGERS = "db.table.triggers";
        DB_TABLES_ELSEWHERE = "db.tables.elsewhere";
        DB_TABLES_END = "db.tables.end";
        DB_TABLES_USES = "db.tables.uses";
        DB_WAL = "db.wal";
        HOST_CGROUP = "host.cgroup";
        HOST_CLOCK = "host.clock";
        HOST_CPU = "host.cpu";
        HOST_CPU_FREQUENCY = "host.cpu_frequency";
        HOST_DISK = "host.disk";
        HOST_DISK_ALL_READ_BYTES = "host.disk[all].read_bytes";
        HOST_DISK_ALL_READS = "host.disk[all].reads";
        HOST_DISK_ALL_WRITE_BYTES = "host.disk[all].write_bytes";
        HOST_DISK_ALL_WRITES = "host.disk[all].writes";
        HOST_KERNEL_LOG = "host.kernel_log";
        HOST_MEMORY = "host.memory";
        HOST_NETWORK = "host.network";
        HOST_OTHERS = "host.others";
        HOST_PAGE_FAULTS = "host.page_faults";
        HOST_PRESSURE = "host.pressure";
        HOST_SWAP = "host.swap";
        HOST_TCP = "host.tcp";
        PROFILE_CLIENT = "profile.client";
        PROFILE_SERVER = "profile.server";
        SERVER_CGROUP = "server.cgroup";
        SERVER_COMMITS = "server.commits";
        SERVER_CPU = "server.cpu";
        SERVER_HOST_CPU_IDLE = "server.host.cpu.idle";
        SERVER_HOST_CPU_USER = "server.host.cpu.user";
        SERVER_IO = "server.io";
        SERVER_MEMORY = "server.memory";
        SERVER_OTHER_SESSIONS_ALIKE = "server.other_sessions.alike";
        SERVER_SESSIONS = "server.sessions";
        SERVER_STATEMENTS = "server.statements";
        SERVER_THREADS_CONNECTED = "server.threads_connected";
        SERVER_UPTIME_S = "server.uptime_s";
    }
}
