//! Summaries: quantiles of recent observations.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use joiner_clock::Clock;
use prometheus::{
    Opts,
    core::{Collector, Desc},
    proto::{Metric, MetricFamily, MetricType, Quantile, Summary as Proto},
};

use super::gauge_set::{family, label_pairs};

/// The quantiles that Karpenter shows.
const QUANTILES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 1.0];
/// How long an observation counts for quantiles; Go's library's default.
const WINDOW: Duration = Duration::from_mins(10);
/// How many observations count at most; more than that and the oldest do not. With so many the
/// error of a quantile is far below the hundredth that Karpenter allows itself.
const OBSERVATIONS_MAX: usize = 2048;

/// The observations. Time is an input: the running time of any clock.
#[derive(Debug, Default)]
pub struct Observations {
    recent: VecDeque<(Duration, f64)>,
    sum: f64,
    count: u64,
}

impl Observations {
    /// Takes note of a value.
    pub fn observe(&mut self, now: Duration, value: f64) {
        self.forget(now);
        if self.recent.len() == OBSERVATIONS_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((now, value));
        self.sum += value;
        self.count += 1;
    }

    /// The value that a share of the recent ones do not exceed; not a number without any.
    pub fn quantiles(&mut self, now: Duration) -> [f64; 5] {
        self.forget(now);
        let mut values: Vec<f64> = self.recent.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        QUANTILES.map(|quantile| {
            let rank = (quantile * values.len() as f64).ceil() as usize;
            values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
        })
    }

    fn forget(&mut self, now: Duration) {
        while self.recent.front().is_some_and(|(when, _)| now.saturating_sub(*when) > WINDOW) {
            self.recent.pop_front();
        }
    }
}

/// One series of a summary; clones are the same.
#[derive(Debug, Clone)]
pub struct Summary {
    clock: Clock,
    observations: Arc<Mutex<Observations>>,
}

impl Summary {
    /// Takes note of a value.
    pub fn observe(&self, value: f64) {
        let now = self.clock.running();
        self.observations.lock().unwrap_or_else(PoisonError::into_inner).observe(now, value);
    }

    fn proto(&self) -> Proto {
        let mut observations = self.observations.lock().unwrap_or_else(PoisonError::into_inner);
        let values = observations.quantiles(self.clock.running());
        let quantiles = QUANTILES.iter().zip(values).map(|(share, value)| {
            let mut quantile = Quantile::default();
            quantile.set_quantile(*share);
            quantile.set_value(value);
            quantile
        });
        let mut proto = Proto::default();
        proto.set_quantile(quantiles.collect());
        proto.set_sample_sum(observations.sum);
        proto.set_sample_count(observations.count);
        proto
    }
}

/// A summary with labels; clones are the same.
#[derive(Debug, Clone)]
pub struct SummaryVec(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    desc: Desc,
    labels: Vec<String>,
    clock: Clock,
    series: Mutex<BTreeMap<Vec<String>, Summary>>,
}

impl SummaryVec {
    pub(super) fn new(opts: &Opts, labels: &[&str], clock: Clock) -> prometheus::Result<Self> {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let desc = Desc::new(
            opts.name.clone(),
            opts.help.clone(),
            labels.clone(),
            opts.const_labels.clone(),
        )?;
        Ok(Self(Arc::new(Inner { desc, labels, clock, series: Mutex::default() })))
    }

    /// The series with these values for its labels.
    pub fn with_label_values<S: AsRef<str>>(&self, values: &[S]) -> Summary {
        let values = values.iter().map(|value| value.as_ref().to_owned()).collect();
        let mut series = self.0.series.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Summary { clock: self.0.clock.clone(), observations: Arc::default() };
        series.entry(values).or_insert_with(new).clone()
    }
}

impl Collector for SummaryVec {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.0.desc]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let series = self.0.series.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = series.iter().map(|(values, summary)| {
            let labels = label_pairs(&self.0.desc, &self.0.labels, values);
            let mut metric = Metric::from_label(labels);
            metric.set_summary(summary.proto());
            metric
        });
        vec![family(&self.0.desc, MetricType::SUMMARY, metrics.collect())]
    }
}
