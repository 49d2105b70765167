//! Metrics of the process from the operating system, with the names that Go programs use.

use std::{collections::HashMap, fs};

use prometheus::{
    core::{Collector, Desc},
    proto::{Counter, Gauge, Metric, MetricFamily, MetricType},
};

use super::gauge_set::family;

/// Reads from `/proc` whenever it is asked; what cannot be read is left out.
#[derive(Debug)]
pub(super) struct Process {
    cpu: Desc,
    resident: Desc,
    virtual_memory: Desc,
    start: Desc,
    open_files: Desc,
    open_files_max: Desc,
}

impl Process {
    pub(super) fn new() -> prometheus::Result<Self> {
        let desc = |name: &str, help: &str| {
            Desc::new(name.to_owned(), help.to_owned(), Vec::new(), HashMap::new())
        };
        Ok(Self {
            cpu: desc(
                "process_cpu_seconds_total",
                "Total user and system CPU time spent in seconds.",
            )?,
            resident: desc("process_resident_memory_bytes", "Resident memory size in bytes.")?,
            virtual_memory: desc("process_virtual_memory_bytes", "Virtual memory size in bytes.")?,
            start: desc(
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
            )?,
            open_files: desc("process_open_fds", "Number of open file descriptors.")?,
            open_files_max: desc("process_max_fds", "Maximum number of open file descriptors.")?,
        })
    }
}

impl Collector for Process {
    fn desc(&self) -> Vec<&Desc> {
        let Self { cpu, resident, virtual_memory, start, open_files, open_files_max } = self;
        vec![cpu, resident, virtual_memory, start, open_files, open_files_max]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let stat = fs::read_to_string("/proc/self/stat").ok().and_then(|text| Stat::read(&text));
        let gauges = [
            (&self.resident, stat.as_ref().map(Stat::resident_bytes)),
            (&self.virtual_memory, stat.as_ref().map(|stat| stat.virtual_bytes as f64)),
            (&self.start, stat.as_ref().and_then(Stat::start_seconds)),
            (
                &self.open_files,
                fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64),
            ),
            (&self.open_files_max, open_files_max()),
        ];
        let gauges = gauges.into_iter().filter_map(|(desc, value)| {
            let mut gauge = Gauge::default();
            gauge.set_value(value?);
            Some(family(desc, MetricType::GAUGE, vec![Metric::from_gauge(gauge)]))
        });
        let cpu = stat.as_ref().map(|stat| {
            let mut counter = Counter::default();
            counter.set_value(stat.cpu_seconds());
            let mut metric = Metric::default();
            metric.set_counter(counter);
            family(&self.cpu, MetricType::COUNTER, vec![metric])
        });
        gauges.chain(cpu).collect()
    }
}

/// What `/proc/self/stat` says.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    started_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    /// Fields are counted from the end of the program's name, which may hold spaces; the first
    /// after it is the third of proc(5).
    fn read(text: &str) -> Option<Self> {
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            started_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }

    fn cpu_seconds(&self) -> f64 {
        seconds(self.cpu_ticks)
    }

    fn resident_bytes(&self) -> f64 {
        self.resident_pages as f64 * rustix::param::page_size() as f64
    }

    /// Since the epoch: the process says when it started after the computer did.
    fn start_seconds(&self) -> Option<f64> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let booted: u64 =
            text.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
        Some(booted as f64 + seconds(self.started_ticks))
    }
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

fn open_files_max() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_is_skipped() {
        let numbers: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        let stat = Stat::read(&format!("7 (a (b) c) S {}", numbers.join(" ")));
        let expected =
            Stat { cpu_ticks: 29, started_ticks: 22, virtual_bytes: 23, resident_pages: 24 };
        assert_eq!(stat, Some(expected));
    }
}
