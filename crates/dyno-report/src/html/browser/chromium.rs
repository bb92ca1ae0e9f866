//! Headless Chromium, driven by the DevTools protocol over a pair of pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// A tab in a separate browser.
pub(super) struct Tab {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// Messages that are not answers.
    events: Vec<Value>,
}

impl Tab {
    /// Starts Chromium with its profile in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        // Chromium reads commands from descriptor 3 and answers on 4.
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            "sh",
        ]);
        command.args([
            "--headless=new",
            // Tests run as root in containers, where the sandbox is not available.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut browser = command.spawn().expect("cannot start sh");
        let to = browser.stdin.take().unwrap();
        let from = BufReader::new(browser.stdout.take().unwrap());
        let mut tab = Self {
            browser,
            to,
            from,
            session: None,
            number: 0,
            events: Vec::new(),
        };
        let target = tab.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = tab.ask("Target.attachToTarget", attach);
        tab.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.ask(&format!("{domain}.enable"), json!({}));
        }
        tab
    }

    /// Sets the size of the window, and whether the system is dark.
    pub(super) fn look(&mut self, width: u32, height: u32, dark: bool) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let value = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.ask(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
    }

    /// Opens a file and waits until it is loaded.
    pub(super) fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.ask("Page.navigate", json!({ "url": url }));
        let loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(loaded) {
            let message = self.receive();
            self.events.push(message);
        }
    }

    /// The value of an expression, awaited.
    pub(super) fn evaluate(&mut self, expression: &str) -> Value {
        let question =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", question);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].clone()
    }

    /// Presses and releases a key.
    pub(super) fn key(&mut self, key: &str) {
        let code = if key == "Enter" { 13 } else { 9 };
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" && kind == "keyDown" {
                "\r"
            } else {
                ""
            };
            self.ask("Input.dispatchKeyEvent", json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
            }));
        }
    }

    /// The window as a PNG file.
    pub(super) fn picture(&mut self) -> Vec<u8> {
        let answer = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        bytes(&answer)
    }

    /// The printed page.
    pub(super) fn pdf(&mut self) -> Vec<u8> {
        let wanted = json!({ "printBackground": true, "preferCSSPageSize": true });
        let answer = self.ask("Page.printToPDF", wanted);
        bytes(&answer)
    }

    /// The page's errors, and its requests.
    pub(super) fn errors_and_requests(&mut self) -> (Vec<String>, Vec<String>) {
        // All messages before this answer have arrived.
        self.evaluate("0");
        let of = |method: &str| {
            let method = method.to_owned();
            self.events
                .iter()
                .filter(move |event| event["method"] == method)
        };
        let errors = of("Runtime.exceptionThrown")
            .chain(of("Log.entryAdded"))
            .chain(of("Runtime.consoleAPICalled"));
        let requests = of("Network.requestWillBeSent").map(|event| {
            event["params"]["request"]["url"]
                .as_str()
                .unwrap_or("?")
                .to_owned()
        });
        (
            errors.map(|event| event["params"].to_string()).collect(),
            requests.collect(),
        )
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut question = json!({ "id": self.number, "method": method, "params": params });
        if let Some(session) = &self.session {
            question["sessionId"] = json!(session);
        }
        let mut text = question.to_string().into_bytes();
        text.push(0);
        self.to
            .write_all(&text)
            .expect("Chromium does not listen: is it installed?");
        loop {
            let message = self.receive();
            if message["id"] == self.number {
                assert_eq!(message["error"], Value::Null, "{method}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&mut self) -> Value {
        let mut text = Vec::new();
        self.from
            .read_until(0, &mut text)
            .expect("cannot read from Chromium");
        assert_eq!(
            text.pop(),
            Some(0),
            "Chromium has gone: is it installed (Debian: chromium)?"
        );
        serde_json::from_slice(&text).unwrap()
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

fn bytes(answer: &Value) -> Vec<u8> {
    BASE64_STANDARD
        .decode(answer["data"].as_str().unwrap())
        .unwrap()
}
