//! Dyno itself: its process, workers, agents and observers, and facts about the run.

define! {
    one Rate "cores" from "getrusage" {
        CLIENT_CPU_USER = "client.cpu.user": "CPU time in Dyno's code";
        CLIENT_CPU_SYSTEM = "client.cpu.system": "CPU time in the kernel";
    }
    one Rate "count/s" from "getrusage" {
        CLIENT_CONTEXT_SWITCHES_VOLUNTARY = "client.context_switches.voluntary":
            "context switches because a thread waited";
        CLIENT_CONTEXT_SWITCHES_INVOLUNTARY = "client.context_switches.involuntary":
            "context switches because another thread was due";
        CLIENT_PAGE_FAULTS_MINOR = "client.page_faults.minor": "page faults without reading a disk";
        CLIENT_PAGE_FAULTS_MAJOR = "client.page_faults.major": "page faults that read a disk";
    }
    one Gauge "bytes" from "/proc/self/status" {
        CLIENT_MEMORY_RSS = "client.memory.rss": "resident memory";
    }
    one Gauge "count" from "/proc/self/stat" {
        CLIENT_THREADS = "client.threads": "threads";
    }
    one Gauge "count" from "/proc/self/fd, and workers with a separate table" {
        CLIENT_DESCRIPTORS = "client.descriptors": "open descriptors";
    }
    one Rate "cores" from "/proc/self/task/TID/schedstat" {
        CLIENT_RUN_QUEUE_WAIT = "client.run_queue_wait": "waits of all workers for a CPU";
    }
    one Rate "cores" from "CLOCK_THREAD_CPUTIME_ID" {
        OBSERVER_CPU = "observer.cpu": "CPU time of the observers";
    }
    one Gauge "ms" from "CLOCK_MONOTONIC" {
        OBSERVER_LATE = "observer.late": "delay of a sample";
        OBSERVER_TOOK = "observer.took": "duration of a sample";
    }
    one Fact "" from "Dyno" {
        CLIENT_VERSION = "client.version": "version of the load generator";
        CLIENT_PID = "client.pid": "process ID";
        CLIENT_OBSERVER_CPUS = "client.observer.cpus": "CPUs of the observers";
        CLIENT_SESSIONS_IN_TRANSACTION = "client.sessions.in_transaction":
            "at the end: sessions that ended with an open transaction, such as `4 of 4`";
    }
    one Fact "" from "the observer's connection" {
        CLIENT_TLS = "client.tls": "TLS version of the observer's connection, or `none`";
        CLIENT_TCP_NODELAY = "client.tcp_nodelay": "`on`: the connection sends without delay";
    }
    one Fact "" from "a sample of the texts and parameters" {
        CLIENT_STATEMENTS_LOOKED_AT = "client.statements.looked_at": "statements in the sample";
        CLIENT_STATEMENTS_DIFFERENT = "client.statements.different":
            "different statements in the sample";
        CLIENT_STATEMENTS_BY_TEXT = "client.statements.by_text":
            "statements in the sample whose text names their rows";
        CLIENT_STATEMENTS_DRAWN = "client.statements.drawn":
            "statements in the sample with functions or variables that may choose other rows";
    }
    one Fact "" from "all statements" {
        CLIENT_STATEMENTS_WITHOUT_EFFECT = "client.statements.without_effect":
            "UPDATE, DELETE, INSERT, REPLACE, MERGE and DO that changed no row";
        CLIENT_STATEMENTS_COMMITS = "client.statements.commits": "commits";
        CLIENT_STATEMENTS_ROLLBACKS = "client.statements.rollbacks": "rollbacks";
        CLIENT_STATEMENTS_ROLLBACKS_TO_SAVEPOINT = "client.statements.rollbacks_to_savepoint":
            "rollbacks to a savepoint";
        CLIENT_STATEMENTS_RESTRICT = "client.statements.restrict":
            "`no`: no statement restricts its rows by WHERE, ON, LIMIT or the like";
        CLIENT_STATEMENTS_DEFINE = "client.statements.define":
            "`yes`: a statement may create, alter, rename or drop a table or index";
        CLIENT_STATEMENTS_ATTACHES = "client.statements.attaches":
            "`yes`: a statement attached another file (SQLite)";
        CLIENT_STATEMENTS_TEMPORARY_TABLES = "client.statements.temporary_tables":
            "temporary tables that statements created";
        CLIENT_STATEMENTS_CHANGES_TEMPORARY_ONLY = "client.statements.changes_temporary_only":
            "whether statements changed rows of temporary tables only";
    }
    one Fact "" from "all answers of PostgreSQL" {
        CLIENT_STATEMENTS_COMPLETED = "client.statements.completed":
            "statements without an error";
        CLIENT_STATEMENTS_TRANSACTIONS = "client.statements.transactions":
            "transactions that ended";
        CLIENT_STATEMENTS_TRANSACTIONS_POSSIBLE = "client.statements.transactions_possible":
            "further transactions that may have ended";
    }
    one Fact "" from "the observers" {
        OBSERVER_ALWAYS_ZERO = "observer.always_zero": "database series that were always 0";
        OBSERVER_CPU_S = "observer.cpu_s": "CPU seconds of the observers";
        OBSERVER_SAMPLES = "observer.samples": "samples taken";
        OBSERVER_LATE_MS_MAX = "observer.late_ms_max": "longest delay of a sample";
        OBSERVER_MISSED = "observer.missed": "samples missed";
        OBSERVER_MEASURED_S = "observer.measured_s": "seconds observed";
        OBSERVER_EXPORT_CPU_S = "observer.export.cpu_s": "CPU seconds of [exports](metrics.md)";
        OBSERVER_EXPORT_CORES = "observer.export.cores": "CPU use of exports, in cores";
        OBSERVER_PROFILE_CPU_S = "observer.profile.cpu_s": "CPU seconds of `--cpu-profile`";
        OBSERVER_PROFILE_CORES = "observer.profile.cores": "CPU use of `--cpu-profile`, in cores";
    }
    one Fact "" from "perf" {
        PROFILE_FREQUENCY_HZ = "profile.frequency_hz": "samples per second of CPU time";
        PROFILE_EVENT = "profile.event": "`cycles`, or `cpu-clock` without hardware counters";
        PROFILE_CALL_GRAPH = "profile.call_graph": "how perf walks the stack";
    }
    one Fact "" from "the coordinator" {
        FLEET_RUN = "fleet.run": "the run's name on its bus";
        FLEET_COMMAND = "fleet.command": "the command that starts Dyno on other hosts";
        FLEET_COLLECTED = "fleet.collected": "the run was assembled from its agents' files";
    }
    one Fact "" from "dyno duet" {
        DUET_NAME = "duet.name": "the duet's name, which both of its runs have";
        DUET_SIDE = "duet.side": "`A` or `B`";
        DUET_MODE = "duet.mode": "`alternating` or `simultaneous`";
        DUET_SLICE_MS = "duet.slice_ms": "length of a slice";
        DUET_CUT_MS = "duet.cut_ms": "time after a switch that is not counted";
        DUET_ONE_SERVER = "duet.one_server": "`yes` if both sides use one server";
        DUET_ANSWER = "duet.answer": "the result, as JSON";
        DUET_VERDICT = "duet.verdict": "the duet's verdict: `valid`, `doubtful` or `refused`";
    }
    one Fact "" from "--claim" {
        RUN_CLAIM = "run.claim": "the cache condition that you claim";
    }
    each Rate "count/s" from "the session's own counter" {
        CLIENT_SESSION_EVENTS = "client.session[" "].events":
            "events of a role's Nth session (`ROLE.N`), with roles and at most 128 sessions";
    }
    each Rate "cores" from "/proc/self/task/TID/schedstat, else stat" {
        CLIENT_WORKER_CPU = "client.worker[" "].cpu": "CPU time of a worker";
        CLIENT_WORKER_RUN_QUEUE_WAIT = "client.worker[" "].run_queue_wait":
            "a worker's waits for a CPU";
    }
    each Rate "count/s" from "/proc/self/task/TID/status" {
        CLIENT_WORKER_INVOLUNTARY_SWITCHES = "client.worker[" "].involuntary_switches":
            "context switches because another thread was due";
    }
    each Rate "count/s" from "the agents" {
        AGENT_EVENTS = "agent[" "].events": "events of an agent, of up to 64 agents";
        AGENT_ERRORS = "agent[" "].errors": "errors of an agent";
    }
    each Gauge "ms" from "the agents" {
        AGENT_SERVICE_MEAN = "agent[" "].service_mean": "mean service time of an agent";
    }
    each Fact "" from "perf" {
        PROFILE_SAMPLES = "profile." ".samples": "samples of `server` or `client`";
        PROFILE_LOST = "profile." ".lost": "samples that perf lost";
    }
    each Fact "" from "the statements that set it; a sample" {
        CLIENT_SETTINGS_EACH = "client.settings[" "]":
            "values that sessions gave to a setting; `unknown` if a statement does not show it";
    }
    each Fact "" from "the coordinator" {
        FLEET_AGENT_EACH = "fleet.agent." "": "where an agent ran";
    }
    each Fact "" from "the workload" {
        WORKLOAD_EACH = "workload." "":
            "the workload's data and constants; see [Scripting](scripting.md#facts-and-figures)";
        RUN_WORKLOAD_EACH = "run.workload." "": "facts of the workload that differ from run to run";
    }
    each Fact "" from "--expect" {
        RUN_EXPECTED_EACH = "run.expected." "": "the value that you expect of a setting";
    }
    each Fact "" from "the user, else SELECT count(*)" {
        RUN_ROWS_EACH = "run.rows." "": "rows of a table before the run";
    }
}
