//! CPU profiles of server and client: the functions with the most CPU time.

use dyno_core::cpu_profile::CpuProfile;
use dyno_core::record::NotObserved;

use super::look::{Ink, Look};
use super::page::Page;
use crate::document;

/// The profiles of a run, and why any are missing.
pub fn profiles(profiles: &[CpuProfile], not_observed: &[NotObserved], look: &Look) -> String {
    let mut page = Page::new(*look);
    page.title("CPU profile");
    let gaps = document::profile_gaps(not_observed);
    if profiles.is_empty() && gaps.is_empty() {
        page.row(
            "",
            Ink::Faint,
            "None was recorded; record one with dyno run --cpu-profile.",
        );
    }
    page.show(gaps);
    for profile in profiles {
        one(profile, &mut page);
    }
    page.finish()
}

fn one(profile: &CpuProfile, page: &mut Page) {
    page.show([document::samples(profile)]);
    page.blank();
    for mut table in document::functions(profile) {
        let title = table.heads[0].name.clone();
        table.pick(&["self", "total", &title]);
        table.heads[0].name.insert_str(0, "    ");
        page.table(table);
        page.blank();
    }
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
    fn a_run_without_a_profile_prints_how_to_record_one() {
        insta::assert_snapshot!(profiles(&[], &[], &Look::default()), @r"
        CPU profile
                        None was recorded; record one with dyno run --cpu-profile.
        ");
    }
}
