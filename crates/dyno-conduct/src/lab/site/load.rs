//! Loads tables on a running server that Dyno did not start.

use anyhow::{Context as _, Error, Result, anyhow, bail};
use dyno_core::Clock;
use dyno_lab::file::ResetData;
use dyno_load::StopLevel;

use super::super::Caller;
use super::super::there::Mode;
use super::{Site, since};

impl<C: Caller> Site<'_, C> {
    /// Loads tables on a running server, if allowed.
    pub(super) fn load_at(&mut self, url: &str, line: Vec<String>) -> Result<()> {
        let is_own = self.is_loaded.contains(url);
        let drops = match self.tables.get(url) {
            Some(Mode::Reload) => true,
            Some(Mode::Load) => is_own,
            Some(Mode::Use) | None => {
                self.note_done("the existing tables are used");
                return Ok(());
            }
        };
        let begun = Clock.now();
        let dropped = match drops {
            true => self.drop_tables(&line),
            false => Ok(()),
        };
        if dropped.is_err() && self.stop.level() != StopLevel::None {
            bail!("interrupted");
        }
        let loaded = self.prepare(line).context("cannot load the data");
        match (loaded, dropped) {
            (Ok(()), Ok(())) => {}
            // Perhaps there were no tables to drop.
            (Ok(()), Err(why)) => self.note_done(&format!(
                "the cleanup before the load failed, so old tables may remain: {why:#}"
            )),
            (Err(error), Err(why)) if self.stop.level() == StopLevel::None => {
                return Err(not_dropped(&why, &error));
            }
            (Err(error), _) => return Err(error),
        }
        self.is_loaded.insert(url.to_owned());
        let again = if drops { " again" } else { "" };
        self.note_done(&format!("data loaded{again} in {:.1} s", since(begun)));
        let resets = self.lab.experiment.reset.data;
        if matches!(resets, Some(ResetData::Restore | ResetData::Empty)) {
            self.note_done("not reset: files, caches and logs of a server that Dyno did not start");
        }
        Ok(())
    }

    /// Runs `dyno cleanup …` for the tables that `dyno prepare …` creates. A script's cleanup may
    /// also fail because there are none.
    fn drop_tables(&self, prepare: &[String]) -> Result<()> {
        let mut cleanup = prepare.to_vec();
        "cleanup".clone_into(&mut cleanup[1]);
        cleanup.push("--quiet".to_owned());
        self.execute(cleanup)
    }
}

/// The error of a load that failed after the cleanup before it had failed. The hint of the load's
/// error is omitted: it names the same cleanup.
fn not_dropped(why: &Error, error: &Error) -> Error {
    anyhow!(
        "cannot drop the workload's tables to load them again: {why:#}. Tables before the named \
         one may be gone already. Drop what depends on the tables (a view, a foreign key), or \
         name another database. Without the drop, the load failed: {}",
        error.root_cause()
    )
}
