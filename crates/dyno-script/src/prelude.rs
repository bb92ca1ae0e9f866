//! The Lua side of the host: a state with the prelude in it.

mod callbacks;

use std::sync::Arc;

use dyno_core::db::Family;
use dyno_core::drawn;
use dyno_core::plan::OptionValue;
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};

use crate::config::{HostConfig, Prints};
use crate::exports::TEXT_BYTES_MAX;
use crate::source;

/// The prelude's parts, in order of execution; each gets the host's table.
const PARTS: [(&str, &str); 18] = [
    ("=layers.lua", include_str!("prelude/layers.lua")),
    ("=sql.lua", include_str!("prelude/sql.lua")),
    ("=pipeline.lua", include_str!("prelude/pipeline.lua")),
    ("=statement.lua", include_str!("prelude/statement.lua")),
    ("=sysbench.lua", include_str!("prelude/sysbench.lua")),
    ("=legacy.lua", include_str!("prelude/legacy.lua")),
    ("=dyno.lua", include_str!("prelude/dyno.lua")),
    ("=callbacks.lua", include_str!("prelude/callbacks.lua")),
    ("=operation.lua", include_str!("prelude/operation.lua")),
    ("=random.lua", include_str!("prelude/random.lua")),
    ("=loader.lua", include_str!("prelude/loader.lua")),
    ("=dialect.lua", include_str!("prelude/dialect.lua")),
    ("=library.lua", include_str!("prelude/library.lua")),
    ("=session.lua", include_str!("prelude/session.lua")),
    ("=role.lua", include_str!("prelude/role.lua")),
    ("=phase.lua", include_str!("prelude/phase.lua")),
    ("=option.lua", include_str!("prelude/option.lua")),
    ("=reported.lua", include_str!("prelude/reported.lua")),
];

/// LuaJIT's default limits are for small programs: many statements and sessions create many traces.
const JIT_LIMITS: &str =
    "jit.opt.start('maxtrace=8000', 'maxrecord=16000', 'maxmcode=16384', 'maxside=400')";

/// A LuaJIT state with all of its libraries.
pub(crate) fn new_state() -> Lua {
    // Scripts need FFI, which mlua calls unsafe: they can do whatever the user can. Without
    // `catch_rust_panics` mlua would replace `pcall` with one that a session cannot yield through,
    // and a worker would block on each answer.
    unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new().catch_rust_panics(true)) }
}

/// Loads the prelude and returns the table shared by it and the host.
pub(crate) fn load(lua: &Lua, config: &Arc<HostConfig>) -> mlua::Result<Table> {
    let api = lua.create_table()?;
    // Many sessions run many traces; LuaJIT's defaults are for small programs.
    lua.load(JIT_LIMITS).set_name("=jit").exec()?;
    let ffi: Table = lua
        .load(include_str!("prelude/cdef.lua"))
        .set_name("=cdef.lua")
        .call(())?;
    api.set("ffi", ffi)?;
    api.set("WAIT", lua.create_table()?)?;
    api.set("TEXT_BYTES_MAX", TEXT_BYTES_MAX)?;
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
    api.set("source", lua.create_string(&config.source.text)?)?;
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
    api.set("sysbench", config.sysbench)?;
    let quiet = config.prints != Prints::Output;
    api.set("quiet_scripts", quiet)?;
    let start = move |_: &Lua, ()| Ok(if quiet { drawn::cleared() } else { "" });
    api.set("line_start", lua.create_function(start)?)?;
    let ignored = lua.create_table()?;
    for code in &config.ignored_errors {
        ignored.set(code.as_str(), true)?;
    }
    api.set("ignored_errors", ignored)?;
    api.set("plays_roles", config.plays_roles)?;
    api.set("canned", config.canned)?;
    if let Some(known) = &config.declared {
        let names = |names: &[String]| lua.create_sequence_from(names.iter().map(String::as_str));
        api.set("known_operations", names(&known.operations)?)?;
        api.set("known_sums", names(&known.sums)?)?;
    }
    let families = lua.create_table()?;
    for family in Family::ALL {
        families.set(family.driver_name(), family.name())?;
    }
    api.set("families", families)?;
    callbacks::register(lua, api, config)
}

/// `luajit -j`: `on`, `off`, `flush`, or optimisation flags.
fn luajit_command(lua: &Lua, command: &str) -> mlua::Result<()> {
    let run: Function = lua
        .load(
            "local command = ...
             if command == 'on' or command == 'off' or command == 'flush' then
               jit[command]()
             else
               local flags = {}
               for flag in command:gmatch('[^,]+') do flags[#flags + 1] = flag end
               jit.opt.start(unpack(flags))
             end",
        )
        .set_name("=luajit-cmd")
        .into_function()?;
    run.call::<()>(command)
}
