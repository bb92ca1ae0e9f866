//! One side of a duet.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Result;
use dyno_core::Target;
use dyno_core::duet::DuetMode;
use dyno_load::{Duet, DuetPart, Side, StopSignal};
use dyno_run::{Measured, Notice, Ready, RunRequest, Sink, Sinks};

use crate::command::{self, Command};
use crate::hints::with_hint;
use crate::stage::Stage;
use crate::usage;

/// Rejects a command that cannot be a side.
pub(crate) fn refuse(command: &Command, mode: DuetMode) -> Result<()> {
    let plan = &command.plan;
    let workload = &plan.workload;
    let drive = &plan.drive;
    let takes_turns = mode == DuetMode::Alternating;
    let paced = plan
        .roles
        .iter()
        .any(|role| role.pace.is_some() || role.background);
    let why = if command.name != "run" {
        format!(
            "a duet takes plans of `dyno run`, but this is a plan of `dyno {}`",
            command.name
        )
    } else if command.temporary.is_some() {
        "a duet needs existing targets: give --target, or name a target for each side".to_owned()
    } else if !plan.phases.is_empty() || !plan.ladder.is_empty() {
        format!("{workload} has phases, but a duet is a single run at one load")
    } else if drive.schedule.is_some() {
        "a duet runs at a constant load: remove the schedule".to_owned()
    } else if drive.events.is_some() {
        "--events does not apply to a duet: use --at-most or --precision".to_owned()
    } else if drive.shard.is_some() || drive.begin_unix_s.is_some() || !plan.agents.is_empty() {
        "a duet uses one load generator: remove agents, shards and --begin-at".to_owned()
    } else if takes_turns && drive.open_loop.is_some() {
        "--rate: events would be due while the other side works; use --mode simultaneous".to_owned()
    } else if takes_turns && paced {
        format!(
            "{workload} has paced or background roles, which would continue while the other side \
             works; use --mode simultaneous"
        )
    } else {
        return Ok(());
    };
    Err(usage(why))
}

/// A side whose target answers.
pub(super) struct Prepared {
    ready: Ready,
    request: RunRequest,
}

/// Connects to a side's target.
pub(super) fn prepare(
    command: Command,
    stop: &Arc<StopSignal>,
    stage: &mut dyn Stage,
) -> Result<Prepared> {
    let (ready, request) = command::prepare_run(command, stop, stage)?;
    Ok(Prepared { ready, request })
}

impl Prepared {
    pub(super) fn workload(&self) -> String {
        self.request.plan.workload.clone()
    }

    /// The time before the measurement.
    pub(super) fn warmup(&self) -> Duration {
        let drive = &self.ready.job.drive;
        drive.ramp_up + drive.warmup
    }

    /// The percentile that the answer is about, in an open loop.
    pub(super) fn subject(&self) -> Option<f64> {
        let percents = &self.request.plan.record.percentiles;
        let lowest = percents.iter().copied().reduce(f64::min);
        lowest.filter(|_| self.ready.job.drive.open_loop.is_some())
    }

    /// The limit of the measurement.
    pub(super) fn time(&self) -> Option<Duration> {
        self.ready.job.drive.time
    }

    /// The endpoints of the target, which identify the server.
    pub(super) fn server_label(&self) -> Option<Vec<String>> {
        let target = self.ready.job.target.as_ref()?;
        Some(target.endpoints.iter().map(ToString::to_string).collect())
    }

    /// Makes it a side of a duet.
    pub(super) fn join(
        &mut self,
        duet: &Arc<Duet>,
        side: Side,
        name: &str,
        settings: Vec<(String, String)>,
        has_one_label: bool,
    ) {
        let target = self.ready.job.target.as_ref();
        // An embedded database counts for each client.
        let has_server = target.is_some_and(|target| !target.family.is_embedded());
        self.ready.duet = Some(DuetPart {
            duet: Arc::clone(duet),
            side,
            name: name.to_owned(),
            settings,
            has_one_server: has_one_label && has_server,
        });
    }

    /// Runs it.
    pub(super) fn measure(
        mut self,
        sinks: &Sinks,
        (duet, side): (&Duet, Side),
    ) -> Result<Measured> {
        let measured = dyno_run::measure(&mut self.ready, &self.request, sinks);
        if measured.is_err() {
            duet.give_up(side);
        }
        let workload = &self.request.plan.workload;
        measured.map_err(|error| with_hint(error.into(), &self.ready, workload))
    }
}

/// The target of both sides, whose settings the switch changes.
///
/// # Errors
/// The sides use different servers, or work at the same time.
pub(super) fn common_target(sides: &[Prepared; 2], mode: DuetMode) -> Result<Target> {
    let [a, b] = sides;
    if a.server_label() != b.server_label() {
        return Err(usage(
            "set: needs both sides on one server; with two, change the settings before the duet",
        ));
    }
    if mode == DuetMode::Simultaneous {
        return Err(usage(
            "set: does not work with --mode simultaneous: both sides use the same server",
        ));
    }
    let target = a.ready.job.target.as_ref();
    let target = target.filter(|target| !target.family.is_embedded());
    let missing = || usage("set: needs a server: give its --target");
    target.cloned().ok_or_else(missing)
}

/// Forwards the notices of a side. Steps of both sides are the same, so only those of A are shown.
pub(super) fn forwarded(side: Side, notices: Sender<Notice>) -> impl Sink {
    Forward { side, notices }
}

struct Forward {
    side: Side,
    notices: Sender<Notice>,
}

impl Sink for Forward {
    fn notice(&mut self, notice: &Notice) {
        let named = |text: &str| format!("side {}: {text}", self.side.name());
        let notice = match notice {
            Notice::Warning(text) => Notice::Warning(named(text)),
            Notice::Error(text) => Notice::Error(named(text)),
            Notice::Hint(text) => Notice::Hint(named(text)),
            _ if self.side == Side::B => return,
            other => other.clone(),
        };
        // The receiver is gone once the duet is over.
        let _ = self.notices.send(notice);
    }
}
