//! How the figures of a cluster change over time.

use crate::scene::{Sample, Totals};

/// How many samples are kept. When there are more, every other one is dropped and samples are taken
/// half as often, so that a timeline of days is as large as one of minutes.
const SAMPLES_MAX: usize = 600;

/// Samples at equal distances.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    samples: Vec<Sample>,
    /// Seconds from one sample to the next.
    step: f64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { samples: Vec::new(), step: 1.0 }
    }
}

impl Timeline {
    /// Whether the next sample is due.
    pub(crate) fn is_due(&self, at: f64) -> bool {
        self.samples.last().is_none_or(|last| at - last.at >= self.step)
    }

    /// Takes a sample.
    pub(crate) fn add(&mut self, at: f64, totals: Totals) {
        self.samples.push(Sample { at, totals });
        if self.samples.len() > SAMPLES_MAX {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.step *= 2.0;
        }
    }

    /// All samples, oldest first.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_timeline_has_as_many_samples_as_a_short_one() {
        let mut timeline = Timeline::default();
        for second in 0..10_000 {
            let at = f64::from(second);
            if timeline.is_due(at) {
                timeline.add(at, Totals::default());
            }
        }
        let at: Vec<f64> = timeline.samples().iter().map(|sample| sample.at).collect();
        assert!(at.len() > SAMPLES_MAX / 2 && at.len() <= SAMPLES_MAX, "{}", at.len());
        assert_eq!(at[..3], [0.0, 32.0, 64.0]);
        assert!(at.is_sorted());
    }
}
