//! The Lua side of the host: a state with the prelude in it.

use std::sync::Arc;

use dyno_core::plan::OptionValue;
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};

use crate::config::HostConfig;
use crate::failure::Failure;
use crate::{bulk, options, source};

/// The prelude's parts, in the order they run; each gets the host's table.
const PARTS: [(&str, &str); 5] = [
    ("=sql.lua", include_str!("prelude/sql.lua")),
    ("=sysbench.lua", include_str!("prelude/sysbench.lua")),
    ("=legacy.lua", include_str!("prelude/legacy.lua")),
    ("=dyno.lua", include_str!("prelude/dyno.lua")),
    ("=session.lua", include_str!("prelude/session.lua")),
];

/// A LuaJIT state with all of its libraries.
pub(crate) fn new_state() -> Lua {
    // Scripts need FFI, which mlua calls unsafe: they can do whatever the user can. Rust panics
    // are not passed through Lua: catching them would replace `pcall` by one that cannot yield.
    unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new().catch_rust_panics(false)) }
}

/// Loads the prelude; answers the table through which it and the host know each other.
pub(crate) fn load(lua: &Lua, config: &Arc<HostConfig>) -> mlua::Result<Table> {
    let api = lua.create_table()?;
    // Many sessions run many traces; LuaJIT's defaults are for small programs.
    lua.load("require('jit.opt').start('maxtrace=8000', 'maxrecord=16000', 'maxmcode=16384', 'maxside=400')")
        .exec()
        .or_else(|_| lua.load("jit.opt.start('maxtrace=8000', 'maxrecord=16000', 'maxmcode=16384')").exec())?;
    let ffi: Table = lua
        .load(include_str!("prelude/cdef.lua"))
        .set_name("=cdef.lua")
        .call(())?;
    api.set("ffi", ffi)?;
    api.set("WAIT", lua.create_table()?)?;
    fill(lua, &api, config)?;
    for (name, text) in PARTS {
        lua.load(text).set_name(name).call::<()>(&api)?;
    }
    if let Some(command) = &config.luajit_cmd {
        luajit_command(lua, command)?;
    }
    set_options(lua, &api, &config.options)?;
    Ok(api)
}

/// Replaces the options that sessions copy.
pub(crate) fn set_options(
    lua: &Lua,
    api: &Table,
    options: &[(String, OptionValue)],
) -> mlua::Result<()> {
    let table = lua.create_table()?;
    for (name, value) in options {
        let value = match value {
            OptionValue::Bool(value) => Value::Boolean(*value),
            OptionValue::Number(value) => Value::Number(*value),
            OptionValue::Text(value) => Value::String(lua.create_string(value)?),
            OptionValue::List(values) => {
                Value::Table(lua.create_sequence_from(values.iter().map(String::as_str))?)
            }
        };
        table.set(name.replace('-', "_"), value)?;
    }
    api.set(
        "options",
        if options.is_empty() {
            Value::Nil
        } else {
            Value::Table(table)
        },
    )
}

fn fill(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
    api.set("source", config.source.text.as_str())?;
    api.set("chunk_name", format!("@{}", config.source.path))?;
    api.set("script_path", config.source.name.as_deref())?;
    api.set("command", config.command.as_deref())?;
    let argv = lua.create_table()?;
    for (index, argument) in config.argv.iter().enumerate() {
        argv.set(index, argument.as_str())?;
    }
    api.set("argv", argv)?;
    api.set("package_path", source::search_path())?;
    api.set("package_cpath", source::search_cpath())?;
    api.set("percentile", config.percentile)?;
    api.set("driver_name", config.driver_name)?;
    api.set("reconnect_lost", config.reconnect_lost)?;
    api.set("emulate_prepared", config.emulate_prepared)?;
    api.set("quiet_scripts", config.quiet_scripts)?;
    let ignored = lua.create_table()?;
    for code in &config.ignored_errors {
        ignored.set(code.as_str(), true)?;
    }
    api.set("ignored_errors", ignored)?;
    let families = lua.create_table()?;
    for (driver, family) in [
        ("mysql", "mysql"),
        ("pgsql", "postgres"),
        ("sqlite", "sqlite"),
    ] {
        families.set(driver, family)?;
    }
    api.set("families", families)?;
    callbacks(lua, api, config)
}

fn callbacks(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
    let builtins = config.builtins;
    api.set(
        "find_module",
        lua.create_function(move |_, (name, path): (String, String)| {
            Ok(match source::find_module(&name, &path, builtins) {
                Ok((text, path)) => (Some(text), path),
                Err(tried) => (None, tried),
            })
        })?,
    )?;
    let (log, sysbench_messages) = (config.log, config.sysbench_messages);
    api.set(
        "log",
        lua.create_function(move |_, (level, text): (String, String)| {
            log(&level, &text);
            Ok(())
        })?,
    )?;
    api.set(
        "log_fatal",
        lua.create_function(
            move |_, (driver, error, statement): (String, Table, Option<String>)| {
                let failure = Failure {
                    query: error.get("query")?,
                    statement,
                    errno: error.get("sql_errno")?,
                    state: error.get("sql_state")?,
                    message: error.get("sql_errmsg")?,
                };
                if sysbench_messages {
                    failure
                        .as_sysbench(&driver)
                        .iter()
                        .for_each(|line| log("FATAL", line));
                } else {
                    log("FATAL", &failure.to_string());
                }
                Ok(())
            },
        )?,
    )?;
    api.set(
        "print_test_options",
        lua.create_function(|_, declared: Value| {
            let declared =
                crate::describe::read_options(&declared).map_err(mlua::Error::runtime)?;
            c_print(&options::help(&declared.unwrap_or_default()));
            Ok(())
        })?,
    )?;
    let barrier = Arc::clone(&config.barrier);
    api.set(
        "barrier_arrive",
        lua.create_function(move |_, ()| Ok(barrier.arrive()))?,
    )?;
    let barrier = Arc::clone(&config.barrier);
    api.set(
        "barrier_state",
        lua.create_function(move |_, round: u64| Ok(barrier.poll(round)))?,
    )?;
    let used = Arc::clone(&config.driver_used);
    api.set(
        "note_driver",
        lua.create_function(move |_, ()| {
            used.store(true, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        })?,
    )?;
    let progress = Arc::clone(&config.progress);
    api.set(
        "load_total",
        lua.create_function(move |_, rows: f64| {
            progress.set_total(rows as u64);
            Ok(())
        })?,
    )?;
    let progress = Arc::clone(&config.progress);
    api.set(
        "load_progress",
        lua.create_function(move |_, rows: f64| {
            progress.add(rows as u64);
            Ok(())
        })?,
    )?;
    let (seed, rand) = (config.seed, config.rand.clone());
    let mysql = config.driver_name == Some("mysql");
    api.set(
        "bulk_prepare",
        lua.create_function(move |_, spec: Table| {
            bulk::prepare(seed, &rand, mysql, &spec).map_err(mlua::Error::runtime)
        })?,
    )
}

/// Prints through C's stream, so that the text keeps its place among what scripts print.
fn c_print(text: &str) {
    if let Ok(text) = std::ffi::CString::new(text) {
        // SAFETY: both are NUL-terminated strings.
        unsafe { libc::printf(c"%s".as_ptr(), text.as_ptr()) };
    }
}

/// `luajit -j`: `on`, `off`, `flush`, or optimisation flags.
fn luajit_command(lua: &Lua, command: &str) -> mlua::Result<()> {
    let run: Function = lua
        .load(
            "local command = ...\n\
             if command == 'on' or command == 'off' or command == 'flush' then\n\
               jit[command]()\n\
             else\n\
               jit.opt.start((table.unpack or unpack)(loadstring('return {' .. ('%q'):format(command)\n\
                 :gsub(',', '\",\"') .. '}')()))\n\
             end",
        )
        .set_name("=luajit-cmd")
        .into_function()?;
    run.call::<()>(command)
}
