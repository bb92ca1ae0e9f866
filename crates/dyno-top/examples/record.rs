//! Records a server's answers to all questions of `dyno top`, twice, in the tests' format.
//!
//!     cargo run -p dyno-top --example record -- TARGET SECONDS > FILE
//!
//! TARGET is a URL, or `haproxy:SOCKET`.

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use dyno_core::Target;
use dyno_top::sources::{Console, HaProxy, Server};
use dyno_top::{Answer, Source, Trouble};

/// More rows show nothing new.
const ROWS_MAX: usize = 24;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(target), Some(seconds)) = (args.next(), args.next()) else {
        return Err("usage: record TARGET SECONDS".into());
    };
    let mut source: Box<dyn Source> = match target.strip_prefix("haproxy:") {
        Some(socket) => Box::new(HaProxy::new(socket)?),
        None => {
            let mut target = Target::parse(&target)?;
            dyno_drivers::credentials::complete(&mut target)?;
            Box::new(Server::new(target, Console::Asked))
        }
    };
    let profile = source.open()?;
    let questions = profile.questions();
    let mut out = std::io::stdout().lock();
    for round in 0..2 {
        if round > 0 {
            std::thread::sleep(Duration::from_secs_f64(seconds.parse()?));
        }
        writeln!(out, "== {round}")?;
        for question in &questions {
            let text = match source.ask(&question.replace("{schema}", &profile.schema)) {
                Ok(answer) => written(&answer),
                Err(Trouble::Refused(why)) => format!("!! {why}\n"),
                Err(lost) => return Err(lost.into()),
            };
            writeln!(out, "## {question}")?;
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

fn written(answer: &Answer) -> String {
    let mut text = answer.names.join("\t") + "\n";
    // Values by name are few, and each may be needed.
    let most = if answer.names.len() == 2 {
        usize::MAX
    } else {
        ROWS_MAX
    };
    for row in answer.rows.iter().take(most) {
        let fields = row.iter().map(|field| match field {
            Some(field) if field.trim().is_empty() => "\\E".to_owned(),
            Some(field) => field.trim_end().replace(['\t', '\n', '\r'], " "),
            None => "\\N".to_owned(),
        });
        text += &(fields.collect::<Vec<_>>().join("\t") + "\n");
    }
    text
}
