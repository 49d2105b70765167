//! The resources that the kubelet of an instance reserves.
//!
//! The planner and the kubelet's configuration use the same numbers, so that plan and node agree. A
//! cloud has its [`Defaults`]. The values of a class replace them one by one.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
    net::IpAddr,
};

use joiner_api::duration::Duration;
use joiner_core::{
    instance_type::Overhead,
    quantity::{Format, Quantity},
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, Resources},
};

use crate::spec::{Problem, Reason, kubelet::Kubelet};

const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;

/// The default number of pods of a node: Kubernetes' own.
const DEFAULT_PODS: i64 = 110;

/// The default grace period of a soft eviction threshold. The kubelet refuses a soft threshold
/// without one, and has no default of its own; this value is ours.
const SOFT_EVICTION_GRACE: &str = "2m";

/// The kubelet's own defaults for the removal of images, in percent of the disk.
const IMAGE_GC_HIGH: i32 = 85;
const IMAGE_GC_LOW: i32 = 80;

/// Default eviction thresholds. Both are the kubelet's own.
pub const EVICTION: [(&str, Threshold); 2] = [
    (MEMORY, Threshold::Amount(Quantity::bytes(100 * MIB))),
    (EPHEMERAL_STORAGE, Threshold::Percent(Quantity::whole(10))),
];

/// The kubelet's eviction signals, and the resources that they measure.
const SIGNALS: [(&str, &str); 2] =
    [("memory.available", MEMORY), ("nodefs.available", EPHEMERAL_STORAGE)];

/// An eviction threshold: how little of a resource may remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// An amount.
    Amount(Quantity),
    /// A share of the capacity.
    Percent(Quantity),
}

impl Threshold {
    fn parse(text: &str) -> Option<Self> {
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().ok().filter(|amount| *amount >= Quantity::ZERO).map(Self::Amount);
        };
        let percent: Quantity = percent.parse().ok()?;
        (Quantity::ZERO..=Quantity::whole(100)).contains(&percent).then_some(Self::Percent(percent))
    }

    /// The threshold in bytes, rounded up. A kubelet reads 100 % as: never evict.
    fn of(self, capacity: Quantity) -> Quantity {
        match self {
            Self::Amount(amount) => amount,
            Self::Percent(percent) if percent == Quantity::whole(100) => Quantity::ZERO,
            Self::Percent(percent) => {
                let hundred = Quantity::whole(100).nanos();
                // In whole units the product stays far inside the integer's range.
                let units = i128::from(capacity.floor()) * percent.nanos();
                let rounded_up = (units + hundred - 1).div_euclid(hundred);
                let one = Quantity::whole(1).nanos();
                Quantity::from_nanos(rounded_up * one, Format::BinarySi)
            }
        }
    }
}

impl Display for Threshold {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amount(amount) => write!(f, "{amount}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// The number of pods of a node: from its size, its class, or the default.
pub fn pods(of_size: Option<i64>, cpus: i64, kubelet: Option<&Kubelet>) -> i64 {
    let of_class = kubelet.and_then(|kubelet| kubelet.max_pods).map(i64::from);
    let pods = of_size.or(of_class).unwrap_or(DEFAULT_PODS);
    match kubelet.and_then(|kubelet| kubelet.pods_per_core).map(i64::from) {
        Some(per_core) if per_core > 0 => pods.min(per_core.saturating_mul(cpus)),
        _ => pods,
    }
}

/// The default reservations of a cloud's kubelets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// For the kubelet and the container runtime.
    pub kube_reserved: Resources,
    /// For the operating system.
    pub system_reserved: Resources,
    /// Where evictions start at once, by resource.
    pub eviction: &'static [(&'static str, Threshold)],
}

impl Defaults {
    /// Reservations that grow with the CPUs and pods of an instance, in the formulas that managed
    /// Kubernetes services publish.
    pub fn growing(cpus: i64, pods: i64, capacity: &Resources) -> Self {
        let mut kube_reserved = Resources::from_iter([
            (CPU, reserved_cpu(cpus)),
            (MEMORY, Quantity::bytes((255 + 11 * pods) * MIB)),
        ]);
        if capacity.contains(EPHEMERAL_STORAGE) {
            kube_reserved.set(EPHEMERAL_STORAGE, Quantity::bytes(GIB));
        }
        Self { kube_reserved, system_reserved: Resources::new(), eviction: &EVICTION }
    }
}

/// The reservations of an instance with this capacity.
pub fn overhead(defaults: &Defaults, capacity: &Resources, kubelet: Option<&Kubelet>) -> Overhead {
    let written =
        |of: fn(&Kubelet) -> Option<&Resources>| kubelet.and_then(of).cloned().unwrap_or_default();
    Overhead {
        kube_reserved: defaults
            .kube_reserved
            .overlaid(&written(|kubelet| kubelet.kube_reserved.as_ref())),
        system_reserved: defaults
            .system_reserved
            .overlaid(&written(|kubelet| kubelet.system_reserved.as_ref())),
        eviction_threshold: eviction(defaults.eviction, capacity, kubelet),
    }
}

/// 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 % of the others, in
/// whole millicores.
fn reserved_cpu(cpus: i64) -> Quantity {
    let of_others = (cpus - 4).max(0) * 25;
    let tenths = [600, 100, 50, 50].iter().take(cpus.max(0) as usize).sum::<i64>() + of_others;
    Quantity::milli((tenths + 9).div_euclid(10))
}

/// The hard eviction thresholds by signal: those of the class, else the defaults. A kubelet that gets
/// any threshold drops its own defaults, so all thresholds are passed.
pub fn hard_evictions(
    defaults: &[(&str, Threshold)],
    capacity: &Resources,
    kubelet: Option<&Kubelet>,
) -> BTreeMap<String, String> {
    let defaults = defaults.iter().filter(|(resource, _)| capacity.contains(resource));
    let mut hard: BTreeMap<String, String> = defaults
        .filter_map(|(resource, threshold)| {
            let (signal, _) = SIGNALS.iter().find(|(_, of)| of == resource)?;
            Some(((*signal).to_owned(), threshold.to_string()))
        })
        .collect();
    let written = kubelet.and_then(|kubelet| kubelet.eviction_hard.as_ref());
    for (signal, text) in written.into_iter().flatten() {
        hard.insert(signal.clone(), text.trim().to_owned());
    }
    hard
}

/// The higher of hard and soft threshold of each resource that the instance has.
fn eviction(
    defaults: &[(&str, Threshold)],
    capacity: &Resources,
    kubelet: Option<&Kubelet>,
) -> Resources {
    let mut thresholds = Resources::new();
    for &(resource, default) in defaults {
        if !capacity.contains(resource) {
            continue;
        }
        let total = capacity.get(resource);
        let written = kubelet.into_iter().flat_map(written_thresholds);
        let highest = written
            .filter_map(|(_, signal, text)| {
                let meant = SIGNALS.contains(&(signal, resource));
                meant.then(|| Threshold::parse(text)).flatten()
            })
            .map(|threshold| threshold.of(total))
            .max();
        thresholds.set(resource, highest.unwrap_or_else(|| default.of(total)));
    }
    thresholds
}

/// Field, signal and text of every threshold that is written.
fn written_thresholds(kubelet: &Kubelet) -> impl Iterator<Item = (&'static str, &str, &str)> {
    fn of<'k>(
        field: &'static str,
        map: Option<&'k BTreeMap<String, String>>,
    ) -> impl Iterator<Item = (&'static str, &'k str, &'k str)> {
        map.into_iter().flatten().map(move |(signal, text)| (field, signal.as_str(), text.trim()))
    }
    of("evictionHard", kubelet.eviction_hard.as_ref())
        .chain(of("evictionSoft", kubelet.eviction_soft.as_ref()))
}

/// Arguments of the kubelet that do not change what pods can use, by name.
pub fn extra_arguments(kubelet: &Kubelet) -> BTreeMap<String, String> {
    let mut arguments = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            arguments.insert(name.to_owned(), value);
        }
    };
    let soft = kubelet.eviction_soft.iter().flatten();
    let thresholds: Vec<String> =
        soft.clone().map(|(signal, at)| format!("{signal}<{}", at.trim())).collect();
    let of_signal = |signal: &String| {
        let written = kubelet.eviction_soft_grace_period.as_ref();
        let own = written.and_then(|periods| periods.get(signal)).map(|own| own.trim());
        own.unwrap_or(SOFT_EVICTION_GRACE).to_owned()
    };
    let periods: Vec<String> =
        soft.map(|(signal, _)| format!("{signal}={}", of_signal(signal))).collect();
    add("eviction-soft", Some(thresholds.join(",")));
    add("eviction-soft-grace-period", Some(periods.join(",")));
    let number = |own: Option<i32>| own.map(|own| own.to_string());
    add("eviction-max-pod-grace-period", number(kubelet.eviction_max_pod_grace_period));
    add("image-gc-high-threshold", number(kubelet.image_gc_high_threshold_percent));
    add("image-gc-low-threshold", number(kubelet.image_gc_low_threshold_percent));
    add("cpu-cfs-quota", kubelet.cpu_cfs_quota.map(|own| own.to_string()));
    add("cluster-dns", kubelet.cluster_dns.as_ref().map(|servers| servers.join(",")));
    arguments
}

/// What is wrong with `spec.kubelet`.
pub fn check(kubelet: &Kubelet, problems: &mut Vec<Problem>) {
    let mut refuse = |field: String, text: String| {
        let field = format!("spec.kubelet.{field}");
        problems.push(Problem::new(Reason::INVALID_KUBELET, field, text));
    };
    for (field, reserved) in
        [("kubeReserved", &kubelet.kube_reserved), ("systemReserved", &kubelet.system_reserved)]
    {
        for (name, amount) in reserved.iter().flat_map(Resources::iter) {
            if amount < Quantity::ZERO {
                let text = format!("{amount} is below zero; write an amount of 0 or more");
                refuse(format!("{field}.{name}"), text);
            }
        }
    }
    let is_soft =
        |signal: &str| kubelet.eviction_soft.as_ref().is_some_and(|soft| soft.contains_key(signal));
    for (signal, period) in kubelet.eviction_soft_grace_period.iter().flatten() {
        let field = format!("evictionSoftGracePeriod[{signal:?}]");
        let is_period = |own: Duration| own.nanos() >= 0;
        if !period.trim().parse().is_ok_and(is_period) {
            refuse(field, format!("{period:?} is not a duration; write one such as 90s or 2m"));
        } else if !is_soft(signal) {
            let remedy = "write one, or leave the period out";
            refuse(field, format!("has no threshold in evictionSoft; {remedy}"));
        }
    }
    if let Some(seconds) = kubelet.eviction_max_pod_grace_period.filter(|own| *own < 0) {
        let text = format!("{seconds} is not a duration; write seconds, 0 or more");
        refuse("evictionMaxPodGracePeriod".to_owned(), text);
    }
    let (high, low) =
        (kubelet.image_gc_high_threshold_percent, kubelet.image_gc_low_threshold_percent);
    for (field, own) in [("imageGCHighThresholdPercent", high), ("imageGCLowThresholdPercent", low)]
    {
        if let Some(own) = own.filter(|own| !(0..=100).contains(own)) {
            refuse(
                field.to_owned(),
                format!("{own} is not a percentage; write a number from 0 to 100"),
            );
        }
    }
    // A missing value is the kubelet's default.
    let (high, low) = (high.unwrap_or(IMAGE_GC_HIGH), low.unwrap_or(IMAGE_GC_LOW));
    if low >= high {
        let text = format!(
            "is {low}, which is not below imageGCHighThresholdPercent, {high}; the kubelet does \
             not start like that, so write less"
        );
        refuse("imageGCLowThresholdPercent".to_owned(), text);
    }
    for (i, server) in kubelet.cluster_dns.iter().flatten().enumerate() {
        if server.parse::<IpAddr>().is_err() {
            let text = format!("{server:?} is not an IP address; write one such as 10.96.0.10");
            refuse(format!("clusterDNS[{i}]"), text);
        }
    }
    for (field, signal, text) in written_thresholds(kubelet) {
        if Threshold::parse(text).is_none() {
            let remedy = "write an amount such as 200Mi, or a percentage such as 5%";
            refuse(
                format!("{field}[{signal:?}]"),
                format!("{text:?} is not a threshold; {remedy}"),
            );
        }
    }
}

#[cfg(test)]
mod tests;
