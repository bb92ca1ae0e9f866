//! The CPUs' frequencies.

use dyno_core::catalogue::names;

use crate::sink::{Gauge, SampleBuffer};
use crate::text::{ProcFile, number};

/// Maximum number of CPUs read: reading a CPU's frequency may wake it.
const CPUS_MAX: usize = 64;

pub(crate) struct Frequency {
    files: Vec<ProcFile>,
    min: Gauge,
    mean: Gauge,
    max: Gauge,
}

impl Frequency {
    /// `None` if the kernel or the hypervisor does not report it.
    pub(crate) fn find(cpus: usize) -> Option<Self> {
        let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
        let step = cpus.div_ceil(CPUS_MAX).max(1);
        let found = (0..cpus)
            .step_by(step)
            .filter_map(|cpu| ProcFile::find(path(cpu)));
        let files: Vec<ProcFile> = found.collect();
        let gauge = |name: &str| Gauge::new(name, "mhz", "cpufreq/scaling_cur_freq");
        (!files.is_empty()).then(|| Self {
            files,
            min: gauge(names::HOST_CPU_FREQUENCY_MIN),
            mean: gauge(names::HOST_CPU_FREQUENCY_MEAN),
            max: gauge(names::HOST_CPU_FREQUENCY_MAX),
        })
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) {
        let (mut min, mut max, mut sum, mut count) = (f64::MAX, 0.0_f64, 0.0, 0.0);
        for file in &self.files {
            let Some(khz) = file
                .read(buffer)
                .ok()
                .and_then(|text| number(text.trim_ascii()))
            else {
                continue;
            };
            let mhz = khz / 1e3;
            (min, max) = (min.min(mhz), max.max(mhz));
            (sum, count) = (sum + mhz, count + 1.0);
        }
        if count > 0.0 {
            self.min.put(recorder, min);
            self.mean.put(recorder, sum / count);
            self.max.put(recorder, max);
        }
    }
}
