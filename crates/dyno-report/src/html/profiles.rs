//! CPU profiles of server and client, as flame graphs and tables.

use dyno_core::cpu_profile::{CpuProfile, ProfiledProcess};
use maud::html;

use super::blocks;
use super::figures;
use super::flame::Flame;
use super::page::Page;
use super::run::View;
use crate::document::{self, Block};
use crate::number;

/// Writes the section, if a profile was requested.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let run = view.run;
    let gaps = document::profile_gaps(&run.not_observed);
    if run.profiles.is_empty() && gaps.is_empty() {
        return;
    }
    page.section(view, "profile", "Where the CPU time went");
    page.show(gaps);
    for profile in &run.profiles {
        one(page, view, profile);
    }
    page.end_section();
}

fn one(page: &mut Page, view: &View<'_>, profile: &CpuProfile) {
    let (title, about) = match profile.process {
        ProfiledProcess::Server => (
            "Server",
            "All processes of the server, including those of sessions opened during the run",
        ),
        ProfiledProcess::Client => ("Client", "Dyno itself, without perf"),
    };
    let flame = Flame::of(profile);
    let left_out = match flame.left_out {
        0 => String::new(),
        frames => format!(
            "; {} frames below {} are omitted",
            number::thousands(frames as u64),
            figures::percent(flame.least as f64 / profile.samples.max(1) as f64)
        ),
    };
    let id = view.id(&format!("profile-{}", profile.process.name()));
    let label = format!("Flame graph of the {}", profile.process.name());
    let flame = page.within(|page| page.flame(&label, flame));
    page.put(html! {
        div class="panel" id=(id) {
            h3 { (title) }
            p class="about" {
                (about)
                ". Each box is a function, as wide as its share of the samples, below its \
                 callers; click to zoom."
            }
            (blocks::of([document::samples(profile)]))
            (flame)
            p class="source" {
                "Source: perf record" (left_out)
                ". Blue is the kernel; grey frames have no name because the program has no \
                 symbols or compiled them at run time. All stacks: dyno export --format folded."
            }
            div class="pair" {
                @for table in document::functions(profile) {
                    div { (blocks::of([Block::Table(table)])) }
                }
            }
        }
        "\n"
    });
}

#[cfg(test)]
mod tests {
    use dyno_samples::values;

    use crate::html::tests::{bare, page_of};

    use super::*;

    fn section(page: &str) -> &str {
        let (_, rest) = page.split_once("<section id=\"r1-profile\"").unwrap();
        rest.split_once("</section>").unwrap().0
    }

    pub(super) fn profile() -> CpuProfile {
        let folded = "connection;handle_one_connection;do_command;row_search_mvcc 1200\n\
                      connection;handle_one_connection;std::vec<int, A<b> >::push 300\n\
                      connection;handle_one_connection;my_net_write;tcp_sendmsg_[k] 499\n\
                      ib_log;[mariadbd] 1\n";
        CpuProfile {
            lost: 3,
            cut: Some("It ends after 12.0 s: 320 MiB were written.".to_owned()),
            ..values::profile(ProfiledProcess::Server, folded)
        }
    }

    #[test]
    fn a_profile_has_a_flame_graph_and_tables() {
        let mut run = bare();
        assert!(!page_of(&[run.clone()]).contains("Where the CPU time went"));
        run.profiles.push(profile());
        let page = page_of(&[run]);
        insta::assert_snapshot!(section(&page).replace("><", ">\n<"));
        let flame = "\"flames\":[{\"samples\":2000,\"names\":[\"connection\",";
        assert!(page.contains(flame));
        assert!(
            page.contains("href=\"#r1-profile\""),
            "it is in the navigation"
        );
    }

    #[test]
    fn a_missing_profile_has_its_reason() {
        let mut run = bare();
        let gap = values::gap("profile.server", "it runs on <another> host");
        run.not_observed.push(gap);
        let page = page_of(&[run]);
        let reason = "<dt>server</dt><dd>none: it runs on &lt;another&gt; host</dd>";
        assert!(section(&page).contains(reason));
    }
}
