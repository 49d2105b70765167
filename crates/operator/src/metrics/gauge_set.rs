//! Gauges that are replaced together: a series that is not repeated is removed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus::{
    Opts,
    core::{Collector, Desc},
    proto::{Gauge, LabelPair, Metric, MetricFamily, MetricType},
};

/// Between the values of labels. No label of Kubernetes can hold it.
const SEPARATOR: char = '\u{1f}';

/// A gauge whose series come and go with the objects they are about; clones are the same.
///
/// Each object has a key and any number of series. There can be one for every pod of a large
/// cluster, so a series is kept as one text and a number.
#[derive(Debug, Clone)]
pub struct GaugeSet(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    desc: Desc,
    labels: Vec<String>,
    series: Mutex<BTreeMap<String, Vec<Series>>>,
}

/// One series: the values of its labels, and its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    labels: Box<str>,
    value: f64,
}

impl Series {
    /// A series with these values for the labels of its set, in their order.
    pub fn new<S: AsRef<str>>(labels: &[S], value: f64) -> Self {
        let mut text = String::new();
        for (index, label) in labels.iter().enumerate() {
            if index > 0 {
                text.push(SEPARATOR);
            }
            text.push_str(label.as_ref());
        }
        Self { labels: text.into(), value }
    }
}

impl GaugeSet {
    pub(super) fn new(opts: &Opts, labels: &[&str]) -> prometheus::Result<Self> {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let desc = Desc::new(
            opts.name.clone(),
            opts.help.clone(),
            labels.clone(),
            opts.const_labels.clone(),
        )?;
        Ok(Self(Arc::new(Inner { desc, labels, series: Mutex::default() })))
    }

    /// Replaces the series of one object.
    pub fn update(&self, key: &str, series: Vec<Series>) {
        let mut all = self.series();
        if series.is_empty() {
            all.remove(key);
        } else {
            all.insert(key.to_owned(), series);
        }
    }

    /// Replaces the series of all objects; other objects lose theirs.
    pub fn replace_all(&self, series: BTreeMap<String, Vec<Series>>) {
        *self.series() = series;
    }

    /// An object is gone.
    pub fn delete(&self, key: &str) {
        self.series().remove(key);
    }

    fn series(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Series>>> {
        self.0.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn metric(&self, labels: &str, value: f64) -> Metric {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        let mut metric = Metric::from_gauge(gauge);
        let values = labels.split(SEPARATOR);
        metric.set_label(label_pairs(&self.0.desc, &self.0.labels, values));
        metric
    }
}

impl Collector for GaugeSet {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.0.desc]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let series = self.series();
        // Two objects may say something about the same series; it must not be there twice.
        let each: BTreeMap<&str, f64> =
            series.values().flatten().map(|series| (&*series.labels, series.value)).collect();
        let metrics = each.iter().map(|(labels, value)| self.metric(labels, *value)).collect();
        vec![family(&self.0.desc, MetricType::GAUGE, metrics)]
    }
}

/// A family of our own collectors.
pub(super) fn family(desc: &Desc, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(desc.fq_name.clone());
    family.set_help(desc.help.clone());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

/// Names and values of a series, those that all series of a family have among them, by name.
pub(super) fn label_pairs<S: AsRef<str>>(
    desc: &Desc,
    labels: &[String],
    values: impl IntoIterator<Item = S>,
) -> Vec<LabelPair> {
    let own = labels.iter().zip(values).map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name(name.clone());
        pair.set_value(value.as_ref().to_owned());
        pair
    });
    let mut pairs: Vec<LabelPair> = desc.const_label_pairs.iter().cloned().chain(own).collect();
    pairs.sort();
    pairs
}
