//! The server: its process, its files, and the facts that it reports about itself.

define! {
    one Rate "cores" from "/proc/PID/stat" {
        SERVER_CPU_USER = "server.cpu.user": "CPU time in the server's code";
        SERVER_CPU_SYSTEM = "server.cpu.system": "CPU time in the kernel";
    }
    one Gauge "bytes" from "/proc/PID/statm" {
        SERVER_MEMORY_RSS = "server.memory.rss":
            "resident memory; of several processes, all unshared parts plus the largest shared one";
        SERVER_MEMORY_PRIVATE = "server.memory.private":
            "memory without file-backed and shared pages";
        SERVER_MEMORY_SESSION_MEAN = "server.memory.session_mean":
            "PostgreSQL: mean unshared memory of client sessions";
        SERVER_MEMORY_SESSION_MAX = "server.memory.session_max":
            "PostgreSQL: largest unshared memory of a client session";
    }
    one Gauge "count" from "/proc/PID" {
        SERVER_THREADS = "server.threads": "threads";
        SERVER_PROCESSES = "server.processes": "processes";
        SERVER_DESCRIPTORS = "server.descriptors": "open descriptors";
        SERVER_STOPPED = "server.stopped": "processes stopped by a signal or a debugger";
    }
    one Rate "bytes/s" from "/proc/PID/io" {
        SERVER_IO_READ_BYTES = "server.io.read_bytes": "bytes read from disks";
        SERVER_IO_WRITE_BYTES = "server.io.write_bytes":
            "bytes written to disks; kernels with large folios may overcount";
    }
    one Rate "count/s" from "/proc/PID/task of up to 1,024 threads, every 5th sample" {
        SERVER_CONTEXT_SWITCHES_VOLUNTARY = "server.context_switches.voluntary":
            "context switches because a thread waited";
        SERVER_CONTEXT_SWITCHES_INVOLUNTARY = "server.context_switches.involuntary":
            "context switches because another thread was due";
    }
    one Gauge "percent" from "cpu.stat" {
        SERVER_CGROUP_CPU_THROTTLED = "server.cgroup.cpu_throttled":
            "throttled periods of the server's control group, or of the nearest one with a quota";
    }
    one Gauge "bytes" from "control group" {
        SERVER_CGROUP_MEMORY_CURRENT = "server.cgroup.memory_current":
            "memory of the server's control group";
        SERVER_CGROUP_MEMORY_LIMIT = "server.cgroup.memory_limit":
            "memory limit of the server's control group";
    }
    one Rate "count/s" from "/proc/PID/net, in another network namespace" {
        SERVER_TCP_RETRANSMITS = "server.tcp.retransmits": "TCP segments retransmitted";
        SERVER_TCP_OUT_SEGMENTS = "server.tcp.out_segments": "TCP segments sent";
    }
    one Gauge "bytes" from "up to 20,000 files of the data directory, at most 1 % of the time" {
        DATA_DATA = "data.data": "allocated for tables and indexes";
        DATA_SYSTEM = "data.system":
            "allocated for InnoDB's system tablespace, which may contain undo logs";
        DATA_REDO = "data.redo": "allocated for the redo log or WAL";
        DATA_BINLOG = "data.binlog": "allocated for the binary log";
        DATA_UNDO = "data.undo": "allocated for undo logs";
        DATA_TEMP = "data.temp": "allocated for temporary tables and files";
        DATA_OTHER = "data.other": "allocated for other files";
        DATA_TOTAL = "data.total": "allocated for all files";
    }
    one Fact "" from "the observer's connection, /proc" {
        SERVER_SAME_HOST = "server.same_host":
            "whether the server runs on this host: `yes`, `no` or `unknown`";
        SERVER_PID = "server.pid": "process ID";
        SERVER_PRESUMED = "server.presumed":
            "if the server's process is unknown: the only process with its name and age";
        SERVER_PROXY = "server.proxy":
            "if the server's process is unknown: the other end of the observer's connection";
    }
    one Fact "" from "--server-agent" {
        SERVER_OBSERVER = "server.observer": "the observer on the server's host, such as `ssh:db1`";
    }
    one Fact "" from "/proc/PID" {
        SERVER_EXECUTABLE = "server.executable": "path of the program";
        SERVER_BUILD_ID = "server.build_id": "the linker's build ID";
        SERVER_ALLOCATOR = "server.allocator":
            "`jemalloc`, `tcmalloc`, `mimalloc`, `glibc`, `musl` and similar, by loaded libraries";
        SERVER_IGNORES_SYNCS = "server.ignores_syncs":
            "a loaded library such as libeatmydata; for SQLite in Dyno's process";
        SERVER_LIMITS_DESCRIPTORS = "server.limits.descriptors": "descriptor limit of the process";
    }
    one Fact "" from "queries" {
        SERVER_VERSION = "server.version": "version";
        SERVER_VERSION_COMMENT = "server.version_comment": "distribution, as the server reports it";
        SERVER_BUILD = "server.build": "`release`, `debug`, `sanitizer` or `unknown`";
        SERVER_DATA_DIRECTORY = "server.data_directory": "data directory";
        SERVER_PLUGINS = "server.plugins": "plugins or extensions";
        SERVER_START_TIME = "server.start_time": "PostgreSQL: start time";
        SERVER_COMPILE_OPTIONS = "server.compile_options": "SQLite: compile options";
        SERVER_REPLICATION = "server.replication": "`none`, `replica …`, `source of N replicas`";
        SERVER_OTHER_SESSIONS = "server.other_sessions": "largest number of other sessions";
        SERVER_THREADS_CONNECTED_START = "server.threads_connected.start":
            "sessions before the run";
    }
    one Fact "" from "Uptime, pg_postmaster_start_time()" {
        SERVER_UPTIME_S_START = "server.uptime_s.start":
            "seconds since the server's start, before the run";
        SERVER_UPTIME_S_END = "server.uptime_s.end":
            "seconds since the server's start, after the run";
    }
    one Fact "" from "Queries; PostgreSQL: pg_stat_statements" {
        SERVER_STATEMENTS_START = "server.statements.start": "statements executed before the run";
        SERVER_STATEMENTS_END = "server.statements.end":
            "statements executed until the end of the run";
    }
    one Fact "" from "Com_commit, without autocommit; PostgreSQL: xact_commit" {
        SERVER_COMMITS_START = "server.commits.start": "commits before the run";
        SERVER_COMMITS_END = "server.commits.end": "commits until the end of the run";
    }
    one Fact "" from "/proc/PID/mountinfo" {
        DATA_FILESYSTEM_TYPE = "data.filesystem.type":
            "file system of the data directory (SQLite: the file)";
        DATA_FILESYSTEM_OPTIONS = "data.filesystem.options": "mount options of that file system";
        DATA_FILESYSTEM_DEVICE = "data.filesystem.device": "device of that file system";
        DATA_DISK = "data.disk": "the block device and underlying ones";
    }
    each Rate "bytes/s" from "/proc/PID/net/dev, in another network namespace" {
        SERVER_NETWORK_RX_BYTES = "server.network[" "].rx_bytes": "bytes received by an interface";
        SERVER_NETWORK_TX_BYTES = "server.network[" "].tx_bytes": "bytes sent";
    }
    each Rate "count/s" from "/proc/PID/net/dev, in another network namespace" {
        SERVER_NETWORK_RX_PACKETS = "server.network[" "].rx_packets": "packets received";
        SERVER_NETWORK_TX_PACKETS = "server.network[" "].tx_packets": "packets sent";
        SERVER_NETWORK_RX_DROPS = "server.network[" "].rx_drops": "received packets dropped";
        SERVER_NETWORK_TX_DROPS = "server.network[" "].tx_drops": "packets dropped before sending";
    }
    each Gauge "as `host`" from "the observer on the server's host" {
        SERVER_HOST_EACH = "server.host." "": "a series of that host";
    }
    each Fact "" from "a configuration file, at import" {
        SERVER_CONFIGURED_EACH = "server.configured." "": "value of a setting";
    }
    each Fact "" from "DATA DIRECTORY or tablespace of a table on another mount" {
        DATA_DIRECTORY_EACH = "data.directory[" "]": "as `data.filesystem` and `data.disk`";
        DATA_TABLESPACE_EACH = "data.tablespace[" "]": "as `data.filesystem` and `data.disk`";
    }
}
