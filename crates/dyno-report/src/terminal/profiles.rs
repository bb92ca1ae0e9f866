//! CPU profiles of server and client: the functions with the most CPU time.

use dyno_core::cpu_profile::{CpuProfile, FunctionShare, plain_frame};
use dyno_core::record::NotObserved;

use super::look::{Ink, Look};
use super::page::Page;
use super::table::{Align, Table};
use crate::number::{percent, thousands};

/// The most functions in a list.
const LISTED_MAX: usize = 15;
/// The prefix of gaps about profiles.
const GAPS: &str = "profile";

/// The profiles of a run, and why any are missing.
pub fn profiles(profiles: &[CpuProfile], not_observed: &[NotObserved], look: &Look) -> String {
    let mut page = Page::new(*look);
    page.title("CPU profile");
    let mut explained = false;
    for gap in not_observed {
        let Some(what) = gap.what.strip_prefix(GAPS) else {
            continue;
        };
        page.row(
            what.trim_start_matches('.'),
            Ink::Plain,
            &format!("none: {}", gap.why),
        );
        explained = true;
    }
    if profiles.is_empty() && !explained {
        page.row(
            "",
            Ink::Faint,
            "None was recorded; record one with dyno run --cpu-profile.",
        );
    }
    for profile in profiles {
        one(profile, &mut page);
    }
    page.finish()
}

fn one(profile: &CpuProfile, page: &mut Page) {
    let lost = match profile.lost {
        0 => "none lost".to_owned(),
        lost => format!("{} lost", thousands(lost)),
    };
    let text = format!(
        "{} samples at {} Hz, {lost}",
        thousands(profile.samples),
        profile.frequency_hz
    );
    page.row(profile.process.name(), Ink::Strong, &text);
    if let Some(cut) = &profile.cut {
        page.row("", Ink::Warning, cut);
    }
    let mut functions = profile.functions();
    page.blank();
    list("by self time", &functions, profile.samples, page);
    functions.sort_by(|a, b| (b.total, &a.name).cmp(&(a.total, &b.name)));
    page.blank();
    list("by total time", &functions, profile.samples, page);
    page.blank();
}

fn list(title: &'static str, functions: &[FunctionShare], samples: u64, page: &mut Page) {
    let share = |count: u64| percent(count as f64 / samples.max(1) as f64);
    let mut table = Table::new(&[
        ("    self", Align::Right),
        ("total", Align::Right),
        (title, Align::Left),
    ]);
    for function in functions.iter().take(LISTED_MAX) {
        let (name, is_kernel) = plain_frame(&function.name);
        let of = if is_kernel { " (kernel)" } else { "" };
        table.row(vec![
            (Ink::Plain, share(function.own)),
            (Ink::Plain, share(function.total)),
            (Ink::Plain, format!("{name}{of}")),
        ]);
    }
    page.table(table);
}

#[cfg(test)]
mod tests {
    use dyno_core::cpu_profile::ProfiledProcess;
    use dyno_samples::values;

    use super::*;

    #[test]
    fn functions_are_listed_by_their_own_time_and_by_all() {
        let folded = "connection;handle_one_connection;do_command;row_search_mvcc 1200\n\
             connection;handle_one_connection;do_command;std::vec<int>::push\u{1b}[2J 300\n\
             connection;handle_one_connection;my_net_write;tcp_sendmsg_[k] 499\n\
             ib_log;[mariadbd] 1\n";
        let profile = CpuProfile {
            lost: 3,
            cut: Some("It begins after 1.2 s.".to_owned()),
            ..values::profile(ProfiledProcess::Server, folded)
        };
        let gap = values::gap("profile.client", "perf must not");
        insta::assert_snapshot!(profiles(&[profile], &[gap], &Look::default()));
    }

    #[test]
    fn a_run_without_one_says_how_to_get_one() {
        insta::assert_snapshot!(profiles(&[], &[], &Look::default()), @r"
        CPU profile
                        None was recorded; record one with dyno run --cpu-profile.
        ");
    }
}
