//! A session's globals are stored in part once for all sessions; scripts must not notice.

use super::*;

/// Runs lines in an event of a session.
fn attempt(lines: &str) -> Result<(), String> {
    let script = format!("{CONNECT} mine = 1 function event()\n{lines}\nend");
    run(&script, 1).0
}

#[test]
fn globals_look_like_one_table_without_a_metatable() {
    for lines in [
        "local all = {} for name, value in pairs(_G) do all[name] = value end
         assert(all.mine == 1 and all.print == print and all.sysbench == sysbench)
         assert(all.db_query == db_query and all.thread_id == 0)",
        "local all, name, value = {}, nil, nil
         repeat name, value = next(_G, name); if name then all[name] = value end until not name
         assert(all.mine == 1 and all.string == string)",
        "assert(rawget(_G, 'print') == print and rawget(_G, 'mine') == 1)
         assert(rawget(_G, 'none') == nil and rawget({a = 1}, 'a') == 1)",
        "assert(getmetatable(_G) == nil and getmetatable('').__index == string)",
        "local loaded = {} for name in pairs(package.loaded) do loaded[name] = true end
         assert(loaded._G and loaded.string and loaded.ffi and loaded.package)
         assert(require('math') == math and package.loaded.os == os)",
        "local found = {} for name in pairs(sysbench) do found[name] = true end
         assert(found.tid and found.version and found.cmdline and found.report_csv)
         for name in pairs(sysbench.cmdline) do found[name] = true end
         assert(found.ARG_INT and found.options and found.command_defined)",
    ] {
        let script = format!(
            "sysbench.cmdline.options = {{a = {{'text', 1}}}} mine = 1
             function event()\n{lines}\nend"
        );
        assert_eq!(run(&script, 1).0, Ok(()), "{lines}");
    }
}

#[test]
fn a_metatable_of_the_script_keeps_all_globals() {
    let strict = "setmetatable(_G, {
           __index = function(_, name) error('undeclared ' .. name, 2) end,
           __newindex = function(_, name) error('assigned ' .. name, 2) end,
         })";
    let kept = format!(
        "{strict}
         assert(mine == 1 and print and string.format and sysbench.tid == 0 and db_query)
         assert(rawget(_G, 'print') == print and getmetatable(_G).__newindex)
         mine = 2
         rawset(_G, 'other', 3)
         assert(mine == 2 and other == 3)"
    );
    assert_eq!(attempt(&kept), Ok(()));
    let error = attempt(&format!("{strict}\nreturn unknown")).unwrap_err();
    assert!(error.contains("undeclared unknown"), "{error}");
    let error = attempt(&format!("{strict}\nunknown = 1")).unwrap_err();
    assert!(error.contains("assigned unknown"), "{error}");
}

#[test]
fn errors_of_replaced_functions_name_the_line_of_the_script() {
    for (line, name) in [
        ("setmetatable(nil, {})", "setmetatable"),
        ("rawget(1, 'a')", "rawget"),
        ("pairs(nil)", "pairs"),
        ("next(nil)", "next"),
    ] {
        let error = attempt(line).unwrap_err();
        assert!(
            error.contains("test.lua:3: ") && error.contains(name),
            "{line}: {error}"
        );
    }
}

#[test]
fn what_a_session_writes_is_its_own() {
    let mut host = host(
        "if sysbench.tid == 1 then print = nil tostring = function() return 'other' end end
         package.path = package.path .. ';' .. sysbench.tid
         sysbench.version = sysbench.tid
         function event()
           assert((tostring(5) == 'other') == (sysbench.tid == 1))
           assert(package.path:sub(-2) == ';' .. ('%d'):format(sysbench.tid))
           assert(sysbench.version == sysbench.tid)
         end",
    );
    let mut port = FakePort::default();
    for session in 0..3 {
        drive(&mut host, &mut port, session, &Entry::Init).unwrap();
    }
    for session in 0..3 {
        port.events_left = 10;
        drive(&mut host, &mut port, session, &Entry::Run).unwrap();
    }
    assert_eq!(port.events, 30);
}
