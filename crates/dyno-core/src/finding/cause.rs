//! Causes that findings name as values, so that one finding can explain another.

use serde::{Deserialize, Serialize};

/// A cause named by the evidence of a finding. The text is rendered from it and never parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    // Differences while the rate was lower.
    /// A deliberate disturbance.
    Disturbance,
    /// The server did not answer its observer.
    ServerSilent,
    /// The server used almost no CPU.
    ServerIdle,
    /// The host's CPUs were idle.
    CpusIdle,
    /// The same work took more CPU time.
    SlowCpus,
    /// Other processes used CPUs of the host.
    OtherProcesses,
    /// The hypervisor gave CPU time to others.
    Steal,
    /// A cgroup's CPU quota was used up.
    Throttled,
    /// Tasks waited for memory.
    MemoryPressure,
    /// Pages came from swap.
    Swap,
    /// TCP segments were retransmitted.
    Retransmits,
    /// Connections ended, as many as half of the sessions.
    LostConnections,
    /// A backup ran.
    Backup,
    /// Sessions did nothing while others worked.
    IdleSessions,
    /// Sessions waited in the server for something that is not a lock.
    SessionWaits,
    /// Statements waited for locks.
    LockWaits,
    /// Statements scanned whole tables.
    TableScans,
    /// An ALTER TABLE ran.
    AlterTable,
    /// Reads found no row.
    EmptyReads,
    /// A disk was busy, slow, or moved more bytes; or the CPUs waited for it.
    Disk,
    /// The buffer pool had no free page.
    BufferPoolFull,
    /// The log buffer was full.
    LogBufferFull,
    /// Dirty pages were flushed, or there were more of them.
    PageFlushes,
    /// Files were synced.
    FileSyncs,
    /// Pages were read from disk.
    PageReads,
    /// A checkpoint ran, or the log behind it was longer.
    Checkpoint,
    /// Full pages were written to the log.
    FullPageImages,
    /// Purge was behind.
    PurgeBehind,
    /// Compaction wrote.
    Compaction,
    /// Autovacuum ran, or there were more dead rows.
    Vacuum,
    /// The data had grown.
    DataGrowth,
    /// The observer's own statement took longer.
    SlowRoundTrip,
    /// Host and database were observed, and nothing unusual was recorded.
    Unexplained,

    // Which of the check's conditions applied.
    /// A worker of the load generator used all of its CPU.
    BusyWorker,
    /// A worker waited for a CPU.
    StarvedWorker,
    /// A worker did not serve its sockets, and its sessions waited.
    StalledWorker,
    /// The load generator's process was frozen.
    Frozen,
    /// The load generator ran out of descriptors.
    Descriptors,
    /// The first part of the run was slower than the rest.
    SlowBeginning,
    /// The mean rate is known too imprecisely.
    UncertainMean,
    /// The server was silent, and no connection was lost.
    SilentWithoutReconnects,
    /// Samples were late, and no observer failed.
    LateSamples,
    /// Sessions spent their time outside of events.
    TimeOutsideEvents,
    /// Events sent no statement.
    EventsWithoutStatements,
    /// Statements touched no table.
    NoTable,
    /// Statements found and changed no row.
    NoRows,
    /// A statement took less time than a connection needs.
    TooFast,
    /// Figures contradict each other.
    Contradiction,
    /// An event is not much longer than the clock's tick.
    ShortEvents,
    /// The slow events belong to a part of the sessions.
    SessionModes,
    /// Sessions ended within a transaction.
    OpenTransactions,
    /// SQLite's file stayed locked for longer than its sessions wait.
    DatabaseLocked,
    /// Other clients, or jobs of the server's scheduler, used the server.
    OtherClients,
    /// Part of the work did not reach the observed server.
    WorkElsewhere,
}
