//! Folded stacks: one line each, with the process, the thread, its functions from the outermost on
//! and the number of samples. Flame graph tools and speedscope read them.

use dyno_core::record::RunRecord;

/// The stacks of all profiles; empty without any.
pub fn stacks(run: &RunRecord) -> String {
    let mut text = String::new();
    for profile in &run.profiles {
        for (stack, count) in profile.stacks.iter() {
            text += &format!("{};{stack} {count}\n", profile.process.name());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use dyno_core::cpu_profile::ProfiledProcess;
    use dyno_samples::{small as samples, values};

    use super::*;

    #[test]
    fn each_stack_is_a_line_under_its_process() {
        let mut run = samples::record();
        assert_eq!(stacks(&run), "");
        for process in ProfiledProcess::ALL {
            let profile = values::profile(process, "a thread;main;read_[k] 3\n");
            run.profiles.push(profile);
        }
        let expected = "server;a thread;main;read_[k] 3\nclient;a thread;main;read_[k] 3\n";
        assert_eq!(stacks(&run), expected);
    }
}
