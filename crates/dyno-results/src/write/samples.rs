//! Samples of observers: unchanged in the first hour, and later as means over ten seconds.

use dyno_core::record::SeriesKind;

use super::spans::{step, step_end_s};

/// An update of the table `sample`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SampleRow {
    pub(crate) series: u32,
    pub(crate) at_s: f64,
    pub(crate) value: f64,
    /// The time of the row that this one replaces, if any.
    pub(crate) instead_of_s: Option<f64>,
}

/// The series of a run by number. `None` if the definition was lost.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    series: Vec<Option<State>>,
}

#[derive(Debug)]
struct State {
    kind: SeriesKind,
    last_s: Option<f64>,
    open: Option<OpenSample>,
}

#[derive(Debug)]
struct OpenSample {
    step: i64,
    at_s: f64,
    mean: f64,
    weight: f64,
    written_s: Option<f64>,
    changed: bool,
}

impl Samples {
    pub(crate) fn define(&mut self, series: u32, kind: SeriesKind) {
        let index = series as usize;
        if self.series.len() <= index {
            self.series.resize_with(index + 1, || None);
        }
        self.series[index] = Some(State {
            kind,
            last_s: None,
            open: None,
        });
    }

    /// Adds a sample and returns the rows that are final, or `Err` if the series is unknown. Skips
    /// a value that is not finite.
    pub(crate) fn add(
        &mut self,
        series: u32,
        at_s: f64,
        value: f64,
    ) -> Result<Vec<SampleRow>, Unknown> {
        let state = self
            .series
            .get_mut(series as usize)
            .and_then(Option::as_mut)
            .ok_or(Unknown)?;
        if !value.is_finite() || !at_s.is_finite() {
            return Ok(Vec::new());
        }
        let since_s = state.last_s.replace(at_s).map_or(0.0, |last| at_s - last);
        let weight = match state.kind {
            SeriesKind::Rate if since_s > 0.0 => since_s,
            _ => 1.0,
        };
        let step = step(at_s);
        if let (Some(open), Some(step)) = (&mut state.open, step)
            && open.step == step
        {
            open.at_s = at_s;
            open.weight += weight;
            // In this form, the mean of equal values is exactly their value.
            open.mean += (value - open.mean) * (weight / open.weight);
            open.changed = true;
            return Ok(Vec::new());
        }
        let mut closed: Vec<_> = state
            .open
            .take()
            .map(|open| open.closed(series))
            .into_iter()
            .collect();
        match step {
            None => closed.push(SampleRow {
                series,
                at_s,
                value,
                instead_of_s: None,
            }),
            Some(step) => {
                state.open = Some(OpenSample {
                    step,
                    at_s,
                    mean: value,
                    weight,
                    written_s: None,
                    changed: true,
                });
            }
        }
        Ok(closed)
    }

    /// The unfinished means that changed since they were last written.
    pub(crate) fn growing(&self) -> Vec<SampleRow> {
        let series = self.series.iter().enumerate();
        series
            .filter_map(|(series, state)| {
                let open = state.as_ref()?.open.as_ref()?;
                open.changed.then(|| open.row(series as u32, open.at_s))
            })
            .collect()
    }

    /// Marks the unfinished means as written.
    pub(crate) fn written(&mut self) {
        let states = self.series.iter_mut().flatten();
        for open in states.filter_map(|state| state.open.as_mut()) {
            open.written_s = Some(open.at_s);
            open.changed = false;
        }
    }
}

/// The sample belongs to a series that was not defined.
#[derive(Debug)]
pub(crate) struct Unknown;

impl OpenSample {
    fn row(&self, series: u32, at_s: f64) -> SampleRow {
        SampleRow {
            series,
            at_s,
            value: self.mean,
            instead_of_s: self.written_s.filter(|written| *written != at_s),
        }
    }

    /// A step that is complete gets the time of its end, which is a whole number and takes little
    /// space.
    fn closed(&self, series: u32) -> SampleRow {
        self.row(series, step_end_s(self.step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_become_one_mean_after_the_first_hour() {
        let mut samples = Samples::default();
        samples.define(0, SeriesKind::Gauge);
        assert_eq!(samples.add(0, -5.0, 1.0).unwrap().len(), 1);
        assert_eq!(samples.add(0, 3600.0, 1.0).unwrap().len(), 1);
        for second in 1..=10 {
            let at = 3600.0 + f64::from(second);
            assert!(samples.add(0, at, f64::from(second)).unwrap().is_empty());
            assert_eq!(samples.growing()[0].at_s, at);
            samples.written();
        }
        let closed = samples.add(0, 3610.5, 100.0).unwrap();
        assert_eq!(
            closed,
            [SampleRow {
                series: 0,
                at_s: 3610.0,
                value: 5.5,
                instead_of_s: None
            }]
        );
        samples.written();
        assert!(samples.growing().is_empty());
        samples.add(0, 3611.5, 200.0).unwrap();
        let growing = samples.growing();
        assert_eq!(growing[0].value, 150.0);
        assert_eq!(growing[0].instead_of_s, Some(3610.5));
        let closed = samples.add(0, 3620.5, 1.0).unwrap();
        assert_eq!(closed[0].instead_of_s, Some(3610.5));
    }

    #[test]
    fn a_rate_is_the_mean_over_the_real_time() {
        let mut samples = Samples::default();
        samples.define(0, SeriesKind::Rate);
        samples.add(0, 3600.0, 0.0).unwrap();
        samples.add(0, 3601.0, 10.0).unwrap();
        samples.add(0, 3604.0, 30.0).unwrap();
        assert_eq!(samples.growing()[0].value, (10.0 + 3.0 * 30.0) / 4.0);
    }

    #[test]
    fn skips_values_that_are_not_observations() {
        let mut samples = Samples::default();
        samples.define(1, SeriesKind::Gauge);
        assert!(samples.add(0, 1.0, 1.0).is_err());
        assert!(samples.add(2, 1.0, 1.0).is_err());
        assert!(samples.add(1, 1.0, f64::NAN).unwrap().is_empty());
    }
}
