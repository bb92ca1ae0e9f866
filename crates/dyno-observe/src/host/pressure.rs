//! Pressure stall information: the share of time in which tasks waited for a resource.

use dyno_core::catalogue::names;

use crate::sink::{Rate, SampleBuffer};
use crate::text::{ProcFile, lines, number, words};

/// The resources that tasks wait for, with the series for some and for all tasks.
const RESOURCES: [(&str, &str, &str); 3] = [
    (
        "cpu",
        names::HOST_PRESSURE_CPU_SOME,
        names::HOST_PRESSURE_CPU_FULL,
    ),
    (
        "io",
        names::HOST_PRESSURE_IO_SOME,
        names::HOST_PRESSURE_IO_FULL,
    ),
    (
        "memory",
        names::HOST_PRESSURE_MEMORY_SOME,
        names::HOST_PRESSURE_MEMORY_FULL,
    ),
];

pub(crate) struct Pressure {
    files: Vec<(ProcFile, Rate, Rate)>,
}

impl Pressure {
    /// `None` if the kernel does not account for it.
    pub(crate) fn find() -> Option<Self> {
        let files: Vec<_> = RESOURCES.into_iter().filter_map(resource).collect();
        (!files.is_empty()).then_some(Self { files })
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) {
        for (file, some, full) in &mut self.files {
            let Ok(text) = file.read(buffer) else {
                continue;
            };
            let totals = totals(text);
            some.put_some(recorder, totals.some_us);
            full.put_some(recorder, totals.full_us);
        }
    }
}

fn resource((resource, some, full): (&str, &str, &str)) -> Option<(ProcFile, Rate, Rate)> {
    let path = format!("/proc/pressure/{resource}");
    let file = ProcFile::find(&path)?;
    // Microseconds per second, as percent.
    let rate = |name: &str| Rate::scaled(name, "percent", &path, 1e-4);
    Some((file, rate(some), rate(full)))
}

/// Microseconds since boot.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    some_us: Option<f64>,
    full_us: Option<f64>,
}

fn totals(text: &[u8]) -> Totals {
    let mut totals = Totals::default();
    for line in lines(text) {
        let mut words = words(line);
        let total = match words.next() {
            Some(b"some") => &mut totals.some_us,
            Some(b"full") => &mut totals.full_us,
            _ => continue,
        };
        *total = words.find_map(|word| number(word.strip_prefix(b"total=")?));
    }
    totals
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn totals_are_found_by_name() {
        let text = b"some avg10=3.52 avg60=5.83 avg300=3.35 total=35309400\n\
                     full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let expected = Totals {
            some_us: Some(35_309_400.0),
            full_us: Some(7.0),
        };
        assert_eq!(totals(text), expected);
        // Before Linux 5.13 the CPU had no line `full`.
        let old = totals(b"some avg10=0.00 total=5\n");
        assert_eq!((old.some_us, old.full_us), (Some(5.0), None));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = totals(&text);
        }
    }
}
