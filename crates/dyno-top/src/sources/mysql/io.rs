//! I/O and memory.

use super::{DATA_READ, DATA_WRITTEN, HITS, PS, READ_SCHEMA, REDO};
use crate::profile::{Ask, Figure, Screen, Table};

pub(super) const IO: Screen = Screen {
    title: "I/O, memory",
    figures: &[
        Figure::bytes("buffer pool", "innodb_buffer_pool_size"),
        HITS,
        Figure::bytes("pool data", "Innodb_buffer_pool_bytes_data"),
        Figure::bytes("pool dirty", "Innodb_buffer_pool_bytes_dirty"),
        DATA_READ,
        DATA_WRITTEN,
        REDO,
        Figure::rate("fsyncs/s", "Innodb_data_fsyncs"),
        Figure::rate("log waits/s", "Innodb_log_waits"),
        Figure::rate("disk tmp/s", "Created_tmp_disk_tables"),
        Figure::rate("pool waits/s", "Innodb_buffer_pool_wait_free"),
        Figure::bytes("memory used", "Memory_used|Global_memory_used"),
    ],
    heat: false,
    tables: &[
        Table {
            title: "Files by purpose",
            asks: &[Ask::needing(
                "performance_schema",
                "SELECT EVENT_NAME, COUNT_READ, SUM_NUMBER_OF_BYTES_READ, COUNT_WRITE, \
                 SUM_NUMBER_OF_BYTES_WRITE, COUNT_MISC, SUM_TIMER_WAIT \
                 FROM performance_schema.file_summary_by_event_name WHERE COUNT_STAR > 0 \
                 ORDER BY SUM_TIMER_WAIT DESC LIMIT 50",
            )
            .or_advise(READ_SCHEMA)],
            columns: &[
                Figure::text("file", "EVENT_NAME"),
                Figure::rate("reads/s", "COUNT_READ"),
                Figure::byte_rate("read/s", "SUM_NUMBER_OF_BYTES_READ"),
                Figure::rate("writes/s", "COUNT_WRITE"),
                Figure::byte_rate("written/s", "SUM_NUMBER_OF_BYTES_WRITE"),
                Figure::load("time/s", "SUM_TIMER_WAIT", PS),
            ],
            key: &["EVENT_NAME"],
            sort: 5,
            empty: "no file was used",
        },
        Table {
            title: "Memory by purpose",
            asks: &[Ask::needing(
                "performance_schema",
                "SELECT EVENT_NAME, CURRENT_COUNT_USED, CURRENT_NUMBER_OF_BYTES_USED, \
                 HIGH_NUMBER_OF_BYTES_USED \
                 FROM performance_schema.memory_summary_global_by_event_name \
                 WHERE CURRENT_NUMBER_OF_BYTES_USED > 0 \
                 ORDER BY CURRENT_NUMBER_OF_BYTES_USED DESC LIMIT 50",
            )
            .or_advise(READ_SCHEMA)],
            columns: &[
                Figure::text("memory", "EVENT_NAME"),
                Figure::bytes("now", "CURRENT_NUMBER_OF_BYTES_USED"),
                Figure::bytes("most", "HIGH_NUMBER_OF_BYTES_USED"),
                Figure::count("pieces", "CURRENT_COUNT_USED"),
            ],
            key: &["EVENT_NAME"],
            sort: 1,
            empty: "the memory instruments are off: see performance_schema.setup_instruments",
        },
    ],
};
