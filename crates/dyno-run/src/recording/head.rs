//! The head of a run, which is known before the run begins.

use std::path::Path;

use dyno_core::catalogue::names;
use dyno_core::clock::{civil, wall_time};
use dyno_core::duet::DuetMode;
use dyno_core::plan::OptionValue;
use dyno_core::record::{Fact, Profile, RunHead, Source};
use dyno_core::summary::{TargetSummary, WorkloadSummary};
use dyno_core::text::hex;
use dyno_load::DuetPart;
use sha2::{Digest as _, Sha256};

use crate::job::Job;
use crate::request::RunRequest;

/// The head of a run that is about to begin.
pub(super) fn head(job: &Job, request: &RunRequest) -> RunHead {
    let plan = request.plan.clone().without_secrets();
    let created_unix_s = wall_time().as_secs_f64();
    let label = job.target.as_ref().map(dyno_core::Target::label);
    RunHead {
        name: name(&plan.workload, created_unix_s),
        source: Source::Dyno,
        profile: profile(request),
        tool: concat!("dyno ", env!("CARGO_PKG_VERSION")).to_owned(),
        created_unix_s,
        argv: job.argv.clone(),
        workload: WorkloadSummary {
            name: plan.workload.clone(),
            command: "run".to_owned(),
            options: request.options.clone(),
            changed: request.changed.clone(),
        },
        script_sha256: plan.script_sha256.clone(),
        target: TargetSummary {
            url: label.unwrap_or_default(),
            family: job.target.as_ref().map(|target| target.family),
            product: request.server.product.clone(),
            version: request.server.version.clone(),
            tls: request.server.tls.clone(),
        },
        drive: Some(job.drive.own()),
        percentiles: plan.record.percentiles.clone(),
        note: plan.record.note.clone(),
        factors: plan.record.factors.clone(),
        phase: request.phase.clone(),
        trial: plan.record.trial.clone(),
        plan: Some(Box::new(plan)),
    }
}

/// The part of a run in a duet.
pub(super) fn duet(part: &DuetPart) -> [Fact; 6] {
    let slices = part.duet.slices();
    let mode = match slices.together {
        true => DuetMode::Simultaneous,
        false => DuetMode::Alternating,
    };
    let one_server = if part.has_one_server { "yes" } else { "no" };
    let ms = |ns: u64| (ns as f64 / 1e6).to_string();
    [
        (names::DUET_NAME, part.name.clone()),
        (names::DUET_SIDE, part.side.name().to_owned()),
        (names::DUET_MODE, mode.name().to_owned()),
        (names::DUET_SLICE_MS, ms(slices.length_ns)),
        (names::DUET_CUT_MS, ms(slices.cut_ns)),
        (names::DUET_ONE_SERVER, one_server.to_owned()),
    ]
    .map(|(name, value)| Fact::new(name, value, "dyno duet"))
}

/// The value of the workload's option `profile`. Standard if it has no such option.
fn profile(request: &RunRequest) -> Profile {
    let reference = OptionValue::Text("reference".to_owned());
    let faulty = ("profile".to_owned(), reference);
    match request.options.contains(&faulty) {
        true => Profile::Reference,
        false => Profile::Standard,
    }
}

/// A name such as `20261121-124512-oltp_read_write-3f9a`, which sorts by time, names the workload,
/// and is unique.
pub fn name(workload: &str, unix_s: f64) -> String {
    let stem = Path::new(workload).file_stem().map_or_else(
        || "run".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    );
    let plain: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .take(40)
        .collect();
    let mut unique = Sha256::new();
    unique.update(wall_time().as_nanos().to_le_bytes());
    unique.update(std::process::id().to_le_bytes());
    let unique = hex(unique.finalize());
    let unique = unique.get(..4).unwrap_or("0000");
    format!("{}-{plain}-{unique}", civil(unix_s, "%Y%m%d-%H%M%S"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_are_unique() {
        let one = name("./my scripts/Ünusual-name.lua", 1_795_265_112.0);
        let (head, unique) = one.rsplit_once('-').unwrap();
        assert_eq!(head, "20261121-124512-_nusual_name");
        assert_eq!(unique.len(), 4);
        assert_ne!(one, name("./my scripts/Ünusual-name.lua", 1_795_265_112.0));
    }
}
