//! What the benchmarks found, for people and for programs.

use serde::Serialize;

use super::{karpenter::Answer, measure::Measurement};
use crate::text::{self, Align, BAD, Cell, GOOD, Table};

/// One workload in one size, over all seeds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Result {
    pub(super) workload: String,
    pub(super) pods: usize,
    pub(super) seeds: usize,
    pub(super) runs: usize,
    pub(super) pods_per_second: f64,
    pub(super) p50_seconds: f64,
    pub(super) p95_seconds: f64,
    pub(super) peak_bytes: u64,
    pub(super) claims: f64,
    /// How many claims there must be, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected_claims: Option<f64>,
    pub(super) price: f64,
    pub(super) lower_bound: f64,
    /// Price over lower bound: how many times the best possible price it is at most.
    pub(super) price_ratio: f64,
    /// How much longer it took than without the pods that never fit; 0.05 is 5 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) never_fit_overhead: Option<f64>,
    /// What a whole pass takes, where some pods have long lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pass: Option<Pass>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) karpenter: Option<Karpenter>,
}

/// A pass from the objects on: putting them in the planner's words, and planning.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pass {
    /// How many pods have long lists.
    pub(super) long_pods: usize,
    /// How long the longest took.
    pub(super) seconds: f64,
    /// How much memory it took at most, besides the objects.
    pub(super) bytes: u64,
}

/// What a pass over one object of 1.5 MB may take, and how long it may be over many.
const PASS_MAX: (f64, f64) = (0.2, 1.0);

/// What a pass over such objects may need besides the objects, however many they are.
const PASS_BYTES_MAX: u64 = 64 << 20;

/// Karpenter on the same files.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Karpenter {
    /// Median over the seeds of its median time.
    pub(super) p50_seconds: f64,
    /// Its time over ours.
    pub(super) time_ratio: f64,
    /// Mean over the seeds of its fewest and most claims.
    pub(super) claims_range: [f64; 2],
    /// Mean over the seeds of its lowest and highest price.
    pub(super) price_range: [f64; 2],
    /// Pods it left without a place.
    pub(super) unplaced: usize,
}

/// What pods that never fit may cost the others at most, as a share of the time.
const NEVER_FIT_OVERHEAD_MAX: f64 = 0.10;

/// Prices are sums of many floats; what differs by less than this many percent is equal.
const PRICE_TOLERANCE_PERCENT: f64 = 0.05;

impl Result {
    /// Puts the seeds together.
    pub(super) fn new(workload: &str, seeds: &[Measurement], karpenter: &[Answer]) -> Self {
        let mut seconds: Vec<f64> = seeds.iter().flat_map(|seed| seed.seconds.clone()).collect();
        seconds.sort_by(f64::total_cmp);
        let p50_seconds = quantile(&seconds, 0.5);
        let pods = seeds.first().map_or(0, |seed| seed.pods);
        let price = mean(seeds.iter().map(|seed| seed.price));
        let lower_bound = mean(seeds.iter().map(|seed| seed.lower_bound));
        Self {
            workload: workload.to_owned(),
            pods,
            seeds: seeds.len(),
            runs: seconds.len(),
            pods_per_second: pods as f64 / p50_seconds.max(f64::MIN_POSITIVE),
            p50_seconds,
            p95_seconds: quantile(&seconds, 0.95),
            peak_bytes: seeds.iter().map(|seed| seed.peak_bytes).max().unwrap_or(0),
            claims: mean(seeds.iter().map(|seed| seed.claims as f64)),
            expected_claims: None,
            price,
            lower_bound,
            price_ratio: if lower_bound > 0.0 { price / lower_bound } else { 1.0 },
            never_fit_overhead: None,
            pass: None,
            karpenter: (!karpenter.is_empty()).then(|| Karpenter::new(karpenter, p50_seconds)),
        }
    }

    /// Notes how many claims each seed must have had; nothing where that is not known.
    pub(super) fn expect_claims(&mut self, expected: &[usize]) {
        if !expected.is_empty() {
            self.expected_claims = Some(mean(expected.iter().map(|claims| *claims as f64)));
        }
    }

    /// Notes what a whole pass took over so many pods with long lists.
    pub(super) fn tell_pass(&mut self, seeds: &[Measurement], long_pods: usize) {
        self.pass = Some(Pass {
            long_pods,
            seconds: seeds.iter().map(|seed| seed.pass_seconds).fold(0.0, f64::max),
            bytes: seeds.iter().map(|seed| seed.pass_bytes).max().unwrap_or(0),
        });
    }

    /// What a row of figures does not say.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(overhead) = self.never_fit_overhead {
            let style = if overhead <= NEVER_FIT_OVERHEAD_MAX { GOOD } else { BAD };
            let cost = text::styled(&format!("{:+.1} %", overhead * 100.0), style);
            remarks.push(format!(
                "{}: pods that never fit cost the others {cost} (at most 10 % is wanted).",
                self.workload
            ));
        }
        if let Some(Pass { long_pods, seconds, bytes }) = &self.pass {
            let max = if *long_pods > 1 { PASS_MAX.1 } else { PASS_MAX.0 };
            let style = |is_good| if is_good { GOOD } else { BAD };
            let time = text::styled(&duration(*seconds), style(*seconds <= max));
            let memory =
                text::styled(&format!("{} MiB", bytes >> 20), style(*bytes <= PASS_BYTES_MAX));
            remarks.push(format!(
                "{}: with {long_pods} × 1.5 MB of lists a whole pass took {time} (at most {} is wanted) and {memory} besides \
                 the objects (at most {} MiB).",
                self.workload,
                duration(max),
                PASS_BYTES_MAX >> 20
            ));
        }
        if let Some(expected) = self.expected_claims.map(number)
            && expected != number(self.claims)
        {
            let wrong = format!("{} instances instead of {expected}", number(self.claims));
            remarks.push(format!("{}: {}.", self.workload, text::styled(&wrong, BAD)));
        }
        if let Some(theirs) = &self.karpenter {
            remarks.extend(theirs.remarks(self));
        }
        remarks
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = vec![
            self.workload.clone().into(),
            text::thousands(self.pods).into(),
            text::thousands(self.pods_per_second.round() as usize).into(),
            duration(self.p50_seconds).into(),
            duration(self.p95_seconds).into(),
            format!("{} MiB", self.peak_bytes >> 20).into(),
            number(self.claims).into(),
            text::price(self.price).into(),
            text::price(self.lower_bound).into(),
            format!("≤ {:.1}%", (self.price_ratio - 1.0) * 100.0).into(),
        ];
        cells.extend(match &self.karpenter {
            None => [const { String::new() }; 4].map(Cell::from),
            Some(theirs) => [
                duration(theirs.p50_seconds).into(),
                format!("{:.1}×", theirs.time_ratio).into(),
                range(theirs.claims_range, number).into(),
                range(theirs.price_range, text::price).into(),
            ],
        });
        cells
    }
}

impl Karpenter {
    fn new(answers: &[Answer], our_seconds: f64) -> Self {
        let mut seconds: Vec<f64> = answers.iter().map(|answer| answer.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let p50_seconds = quantile(&seconds, 0.5);
        let ends = |range: fn(&Answer) -> [f64; 2]| {
            [0, 1].map(|end| mean(answers.iter().map(|answer| range(answer)[end])))
        };
        Self {
            p50_seconds,
            time_ratio: p50_seconds / our_seconds.max(f64::MIN_POSITIVE),
            claims_range: ends(|answer| answer.nodes_range),
            price_range: ends(|answer| answer.price_range),
            unplaced: answers.iter().map(|answer| answer.pods - answer.placed).sum(),
        }
    }

    /// Where Karpenter did better, or less than it should.
    fn remarks(&self, ours: &Result) -> Vec<String> {
        let mut remarks = Vec::new();
        let [_, dearest] = self.price_range;
        let above = (ours.price / dearest.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
        if above > PRICE_TOLERANCE_PERCENT {
            let worse = text::styled(&format!("{above:.1} % dearer"), BAD);
            remarks.push(format!("{}: {worse} than Karpenter's dearest plans.", ours.workload));
        }
        if self.unplaced > 0 {
            let left = text::count(self.unplaced, "pod");
            let name = &ours.workload;
            remarks.push(format!("{name}: Karpenter left {left} without a place, over all seeds."));
        }
        remarks
    }
}

/// The report for people.
pub(super) fn render(results: &[Result]) -> String {
    let right = |title| (title, Align::Right);
    let mut table = Table::new([
        ("WORKLOAD", Align::Left),
        right("PODS"),
        right("PODS/S"),
        right("P50"),
        right("P95"),
        right("MEMORY"),
        right("INSTANCES"),
        right("PRICE/H"),
        right("AT LEAST"),
        right("ABOVE BEST"),
        right("KARPENTER P50"),
        right("FASTER"),
        right("ITS INSTANCES"),
        right("ITS PRICE/H"),
    ]);
    for result in results {
        table.row(result.cells());
    }
    let mut lines = vec![
        table.render(),
        "Times are of planning alone, reading excluded; memory is the whole process's, reading \
         included."
            .to_owned(),
        "Instances and prices are means over the seeds; every plan passed the checker.".to_owned(),
        "The best possible price lies between AT LEAST and PRICE/H; a plan is ABOVE BEST dearer than \
         it at most."
            .to_owned(),
    ];
    lines.extend(results.iter().flat_map(Result::remarks));
    lines.join("\n") + "\n"
}

/// The value below which a share of the sorted values lies.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// A mean that is whole is printed whole.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { text::thousands(value as usize) } else { format!("{value:.1}") }
}

fn range(range: [f64; 2], print: fn(f64) -> String) -> String {
    let [low, high] = range.map(print);
    if low == high { low } else { format!("{low}–{high}") }
}

pub(super) fn duration(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}
