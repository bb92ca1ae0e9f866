//! Tables and indexes.

use crate::profile::{Ask, Figure, Screen, Table};

pub(super) const TABLES: Screen = Screen {
    title: "Tables",
    figures: &[],
    heat: false,
    tables: &[
        Table {
            title: "Tables of this database",
            asks: &[Ask::plain(
                "SELECT t.relid, t.schemaname, t.relname, seq_scan, seq_tup_read, idx_scan, \
                     idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_dead_tup, \
                     heap_blks_read, c.relpages::bigint * \
                     current_setting('block_size')::bigint AS size, \
                     extract(epoch FROM clock_timestamp() \
                     - greatest(last_vacuum, last_autovacuum)) \
                     AS vacuumed FROM pg_catalog.pg_stat_user_tables t \
                     JOIN pg_catalog.pg_statio_user_tables io USING (relid) \
                     JOIN pg_catalog.pg_class c ON c.oid = t.relid \
                     ORDER BY coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) \
                     + n_tup_ins + n_tup_upd + n_tup_del DESC LIMIT 200",
            )],
            columns: &[
                Figure::text("table", "relname"),
                Figure::rate("seq rows/s", "seq_tup_read"),
                Figure::rate("idx rows/s", "idx_tup_fetch"),
                Figure::rate("writes/s", "n_tup_ins+n_tup_upd+n_tup_del"),
                Figure::bytes("size", "size"),
                Figure::count("live", "n_live_tup"),
                Figure::count("dead", "n_dead_tup"),
                Figure::time("vacuumed", "vacuumed", 1.0),
                Figure::rate("blocks read/s", "heap_blks_read"),
                Figure::text("schema", "schemaname"),
            ],
            key: &["relid"],
            sort: 3,
            empty: "no tables in this database; name another database in the target's URL",
        },
        Table {
            title: "Indexes of this database",
            asks: &[Ask::plain(
                "SELECT i.indexrelid, i.schemaname, i.relname, i.indexrelname, idx_scan, \
                 idx_tup_read, idx_blks_read, c.relpages::bigint * \
                 current_setting('block_size')::bigint AS size \
                 FROM pg_catalog.pg_stat_user_indexes i \
                 JOIN pg_catalog.pg_statio_user_indexes io USING (indexrelid) \
                 JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
                 ORDER BY idx_scan DESC LIMIT 200",
            )],
            columns: &[
                Figure::text("index", "indexrelname"),
                Figure::text("table", "relname"),
                Figure::rate("scans/s", "idx_scan"),
                Figure::rate("entries/s", "idx_tup_read"),
                Figure::rate("blocks read/s", "idx_blks_read"),
                Figure::count("scans", "idx_scan"),
                Figure::bytes("size", "size"),
            ],
            key: &["indexrelid"],
            sort: 2,
            empty: "no indexes in this database",
        },
    ],
};
