//! The names, and for each a script that replaces it.

/// A script that replaces one name.
pub(crate) struct Case {
    /// The name as in the guide.
    pub(crate) name: &'static str,
    /// The script it is based on.
    pub(crate) base: &'static str,
    /// The text of the script.
    pub(crate) text: &'static str,
    /// The options for all commands.
    pub(crate) options: &'static [&'static str],
    /// An additional command between `run` and `cleanup`, on MariaDB only.
    pub(crate) command: Option<&'static str>,
    /// Whether the log does not show the effect, but the schema, rows, counts or statuses do.
    pub(crate) silent: bool,
}

const fn case(name: &'static str, base: &'static str, text: &'static str) -> Case {
    Case {
        name,
        base,
        text,
        options: &[],
        command: None,
        silent: false,
    }
}

/// Wraps the function of this name: leaves a mark and calls the original.
macro_rules! around {
    ($name:literal) => {
        around!($name, "oltp_read_write")
    };
    ($name:literal, $base:literal) => {
        case(
            $name,
            $base,
            concat!(
                "local own = ",
                $name,
                "\nfunction ",
                $name,
                "(...) con:query('SELECT 1 AS mark_",
                $name,
                "') return own(...) end"
            ),
        )
    };
}

/// Replaces the function of this name by one that leaves a mark.
macro_rules! instead {
    ($name:literal) => {
        case(
            $name,
            "oltp_read_write",
            concat!(
                "function ",
                $name,
                "() con:query('SELECT 2 AS mark_",
                $name,
                "') end"
            ),
        )
    };
}

const OWN_TABLE: &str = r#"
function create_table(drv, con, n)
   con:query("CREATE TABLE sbtest" .. n .. " (id INTEGER NOT NULL, k INTEGER, c CHAR(120), "
      .. "pad CHAR(60), mark_column INTEGER)")
   for i = 1, 7 do
      con:query("INSERT INTO sbtest" .. n .. " VALUES (" .. i .. ", 1, 'own', 'own', " .. n .. ")")
   end
end
"#;

/// What sysbench 1.0.20 replaces in the same way.
pub(crate) const CASES: &[Case] = &[
    // The session.
    case(
        "init",
        "oltp_read_only",
        "function init() local c = sysbench.sql.driver():connect() \
         c:query('SELECT 1 AS mark_init') c:disconnect() end",
    ),
    case(
        "thread_init",
        "oltp_read_write",
        "local own = thread_init\nfunction thread_init(tid) own(tid) \
         con:query('SELECT 1 AS mark_' .. tid .. '_thread_init') end",
    ),
    case(
        "thread_init",
        "oltp_point_select",
        "function thread_init() drv = sysbench.sql.driver() con = drv:connect() \
         stmt, param = {{}}, {{}} prepare_statements() con:query('SELECT 1 AS mark_init') end",
    ),
    around!("thread_done"),
    around!("thread_done", "select_random_points"),
    around!("close_statements"),
    case(
        "close_statements",
        "oltp_point_select",
        "function close_statements() con:query('SELECT 1 AS mark_close') end",
    ),
    case(
        "sysbench.hooks.before_restart_event",
        "oltp_update_index",
        "function sysbench.hooks.before_restart_event(e) \
         con:query('SELECT 1 AS mark_' .. tostring(e.errcode)) end\n\
         local n, own = 0, event\n\
         function event() n = n + 1 if n == 3 then \
         error({errcode = sysbench.error.RESTART_EVENT}) end own() end",
    ),
    // Events.
    case(
        "event",
        "oltp_read_only",
        "function event(tid) begin() \
         con:query('SELECT 1 AS mark_event_' .. tid) commit() end",
    ),
    around!("event", "oltp_insert"),
    around!("event", "oltp_point_select"),
    around!("event", "select_random_ranges"),
    Case {
        silent: true,
        ..case(
            "event",
            "bulk_insert",
            "function event() if cursize == 0 then \
             con:bulk_insert_init('INSERT INTO sbtest1 VALUES') end \
             cursize = cursize + 3 con:bulk_insert_next('(' .. cursize .. ', 7)') end",
        )
    },
    around!("prepare_statements", "oltp_write_only"),
    case(
        "prepare_statements",
        "oltp_delete",
        "function prepare_statements() stmt[1].deletes = \
         con:prepare('SELECT ? AS mark_own_statement') \
         param[1].deletes = {stmt[1].deletes:bind_create(sysbench.sql.type.INT)} \
         stmt[1].deletes:bind_param(unpack(param[1].deletes)) end",
    ),
    case(
        "prepare_statements",
        "oltp_point_select",
        "function prepare_statements() prepare_point_selects() \
         con:query('SELECT 1 AS mark_statements') end",
    ),
    // Statements to prepare.
    around!("prepare_for_each_table"),
    case(
        "prepare_for_each_table",
        "oltp_point_select",
        "local own = prepare_for_each_table\n\
         function prepare_for_each_table(key) own(key) \
         con:query('SELECT 1 AS mark_' .. key) end",
    ),
    around!("prepare_begin"),
    case(
        "prepare_begin",
        "oltp_read_only",
        "function prepare_begin() stmt.begin = con:prepare('SELECT 3 AS mark_begin') end",
    ),
    around!("prepare_commit"),
    around!("prepare_point_selects"),
    case(
        "prepare_point_selects",
        "oltp_point_select",
        "function prepare_point_selects() for t = 1, sysbench.opt.tables do \
         stmt[t].point_selects = con:prepare('SELECT ? AS mark_point') \
         param[t].point_selects = {stmt[t].point_selects:bind_create(sysbench.sql.type.INT)} \
         stmt[t].point_selects:bind_param(unpack(param[t].point_selects)) end end",
    ),
    around!("prepare_simple_ranges"),
    around!("prepare_sum_ranges"),
    around!("prepare_order_ranges"),
    around!("prepare_distinct_ranges"),
    around!("prepare_index_updates"),
    around!("prepare_non_index_updates"),
    around!("prepare_delete_inserts"),
    // Statements to execute.
    instead!("begin"),
    instead!("commit"),
    instead!("execute_point_selects"),
    around!("execute_point_selects", "oltp_point_select"),
    instead!("execute_simple_ranges"),
    instead!("execute_sum_ranges"),
    instead!("execute_order_ranges"),
    instead!("execute_distinct_ranges"),
    instead!("execute_index_updates"),
    around!("execute_index_updates", "oltp_update_index"),
    instead!("execute_non_index_updates"),
    around!("execute_non_index_updates", "oltp_update_non_index"),
    instead!("execute_delete_inserts"),
    // Values.
    Case {
        silent: true,
        ..case(
            "get_c_value",
            "oltp_insert",
            "function get_c_value() return 'own' end",
        )
    },
    case(
        "get_c_value",
        "oltp_insert",
        "local own = get_c_value\n\
         function get_c_value() if con then con:query('SELECT 1 AS mark_c') end return own() end",
    ),
    Case {
        silent: true,
        ..case(
            "get_pad_value",
            "oltp_read_only",
            "function get_pad_value() return 'own' end",
        )
    },
    // Tables.
    case("create_table", "oltp_insert", OWN_TABLE),
    Case {
        options: &["--tables=3", "--threads=2"],
        ..case("create_table", "oltp_read_only", OWN_TABLE)
    },
    Case {
        options: &["--tables=2", "--threads=3"],
        ..case(
            "create_table",
            "oltp_read_only",
            "local own = create_table\n\
             function create_table(drv, con, n) own(drv, con, n) \
             con:query('CREATE INDEX mark_' .. n .. ' ON sbtest' .. n .. ' (c)') end",
        )
    },
    case(
        "cmd_prepare",
        "oltp_insert",
        "local own = cmd_prepare\nfunction cmd_prepare() own() \
         local c = sysbench.sql.driver():connect() c:query('SELECT 1 AS mark_cmd_prepare') end",
    ),
    Case {
        silent: true,
        ..case(
            "cmd_prepare",
            "oltp_read_only",
            "function cmd_prepare() error('not called') end",
        )
    },
    Case {
        options: &["--tables=2", "--threads=2"],
        ..case(
            "sysbench.cmdline.commands",
            "oltp_read_only",
            "local own = cmd_prepare\n\
             sysbench.cmdline.commands.prepare = {function() own() \
             local c = sysbench.sql.driver():connect() c:query('SELECT 1 AS mark_command') end, \
             sysbench.cmdline.PARALLEL_COMMAND}",
        )
    },
    // Only the main state creates tables, whatever --threads is: here, every other table.
    Case {
        silent: true,
        options: &["--tables=3", "--threads=2"],
        ..case(
            "sysbench.cmdline.commands",
            "select_random_points",
            "sysbench.cmdline.commands.prepare = {cmd_prepare}",
        )
    },
    Case {
        silent: true,
        options: &["--tables=2"],
        ..case(
            "sysbench.cmdline.options",
            "oltp_read_write",
            "sysbench.cmdline.options = {tables = {'', 1}, table_size = {'', 60}, \
             auto_inc = {'', true}, create_secondary = {'', false}, point_selects = {'', 2}, \
             simple_ranges = {'', 1}, sum_ranges = {'', 1}, order_ranges = {'', 0}, \
             distinct_ranges = {'', 1}, index_updates = {'', 3}, non_index_updates = {'', 1}, \
             delete_inserts = {'', 2}, range_selects = {'', true}, range_size = {'', 10}, \
             mysql_storage_engine = {'', 'myisam'}}",
        )
    },
    Case {
        command: Some("prewarm"),
        silent: true,
        ..case(
            "cmd_prewarm",
            "oltp_read_only",
            "function cmd_prewarm() error('not called') end",
        )
    },
    Case {
        command: Some("prewarm"),
        ..case(
            "cmd_prewarm",
            "oltp_point_select",
            "local own = cmd_prewarm\nsysbench.cmdline.commands.prewarm = {function() own() end, \
             sysbench.cmdline.PARALLEL_COMMAND}\n\
             local own_done = thread_done\n\
             function thread_done() con:query('SELECT 1 AS mark_done') own_done() end",
        )
    },
    case(
        "cleanup",
        "oltp_read_only",
        "local own = cleanup\nfunction cleanup() local c = sysbench.sql.driver():connect() \
         c:query('SELECT 1 AS mark_cleanup') c:disconnect() own() end",
    ),
    // Variables.
    case(
        "drv",
        "oltp_point_select",
        "local own = event\nfunction event() \
         con:query('SELECT 1 AS mark_' .. type(drv:name())) own() end",
    ),
    case(
        "con",
        "oltp_insert",
        "local own = prepare_statements\nfunction prepare_statements() own() \
         con:disconnect() con = drv:connect() con:query('SELECT 1 AS mark_con') end",
    ),
    case(
        "stmt",
        "oltp_point_select",
        "local own = thread_init\nfunction thread_init() own() \
         stmt[1].point_selects:close() \
         stmt[1].point_selects = con:prepare('SELECT ? AS mark_stmt') \
         stmt[1].point_selects:bind_param(unpack(param[1].point_selects)) end",
    ),
    case(
        "param",
        "oltp_read_write",
        "local own = event\nfunction event() for name, params in pairs(param[1]) do \
         con:query('SELECT 1 AS mark_' .. name .. '_' .. #params) end own() end",
    ),
    case(
        "params",
        "select_random_points",
        "function event() for i = 1, #params do params[i]:set(i) end stmt:execute() \
         con:query('SELECT 1 AS mark_' .. #params) end",
    ),
    Case {
        options: &["--threads=4"],
        ..case(
            "rlen",
            "select_random_ranges",
            "local own = event\n\
             function event() con:query('SELECT 1 AS mark_' .. rlen .. '_' .. #params) own() end",
        )
    },
    case(
        "oltp_cleanup",
        "select_random_ranges",
        "local own = oltp_cleanup\nfunction oltp_cleanup() \
         local c = sysbench.sql.driver():connect() c:query('SELECT 1 AS mark_cleanup') own() end",
    ),
    // Not called, because the table of commands is defined before the functions.
    Case {
        silent: true,
        ..case(
            "prepare",
            "select_random_points",
            "function prepare() error('not called') end",
        )
    },
    Case {
        silent: true,
        ..case(
            "cursize",
            "bulk_insert",
            "local own = event\nfunction event() own() cursize = cursize + 2 end",
        )
    },
];

/// Names that exist in 1.1 but not in 1.0.20.
pub(crate) const MASTER_ONLY: &[Case] = &[
    around!("check_reconnect", "oltp_update_index"),
    around!("check_reconnect", "oltp_point_select"),
    around!("check_reconnect", "select_random_points"),
    Case {
        command: Some("warmup"),
        ..case(
            "cmd_warmup",
            "oltp_point_select",
            "local own = cmd_warmup\nsysbench.cmdline.commands.warmup = {function() own() \
             local c = sysbench.sql.driver():connect() c:query('SELECT 1 AS mark_warm') end, \
             sysbench.cmdline.PARALLEL_COMMAND}",
        )
    },
];
