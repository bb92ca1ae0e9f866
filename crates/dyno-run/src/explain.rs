//! Reads the server's plans for the statements of the run, after the load.

use std::time::Duration;

use dyno_core::redact;
use dyno_core::summary::StatementPlan;
use dyno_drivers::Control;
use dyno_load::{ShapeFigures, is_single, shape};
use dyno_observe::{explain, has_plan};

use crate::job::Ready;

/// The word that requests the plans of all shapes.
pub const ALL: &str = "all";
/// How long to wait for a plan.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of shapes that get plans: those with the most time in total.
const SHAPES_MAX: usize = 64;

/// The plans that were requested, of shapes that ran and of given statements.
pub(crate) fn plans(
    ready: &Ready,
    asked: &[String],
    shapes: &[ShapeFigures],
) -> Vec<StatementPlan> {
    let Some(connector) = ready.connector.as_ref().filter(|_| !asked.is_empty()) else {
        return Vec::new();
    };
    let literals = ready.literals();
    let mut wanted: Vec<(String, Option<&str>)> = Vec::new();
    for one in asked {
        if one == ALL {
            let all = shapes.iter().filter(|one| has_plan(&one.shape));
            let all = all.map(|one| (redact::text(&one.shape), one.example.as_deref()));
            wanted.extend(all.take(SHAPES_MAX));
        } else {
            let own = redact::text(&shape(one.as_bytes(), literals));
            wanted.push((own, Some(one)));
        }
    }
    let mut control = match Control::connect(connector.as_ref(), TIMEOUT) {
        Ok(control) => control,
        Err(error) => {
            let why = redact::text(&format!("cannot query the server: {error}"));
            return wanted
                .into_iter()
                .map(|(shape, _)| not(shape, &why))
                .collect();
        }
    };
    let family = connector.family();
    let plans = wanted
        .into_iter()
        .map(|(shape, example)| match example {
            None => not(shape, "all its statements were too long for EXPLAIN"),
            Some(_) if !control.is_open() => not(shape, "the connection to the server was lost"),
            Some(sql) if !is_single(sql) => not(
                shape,
                "it contains several statements, and EXPLAIN would execute all but the first",
            ),
            Some(sql) => explain(&mut control, family, (&shape, sql), TIMEOUT),
        })
        .collect();
    control.close();
    plans
}

fn not(shape: String, why: &str) -> StatementPlan {
    StatementPlan {
        shape,
        why_not: why.to_owned(),
        ..StatementPlan::default()
    }
}
