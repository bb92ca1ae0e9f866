//! Runs the code of the guide's page and notebook about pandas.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{Lab, SHORT};

/// The code of the notebook's cells, and of the expression at the end of a cell.
fn notebook() -> String {
    let text = include_str!("../../../docs/pandas.ipynb");
    let notebook: Value = serde_json::from_str(text).unwrap();
    let cells = notebook["cells"].as_array().unwrap();
    let code = cells.iter().filter(|cell| cell["cell_type"] == "code");
    code.map(|cell| {
        let lines = cell["source"].as_array().unwrap().iter();
        let lines = lines.map(|line| line.as_str().unwrap());
        lines.collect::<String>() + "\n"
    })
    .collect()
}

/// The code blocks of the page.
fn page() -> String {
    let text = include_str!("../../../docs/pandas.md");
    let blocks = text.split("```python\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

#[test]
fn the_page_and_the_notebook_run_on_two_runs() {
    let lab = Lab::new();
    for step in ["first", "second"] {
        lab.dyno(&format!(
            "run oltp_read_write --table-size 100 --factor step={step} {SHORT}"
        ))
        .success();
    }
    let notebook = notebook();
    assert!(notebook.contains("what_differs_between_two_runs"));
    let checked = "assert len(runs) == 2\nassert seconds.events_per_s.notna().all()\n";
    for code in [page(), notebook] {
        let script = lab.path("script.py");
        fs::write(&script, code + checked).unwrap();
        let mut python = Command::new("/usr/bin/python3");
        lab.prepare(&mut python);
        let output = python.arg(&script).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
}
