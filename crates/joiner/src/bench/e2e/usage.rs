//! Memory and CPU of a process, from what Linux tells about it.

use std::{fs, time::Instant};

use serde::Serialize;

use crate::bench::{measure::memory_line, report};

/// Ticks a second in `/proc/PID/stat`. Linux reports this number on all computers, independently of
/// its internal clock.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub(super) at: Instant,
    /// Bytes of memory that it has in RAM.
    pub(super) resident: u64,
    /// The anonymous part of them, which the kernel cannot reclaim like file pages.
    pub(super) anonymous: u64,
    /// The most bytes of memory that it has had at any moment, between samples too.
    pub(super) peak: u64,
    /// Seconds that it has been computing since it was started.
    pub(super) cpu_seconds: f64,
}

impl Sample {
    /// A process now; nothing when it has ended.
    pub(super) fn take(id: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some(Self {
            at: Instant::now(),
            resident: memory_line(&status, "VmRSS:")?,
            anonymous: memory_line(&status, "RssAnon:")?,
            peak: memory_line(&status, "VmHWM:")?,
            cpu_seconds: cpu_seconds(&stat)?,
        })
    }
}

/// Time in the program and in the kernel, of all threads, from `/proc/PID/stat`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The second field is the program's name in parentheses, which may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

/// What a process used over some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    /// Of the moments looked at, 95 % had at most so many bytes of memory.
    pub(super) p95_bytes: u64,
    /// The most of those moments.
    pub(super) max_bytes: u64,
    /// CPU cores in use, on average.
    pub(super) mean_cores: f64,
    /// How many moments were looked at.
    pub(super) samples: usize,
}

impl Usage {
    /// What was used between two moments. Samples are in the order of time.
    pub(super) fn between(samples: &[Sample], from: Instant, until: Instant) -> Self {
        let within: Vec<&Sample> =
            samples.iter().filter(|sample| (from..=until).contains(&sample.at)).collect();
        let mut resident: Vec<f64> = within.iter().map(|sample| sample.resident as f64).collect();
        resident.sort_by(f64::total_cmp);
        let mean_cores = match (within.first(), within.last()) {
            (Some(first), Some(last)) if last.at > first.at => {
                (last.cpu_seconds - first.cpu_seconds) / (last.at - first.at).as_secs_f64()
            }
            _ => 0.0,
        };
        Self {
            p95_bytes: report::quantile(&resident, 0.95) as u64,
            max_bytes: report::quantile(&resident, 1.0) as u64,
            mean_cores,
            samples: within.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        let stat = "4711 (a) b) c) S 1 4711 4711 0 -1 4194304 900 0 0 0 150 50 7 8 20 0 9 0 100";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("4711 (joiner) S 1"), None);
    }

    #[test]
    fn this_process_can_be_looked_at_and_one_that_is_gone_cannot() {
        let sample = Sample::take(std::process::id()).expect("this process runs");
        assert!(sample.anonymous > 0 && sample.resident >= sample.anonymous);
        assert!(sample.peak >= sample.resident);
        assert_eq!(Sample::take(u32::MAX), None);
    }

    #[test]
    fn only_the_time_asked_about_counts() {
        let start = Instant::now();
        let second = |at: u64, resident: u64, cpu_seconds: f64| Sample {
            at: start + Duration::from_secs(at),
            resident,
            anonymous: resident,
            peak: resident,
            cpu_seconds,
        };
        let samples =
            [second(0, 900, 5.0), second(1, 10, 6.0), second(2, 30, 6.5), second(3, 20, 7.0)];
        let usage = Usage::between(&samples, samples[1].at, samples[3].at);
        let expected = Usage { p95_bytes: 30, max_bytes: 30, mean_cores: 0.5, samples: 3 };
        assert_eq!(usage, expected);
        let nothing = Usage::between(&samples, samples[3].at, samples[3].at);
        assert_eq!((nothing.mean_cores, nothing.samples), (0.0, 1));
    }
}
