//! I/O and memory.

use super::{BLOCKS_READ, HITS, WAL};
use crate::profile::{Ask, Figure, Screen, Table};

pub(super) const IO: Screen = Screen {
    title: "I/O, memory",
    figures: &[
        Figure::bytes("buffers", "shared_buffers"),
        HITS,
        BLOCKS_READ,
        Figure::rate("by bgwriter/s", "buffers_clean"),
        Figure::rate("by checkp./s", "buffers_checkpoint|buffers_written"),
        Figure::rate("by backends/s", "buffers_backend"),
        Figure::rate("allocated/s", "buffers_alloc"),
        WAL,
        Figure::rate("full pages/s", "wal_fpi"),
        Figure::byte_rate("temporary/s", "temp_bytes"),
        Figure::count("checkp. timed", "checkpoints_timed|num_timed"),
        Figure::count("checkp. asked", "checkpoints_req|num_requested"),
    ],
    heat: false,
    tables: &[
        Table {
            title: "Reads and writes by backend",
            // From 18 on a request covers one or more blocks, before that exactly one. Bytes have
            // the same meaning on all versions.
            asks: &[
                Ask::needing(
                    "pg_stat_io of requests",
                    "SELECT * FROM pg_catalog.pg_stat_io LIMIT 200",
                ),
                Ask::needing(
                    "pg_stat_io",
                    "SELECT *, reads * op_bytes AS read_bytes, writes * op_bytes AS write_bytes, \
                     extends * op_bytes AS extend_bytes FROM pg_catalog.pg_stat_io LIMIT 200",
                ),
            ],
            columns: &[
                Figure::text("backend", "backend_type"),
                Figure::text("object", "object"),
                Figure::text("context", "context"),
                Figure::byte_rate("read/s", "read_bytes"),
                Figure::byte_rate("written/s", "write_bytes"),
                Figure::byte_rate("extended/s", "extend_bytes"),
                Figure::rate("hits/s", "hits"),
                Figure::rate("evict./s", "evictions"),
                Figure::rate("fsyncs/s", "fsyncs"),
            ],
            key: &["backend_type", "object", "context"],
            sort: 3,
            empty: "nothing",
        },
        Table {
            title: "Databases",
            asks: &[Ask::plain(
                "SELECT datid, datname, xact_commit, xact_rollback, blks_read, \
                 blks_read + blks_hit AS blks, temp_bytes, deadlocks, numbackends \
                 FROM pg_catalog.pg_stat_database WHERE datname IS NOT NULL \
                 ORDER BY xact_commit DESC LIMIT 100",
            )],
            columns: &[
                Figure::text("database", "datname"),
                Figure::rate("commits/s", "xact_commit"),
                Figure::rate("rollb./s", "xact_rollback"),
                Figure::rate("blocks read/s", "blks_read"),
                Figure::hits("hits", "blks_read", "blks"),
                Figure::byte_rate("temp/s", "temp_bytes"),
                Figure::count("deadlocks", "deadlocks"),
                Figure::count("sessions", "numbackends"),
            ],
            key: &["datid"],
            sort: 1,
            empty: "no databases",
        },
        Table {
            title: "Shared memory by purpose",
            asks: &[Ask::needing(
                "pg_shmem_allocations",
                "SELECT coalesce(name, '(unused)') AS name, allocated_size \
                 FROM pg_catalog.pg_shmem_allocations ORDER BY allocated_size DESC LIMIT 20",
            )
            .or_advise("GRANT pg_monitor TO the user (before version 15 a superuser)")],
            columns: &[
                Figure::bytes("size", "allocated_size"),
                Figure::text("name", "name"),
            ],
            key: &["name"],
            sort: 0,
            empty: "nothing",
        },
    ],
};
