//! Experiments whose trials run in pairs, as the sides of duets.

use toml::Spanned;

use crate::design::Trials;
use crate::file::{Applies, Experiment, Factor};

impl Experiment {
    /// The factor whose two levels are measured next to each other, or in turns by a duet.
    pub fn pair(&self) -> Option<&str> {
        let design = &self.design;
        let pair = design.duet.as_ref().or(design.pair.as_ref());
        pair.map(|pair| pair.get_ref().as_str())
    }

    /// The factor whose two levels are the sides of duets.
    pub fn duet(&self) -> Option<&Factor> {
        self.factor(self.design.duet.as_ref().map(Spanned::get_ref)?)
    }

    /// Whether both sides of duets use one server: their levels differ only in the load, or in
    /// settings that change while it runs.
    pub fn has_one_server(&self) -> bool {
        self.duet()
            .is_some_and(|factor| matches!(factor.applies, Applies::Client | Applies::Online))
    }

    /// The trials that form a duet with this one, A first: side A has the factor's base level.
    /// `None` if the experiment has no duets, or the trial has no partner.
    pub fn sides(&self, trials: &Trials, trial: usize) -> Option<[usize; 2]> {
        let name = self.duet()?.name.get_ref();
        let own = trials.trials.get(trial)?;
        let levels = |index: usize| &trials.cells[trials.trials[index].cell].levels;
        let others = |index: usize| {
            let levels = levels(index).iter();
            levels.filter(|(factor, _)| *factor != name)
        };
        let is_partner = |index: &usize| {
            let other = &trials.trials[*index];
            (other.block, other.role) == (own.block, own.role)
                && levels(*index).get(name) != levels(trial).get(name)
                && others(*index).eq(others(trial))
        };
        let partner = (0..trials.trials.len()).find(is_partner)?;
        let base = self.base_level(name);
        Some(match levels(trial).get(name) == base.as_ref() {
            true => [trial, partner],
            false => [partner, trial],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;
    use crate::schedule::{Outcome, Progress};

    fn experiment(design: &str) -> Experiment {
        let text = format!(
            "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
             [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 8]\n\
             [[factor]]\nname = 'flush'\napplies = 'start'\nsetting = 'f'\nlevels = [0, 1]\n\
             [design]\nduet = 'flush'\nrepeats = 2\n{design}\n"
        );
        Experiment::parse("x.toml", &text, None).unwrap()
    }

    #[test]
    fn both_levels_of_each_cell_are_one_duet() {
        let experiment = experiment("");
        assert!(!experiment.has_one_server());
        let trials = experiment.trials();
        let progress = vec![Progress::Open; trials.trials.len()];
        let mut schedule = Schedule::new(&experiment, &trials, &progress);
        let mut duets = Vec::new();
        while let Some(next) = schedule.next() {
            let [a, b] = next.sides.unwrap();
            assert_eq!(next.trial, a);
            let level = |index: usize| &trials.cells[trials.trials[index].cell].levels;
            assert_eq!((&level(a)["flush"][..], &level(b)["flush"][..]), ("0", "1"));
            assert_eq!(level(a)["sessions"], level(b)["sessions"]);
            duets.push((a, b));
            schedule.ended(Outcome::Done);
        }
        assert_eq!(duets.len(), 4, "{duets:?}");
    }

    #[test]
    fn a_duet_is_repeated_if_either_side_is_missing_or_failed() {
        let experiment = experiment("");
        let trials = experiment.trials();
        let [a, b] = experiment.sides(&trials, 0).unwrap();
        let mut progress = vec![Progress::Done; trials.trials.len()];
        progress[b] = Progress::Open;
        let mut schedule = Schedule::new(&experiment, &trials, &progress);
        assert_eq!(schedule.next().unwrap().sides, Some([a, b]));
        schedule.ended(Outcome::Failed);
        let again = schedule.next().unwrap();
        assert_eq!((again.sides, again.out_of_order), (Some([a, b]), true));
        schedule.ended(Outcome::Done);
        assert_eq!(schedule.next(), None);
    }
}
