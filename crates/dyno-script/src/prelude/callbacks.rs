//! Host functions for the prelude, off the hot path.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mlua::{Lua, Table, Value};

use crate::config::{Across, HostConfig, SHARED_NUMBERS_MAX};
use crate::failure::Failure;
use crate::{bulk, options, reported, source};

/// Registers the functions in the table shared by host and prelude.
pub(super) fn register(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
    modules(lua, api, config)?;
    messages(lua, api, config)?;
    parallel(lua, api, config)?;
    shared(lua, api, config)?;
    reported::register(lua, api, config)?;
    loading(lua, api, config)
}

fn modules(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
    let builtins = config.builtins;
    api.set(
        "find_module",
        lua.create_function(move |lua, (name, path): (String, String)| {
            Ok(match source::find_module(&name, &path, builtins) {
                Ok((text, path)) => (Some(lua.create_string(text)?), path),
                Err(tried) => (None, tried),
            })
        })?,
    )
}

fn messages(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
    let (log, sysbench) = (config.log, config.sysbench);
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
                if sysbench {
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
    )
}

fn parallel(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
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
    let failed = Arc::clone(&config.script_failed);
    api.set(
        "note_failure",
        lua.create_function(move |_, ()| {
            failed.store(true, Ordering::Relaxed);
            Ok(())
        })?,
    )?;
    let used = Arc::clone(&config.driver_used);
    api.set(
        "note_driver",
        lua.create_function(move |_, ()| {
            used.store(true, Ordering::Relaxed);
            Ok(())
        })?,
    )
}

fn shared(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
    // The registry keeps the numbers alive while their addresses are in use.
    let numbers = Arc::clone(&config.shared);
    api.set(
        "shared_numbers",
        lua.create_function(move |_, (name, count, across): (String, f64, String)| {
            let across = Across::of(&across);
            if across == Across::Refused && numbers.are_apart() {
                return Ok((usize::MAX, 0.0));
            }
            // The cast limits counts that exceed any memory to the largest number.
            let named = numbers.named(&name, count as usize, across);
            // User-space addresses fit exactly into a double.
            Ok(named.map_or((0, SHARED_NUMBERS_MAX as f64), |named| {
                (named.len(), named.as_ptr() as usize as f64)
            }))
        })?,
    )
}

fn loading(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
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
    let driver = config.driver_name;
    api.set(
        "rows_prepare",
        lua.create_function(move |_, (table, columns): (String, Vec<String>)| {
            bulk::prepare_rows(driver, table, columns).map_err(mlua::Error::runtime)
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

/// Prints through C's stream, so that the text keeps its order relative to scripts' output.
fn c_print(text: &str) {
    if let Ok(text) = std::ffi::CString::new(text) {
        // SAFETY: both are NUL-terminated strings.
        unsafe { libc::printf(c"%s".as_ptr(), text.as_ptr()) };
    }
}
