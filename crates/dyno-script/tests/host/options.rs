//! Options checked by a script, and the conditions that it reports.

use std::sync::Arc;

use dyno_core::plan::OptionValue;
use dyno_core::session::Entry;
use dyno_script::{AnswerError, Host};

use crate::fake::FakePort;
use crate::{config, drive};

/// Runs a script's command `look` with this body and returns its error, if any. `print` adds to the
/// result.
fn look(body: &str) -> Result<(), String> {
    let text = format!(
        "local told = ''
         print = function(text) told = told .. text .. '|' end
         sysbench.cmdline.commands = {{look = {{function() {body} end}}}}
         function expect(wanted)
           if told ~= wanted then error('told: ' .. told, 0) end
         end"
    );
    let mut config = config(&text);
    config.options = [
        ("scale", OptionValue::Number(0.0)),
        ("rows", OptionValue::Number(1.5)),
        ("share", OptionValue::Number(-0.25)),
        ("nothing", OptionValue::Number(f64::NAN)),
        ("profile", OptionValue::Text("wrong".to_owned())),
        ("mix", OptionValue::Text("pay@2.5, look,rest@0".to_owned())),
        ("idle", OptionValue::Text("pay@0".to_owned())),
        ("odd", OptionValue::Text("pay 3".to_owned())),
        ("unknown", OptionValue::Text("sing@1".to_owned())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    let mut host = Host::new(Arc::new(config)).unwrap();
    let command = Entry::Command("look".to_owned());
    drive(&mut host, &mut FakePort::default(), 0, &command)
}

/// The error of the body.
fn refused(body: &str) -> String {
    look(body).unwrap_err()
}

#[test]
fn reports_a_value_out_of_bounds_with_its_bounds() {
    assert_eq!(
        refused("dyno.option.whole('scale', 1, 200000)"),
        "--scale must be a whole number from 1 to 200000, not 0"
    );
    assert_eq!(
        refused("return dyno.option.whole('rows', 1)"),
        "--rows must be a whole number from 1 on, not 1.5"
    );
    assert_eq!(
        refused("dyno.option.number('share', 0, 0.5)"),
        "--share must be a number from 0 to 0.5, not -0.25"
    );
    assert!(refused("dyno.option.number('nothing', 0)").contains("--nothing must be a number"));
    assert!(refused("dyno.option.whole('profile', 0)").contains("not 'wrong'"));
    look(
        "if dyno.option.whole('scale', 0, 0) ~= 0 then error('whole') end
         if dyno.option.number('rows', 1.5, 1.5) ~= 1.5 then error('number') end
         if dyno.option.number('rows', -3) ~= 1.5 then error('no bound') end",
    )
    .unwrap();
}

#[test]
fn reports_an_unknown_choice_with_the_choices() {
    let one_of = |choices: &str| format!("dyno.option.one_of('profile', {choices})");
    assert_eq!(
        refused(&one_of("{'standard', 'reference'}")),
        "--profile must be standard or reference, not 'wrong'"
    );
    assert_eq!(
        refused(&one_of("{'a', 'b', 'c'}")),
        "--profile must be a, b or c, not 'wrong'"
    );
    look("if dyno.option.one_of('profile', {'right', 'wrong'}) ~= 'wrong' then error('x') end")
        .unwrap();
}

#[test]
fn reads_weights_and_rejects_other_values() {
    look(
        "local cards = dyno.option.weights('mix', {'look', 'pay', 'rest'})
         local text = ''
         for _, card in ipairs(cards) do text = text .. card[1] .. '=' .. card[2] .. ' ' end
         if text ~= 'pay=2.5 look=1 ' then error(text) end",
    )
    .unwrap();
    let weights =
        |name: &str| refused(&format!("dyno.option.weights('{name}', {{'pay', 'look'}})"));
    assert_eq!(
        weights("unknown"),
        "--unknown: 'sing@1' must be pay or look, optionally with @ and a weight"
    );
    assert!(weights("odd").contains("'pay 3' must be pay or look"));
    assert_eq!(
        weights("idle"),
        "--idle leaves nothing to do; write for example pay@1"
    );
}

#[test]
fn an_option_that_was_not_declared_is_the_scripts_fault() {
    let why = refused("dyno.option.whole('sclae', 1, 2)");
    assert!(
        why.contains("test.lua") && why.contains("no option 'sclae'"),
        "{why}"
    );
}

#[test]
fn reports_conditions_and_counts_the_failed_ones() {
    look(
        "local c = dyno.conditions()
         c:equal('rows', 12, 12)
         c:hold(true, 'all is well')
         c:skip('files: not looked at')
         c:finish()
         expect('ok      rows: 12, expected 12|ok      all is well|-       files: not looked at|')",
    )
    .unwrap();
    let why = refused(
        "local c = dyno.conditions()
         c:equal('rows', 1e12, 12)
         c:hold(true, 'well')
         expect('FAILED  rows: 1000000000000, expected 12|ok      well|')
         c:finish()",
    );
    assert_eq!(why, "1 of 2 conditions failed");
}

#[test]
fn registered_checks_refuse_options_before_anything_connects() {
    let described = |text: &str| {
        let mut config = config(text);
        config.options.clear();
        let mut host = Host::new(Arc::new(config)).unwrap();
        let description = host.describe().unwrap();
        let checks = description.functions.contains(&"check_options".to_owned());
        (host, checks)
    };
    let check = |scale: f64, rows: f64| {
        let (mut host, checks) = described(
            "dyno.option.check(function() dyno.option.whole('scale', 1) end)
             dyno.option.check(function() dyno.option.whole('rows', 0, 9) end)",
        );
        assert!(checks);
        let options = [("scale", scale), ("rows", rows)];
        let options = options.map(|(name, value)| (name.to_owned(), OptionValue::Number(value)));
        host.set_options(&options).unwrap();
        host.check_options()
    };
    assert_eq!(check(1.0, 9.0), Ok(()));
    let why = "--scale must be a whole number from 1 on, not 0";
    assert_eq!(check(0.0, 9.0), Err(AnswerError::Raised(why.to_owned())));
    let why = "--rows must be a whole number from 0 to 9, not 10";
    assert_eq!(check(1.0, 10.0), Err(AnswerError::Raised(why.to_owned())));
    let connects = "dyno.option.check(function() sysbench.sql.driver():connect() end)";
    let why = described(connects)
        .0
        .check_options()
        .unwrap_err()
        .to_string();
    assert!(why.contains("there is no database connection"), "{why}");
    // A global of this name has another meaning in the script.
    assert!(!described("function check_options() error('called') end").1);
}
