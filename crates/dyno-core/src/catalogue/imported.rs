//! Imported figures of other tools.

define! {
    one Rate "bytes/s" from "sysbench" {
        IMPORT_FILEIO_READ_BYTES = "import.fileio.read_bytes": "fileio: read";
        IMPORT_FILEIO_WRITE_BYTES = "import.fileio.write_bytes": "fileio: written";
        IMPORT_MEMORY_BYTES = "import.memory.bytes": "memory: read or written";
    }
    one Rate "count/s" from "sysbench" {
        IMPORT_FILEIO_FSYNCS = "import.fileio.fsyncs": "fileio: syncs";
    }
    one Gauge "count/s" from "pgbench, HammerDB" {
        IMPORT_TRANSACTIONS = "import.transactions": "transactions";
    }
    one Gauge "ms" from "pgbench" {
        IMPORT_LATENCY_MEAN = "import.latency.mean": "mean latency";
        IMPORT_LATENCY_STDDEV = "import.latency.stddev": "standard deviation of the latency";
        IMPORT_LATENCY_MIN = "import.latency.min": "shortest latency";
        IMPORT_LATENCY_MAX = "import.latency.max": "longest latency";
        IMPORT_LAG_MEAN = "import.lag.mean": "mean schedule lag";
    }
    one Gauge "count" from "pgbench" {
        IMPORT_SKIPPED = "import.skipped": "transactions skipped";
        IMPORT_FAILED = "import.failed": "transactions failed";
    }
    one Fact "" from "the log" {
        IMPORT_SOURCE = "import.source": "file and line";
        IMPORT_SHA256 = "import.sha256": "SHA-256 of the lines";
        IMPORT_PATH = "import.path": "path below the imported folder";
        IMPORT_CUT_OFF = "import.cut_off": "what a truncated log lacks, in words";
        IMPORT_GAPS = "import.gaps": "missing report lines, in words";
        IMPORT_UNSTEADY = "import.unsteady":
            "why the log calls its load or rate unsteady, in words";
        IMPORT_CONTRADICTIONS = "import.contradictions": "figures that contradict each other";
        IMPORT_IMPLIED_TIME_S = "import.implied_time_s":
            "duration in seconds, as a count and its rate imply";
        IMPORT_STATED_TIME_S = "import.stated_time_s": "duration in seconds, as stated";
    }
    one Fact "" from "dyno import" {
        IMPORT_WORKLOAD = "import.workload": "the workload, as you name it";
        IMPORT_SERVER = "import.server": "the server, as you name it";
    }
    one Fact "" from "pgbench's report" {
        IMPORT_CLIENTS = "import.clients": "clients";
        IMPORT_TRIES = "import.tries": "maximum number of tries of a transaction";
        IMPORT_CONNECTING_MS = "import.connecting_ms": "time to connect";
        IMPORT_RECONNECTING_MS = "import.reconnecting_ms": "mean time to connect";
        IMPORT_UNTIMED = "import.untimed": "transactions without a latency";
    }
    one Fact "" from "HammerDB's log" {
        IMPORT_RAMPUP = "import.rampup": "ramp-up time";
    }
    one Fact "" from "sysbench's report" {
        IMPORT_FILEIO_READS = "import.fileio.reads": "reads";
        IMPORT_FILEIO_WRITES = "import.fileio.writes": "writes";
        IMPORT_FILEIO_OTHER = "import.fileio.other": "other operations";
        IMPORT_FILEIO_READS_PER_S = "import.fileio.reads_per_s": "reads per second";
        IMPORT_FILEIO_WRITES_PER_S = "import.fileio.writes_per_s": "writes per second";
        IMPORT_FILEIO_FSYNCS_PER_S = "import.fileio.fsyncs_per_s": "syncs per second";
        IMPORT_FILEIO_REQUESTS_PER_S = "import.fileio.requests_per_s": "requests per second";
        IMPORT_FILEIO_READ_MIB_PER_S = "import.fileio.read_mib_per_s": "MiB read per second";
        IMPORT_FILEIO_WRITTEN_MIB_PER_S = "import.fileio.written_mib_per_s":
            "MiB written per second";
        IMPORT_MEMORY_MIB_PER_S = "import.memory.mib_per_s": "MiB per second";
        IMPORT_MEMORY_MB_PER_S = "import.memory.mb_per_s": "MB per second";
    }
    each Fact "" from "pgbench's report" {
        IMPORT_STATEMENT_EACH = "import.statement[" "]": "mean latency and text of a statement";
    }
    each Fact "" from "fio's JSON" {
        IMPORT_DISK_UTILISATION = "import.disk[" "].utilisation": "utilisation of a disk";
        IMPORT_CPU_EACH = "import.cpu[" "]": "CPU time of a job";
    }
    each Scope "" from "the host's log" {
        IMPORT_FIRST_REPORT_EACH = "import.first_report[" "]": "a tool's first report, left out";
    }
}
