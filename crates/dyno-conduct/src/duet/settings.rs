//! Settings of one server that differ between the sides, changed at each switch.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_core::clock::Nanos;
use dyno_core::{Clock, Target};
use dyno_load::{Duet, Side};
use dyno_server::{Online, Settings};

use crate::kept;

/// How often the statements of both sides are timed.
const TRIALS: usize = 5;
/// The longest sleep, so that the loop notices the end.
const NAP: Duration = Duration::from_millis(100);

/// Changes the settings of a server whenever the other side begins to work.
pub(super) struct Switch {
    online: Mutex<Online>,
    /// The statements of each side.
    statements: [Vec<String>; 2],
    /// The statements that restore the server's own values.
    undo: Vec<String>,
    /// The results file and server under which they are kept, in case this process is killed.
    kept: Option<(PathBuf, String)>,
    /// The longest time that the statements of a side took.
    pub took: Duration,
    /// The values of all these settings while each side works.
    pub values: [Vec<(String, String)>; 2],
}

impl Switch {
    /// Checks that the server accepts the settings of both sides, and times the changes.
    ///
    /// # Errors
    /// The server rejects, changes or ignores a setting.
    pub(super) fn prepare(
        target: Target,
        sides: &[Settings; 2],
        results: Option<PathBuf>,
    ) -> Result<Self> {
        let url = target.label();
        let mut online = Online::of(target)?;
        if let Some(file) = &results
            && let Some(left) = kept::left(file, &url)?
        {
            // A killed duet or trial has left its own values.
            online.undo(left)?;
            kept::forget(file, &url)?;
        }
        let all = sides.iter().flat_map(Settings::iter);
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let undo = online.undoing(&all.collect())?;
        let kept = results.map(|file| (file, url));
        if let Some((file, url)) = &kept {
            kept::keep(file, url, undo.clone())?;
        }
        let mut switch = Self {
            statements: [
                of_side(&mut online, &sides[0], &sides[1])?,
                of_side(&mut online, &sides[1], &sides[0])?,
            ],
            online: Mutex::new(online),
            undo,
            kept,
            took: Duration::ZERO,
            values: Default::default(),
        };
        match switch.check(sides) {
            Ok(()) => Ok(switch),
            Err(error) => {
                switch.undo()?;
                Err(error)
            }
        }
    }

    /// What happens to the server, in a sentence.
    pub(super) fn described(&self) -> String {
        let kept = match &self.kept {
            Some((file, _)) => format!(
                "; if Dyno is killed, the next duet with set: restores them from {}-undo",
                file.display()
            ),
            None => String::new(),
        };
        format!("The server's settings change at each switch and are restored at the end{kept}.")
    }

    /// Applies the settings of each side, and times the changes.
    fn check(&mut self, sides: &[Settings; 2]) -> Result<()> {
        let online = self.online.get_mut();
        let online = online.unwrap_or_else(PoisonError::into_inner);
        let names = sides.iter().flat_map(Settings::iter);
        let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
        for (set, values) in sides.iter().zip(&mut self.values) {
            let undo = online.set(set)?;
            *values = online.values(&names)?;
            online.undo(undo)?;
        }
        for _ in 0..TRIALS {
            for statements in &self.statements {
                let since = Clock.now();
                for sql in statements {
                    online.run(sql)?;
                }
                let took = Duration::from_nanos(Clock.now() - since);
                self.took = self.took.max(took);
            }
        }
        Ok(())
    }

    /// Changes the settings at each switch until `over` is set. An error ends the duet.
    ///
    /// # Errors
    /// The server rejects a change.
    pub(super) fn follow(&self, duet: &Duet, over: &AtomicBool) -> Result<()> {
        let mut online = self.online.lock().unwrap_or_else(PoisonError::into_inner);
        let slices = duet.slices();
        let mut current = None;
        while !over.load(Ordering::Relaxed) {
            let until = match (duet.slice_at(Clock.now()), duet.begin()) {
                (Some(slice), Some(begin)) => {
                    let side = slices.side(slice);
                    if current != Some(side) {
                        self.change(&mut online, side)
                            .inspect_err(|_| duet.end_at(Clock.now()))?;
                        current = Some(side);
                    }
                    begin + (slice + 1) * slices.length_ns
                }
                (None, Some(begin)) => begin,
                (_, None) => Nanos::MAX,
            };
            let left = Duration::from_nanos(until.saturating_sub(Clock.now()));
            std::thread::sleep(left.min(NAP));
        }
        Ok(())
    }

    fn change(&self, online: &mut Online, side: Side) -> Result<()> {
        for sql in &self.statements[side as usize] {
            let changed = online.run(sql);
            changed.context("cannot change a setting at a switch")?;
        }
        Ok(())
    }

    /// Restores the server's own values.
    ///
    /// # Errors
    /// The server rejects a change; the statements stay kept next to the results file.
    pub(super) fn undo(self) -> Result<()> {
        let words = self.undo.join("; ");
        let online = self.online.into_inner();
        let mut online = online.unwrap_or_else(PoisonError::into_inner);
        let undone = online.undo(self.undo);
        undone.with_context(|| format!("cannot restore the server's settings: {words}"))?;
        match &self.kept {
            Some((file, url)) => kept::forget(file, url),
            None => Ok(()),
        }
    }
}

/// The statements of a side: its own settings, and the server's values of those that only the other
/// side names.
fn of_side(online: &mut Online, own: &Settings, other: &Settings) -> Result<Vec<String>> {
    let only_others = other.iter().filter(|(name, _)| !own.contains(name));
    let only_others = only_others.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let restored = online.undoing(&only_others.collect())?;
    Ok([online.changing(own), restored].concat())
}
