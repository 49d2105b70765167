//! The scenarios that controllers are measured with: how many pods of which kinds come, and what
//! happens once they run. They are those of Karpenter's performance suite, with its own limits.
//!
//! [`super::e2e`] plays them on a real control plane, [`super::stories`] in virtual time.

pub(super) mod fleet;
pub(super) mod moved;
pub(super) mod objects;

use clap::builder::PossibleValuesParser;
use serde::Serialize;

use super::{objects::Size, workloads::WIDE};

/// One deployment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Load {
    pub(super) name: String,
    pub(super) replicas: usize,
    /// How many of them stay when there are to be fewer.
    pub(super) stays: usize,
    pub(super) size: Size,
    /// Whether two of its pods on one host must be balanced by at least one on every other.
    pub(super) spread_over_hosts: bool,
    /// The same for zones.
    pub(super) spread_over_zones: bool,
    /// Whether no two of its pods may share a host.
    pub(super) one_per_host: bool,
    /// Whether its pods ask not to be disrupted.
    pub(super) protected: bool,
}

/// What is asked of a controller.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) loads: fn() -> Vec<Load>,
    /// Pods pile up first, and the pool that could help them comes last.
    pub(super) backlog: bool,
    /// The most memory that the controller may have, in bytes.
    pub(super) memory_limit: Option<u64>,
    /// What happens once all pods run, unless asked for otherwise.
    pub(super) then: Then,
    /// How many requests a second Kubernetes' own controllers and scheduler make at most; what they
    /// allow themselves without.
    pub(super) client_qps: Option<u32>,
    /// What Karpenter's suite allows Karpenter, while pods come and after.
    pub(super) limits: Option<[Limit; 2]>,
}

/// What Karpenter's suite allows Karpenter in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Limit {
    pub(super) seconds: f64,
    pub(super) p95_megabytes: u64,
    pub(super) mean_cores: f64,
}

/// What happens once all pods run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing.
    Nothing,
    /// Deployments keep as many pods as the scenario says; the controller consolidates.
    Fewer,
    /// Deployments keep this percentage of their pods; the controller consolidates.
    Keep(u8),
    /// The pool's template changes, so that each instance is replaced.
    Drift,
    /// The pool is deleted while all its instances are in use, so that each is drained.
    Drain,
}

impl Then {
    /// As on the command line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::Nothing),
            "fewer" => Ok(Self::Fewer),
            "drift" => Ok(Self::Drift),
            "drain" => Ok(Self::Drain),
            _ => match text.parse() {
                Ok(percent @ 0..=99) => Ok(Self::Keep(percent)),
                _ => {
                    Err("is none, fewer, drift, drain, or the percentage of pods that stay: 0 to \
                          99"
                    .to_owned())
                }
            },
        }
    }

    /// For people.
    pub(super) fn about(self) -> String {
        let settled = "until the last instance has come or gone before two quiet minutes";
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Fewer => format!("fewer pods, {settled}"),
            Self::Keep(0) => {
                "all pods go, until the controller has removed all instances".to_owned()
            }
            Self::Keep(percent) => format!("{percent} % of the pods stay, {settled}"),
            Self::Drift => {
                "the pool's template changes, until each instance is replaced".to_owned()
            }
            Self::Drain => {
                "the pool is deleted with all its pods, until all instances are drained \
                            and gone"
                    .to_owned()
            }
        }
    }

    /// Whether some pods are left, so that the end is that nothing comes or goes any more.
    pub(super) fn settles(self) -> bool {
        matches!(self, Self::Fewer | Self::Keep(1..))
    }

    /// How many pods of a load are left.
    pub(super) fn left(self, load: &Load) -> usize {
        match self {
            Self::Fewer => load.stays,
            Self::Keep(percent) => load.replicas * usize::from(percent) / 100,
            Self::Nothing | Self::Drift | Self::Drain => load.replicas,
        }
    }
}

impl Scenario {
    /// The loads, or a share of each with at least one pod.
    pub(super) fn loads(&self, share: f64) -> Vec<Load> {
        let part = |pods: usize| ((pods as f64 * share).round() as usize).max(1);
        let shrink = |load: Load| Load {
            replicas: part(load.replicas),
            stays: part(load.stays).min(part(load.replicas)),
            ..load
        };
        (self.loads)().into_iter().map(shrink).collect()
    }

    /// Whether it is asked for by its name, or because none is.
    pub(super) fn is_wanted(&self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|name| name == self.name)
    }
}

/// The scenarios by name.
pub(super) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(ALL.iter().map(|scenario| scenario.name))
}

/// The scenarios with what they are about.
pub(super) fn help() -> String {
    let widest = ALL.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let lines =
        ALL.iter().map(|scenario| format!("  {:widest$}  {}", scenario.name, scenario.about));
    format!("Scenarios:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

// Sizes of Karpenter's performance suite.
const SMALL: Size = Size { cpu: 900, memory: 3100 };
const LARGE: Size = Size { cpu: 3500, memory: 28 * 1024 };
const PROTECTED: Size = Size { cpu: 900, memory: 450 };

fn load(name: &str, size: Size, replicas: usize, stays: usize) -> Load {
    Load {
        name: name.to_owned(),
        replicas,
        stays,
        size,
        spread_over_hosts: false,
        spread_over_zones: false,
        one_per_host: false,
        protected: false,
    }
}

fn over_hosts(load: Load) -> Load {
    Load { spread_over_hosts: true, ..load }
}

/// All are spread over zones; the first three take a host each, the next three are spread over hosts.
fn wide() -> Vec<Load> {
    let loads = WIDE.iter().enumerate().map(|(index, &(cpu, memory))| {
        let (replicas, stays) = if index < 20 { (35, 25) } else { (30, 20) };
        Load {
            spread_over_zones: true,
            one_per_host: index < 3,
            spread_over_hosts: (3..6).contains(&index),
            ..load(&format!("wide-{:02}", index + 1), Size { cpu, memory }, replicas, stays)
        }
    });
    loads.collect()
}

const fn limit(minutes: u32, p95_megabytes: u64, mean_cores: f64) -> Limit {
    Limit { seconds: minutes as f64 * 60.0, p95_megabytes, mean_cores }
}

const PLAIN: Scenario = Scenario {
    name: "",
    about: "",
    loads: Vec::new,
    backlog: false,
    memory_limit: None,
    then: Then::Fewer,
    client_qps: None,
    limits: None,
};

pub(super) static ALL: [Scenario; 7] = [
    Scenario {
        name: "basic",
        about: "500 pods of 900m and 3100Mi, 500 of 3500m and 28Gi; then 350 of each",
        loads: || vec![load("small", SMALL, 500, 350), load("large", LARGE, 500, 350)],
        limits: Some([limit(2, 260, 0.5), limit(20, 260, 0.25)]),
        ..PLAIN
    },
    Scenario {
        name: "spreading",
        about: "the same, the small ones spread over hosts",
        loads: || vec![over_hosts(load("small", SMALL, 500, 350)), load("large", LARGE, 500, 350)],
        limits: Some([limit(5, 680, 1.15), limit(30, 575, 1.0)]),
        ..PLAIN
    },
    Scenario {
        name: "spread",
        about: "twice as many; then 700 of each",
        loads: || {
            vec![over_hosts(load("small", SMALL, 1000, 700)), load("large", LARGE, 1000, 700)]
        },
        limits: Some([limit(35, 1330, 1.4), limit(35, 1200, 1.7)]),
        ..PLAIN
    },
    Scenario {
        name: "do-not-disrupt",
        about: "500 small ones spread over hosts, 500 large ones and 100 of 900m and 450Mi that \
                must not be disrupted; then 250, 250 and 100",
        loads: || {
            let protected = load("protected", PROTECTED, 100, 100);
            vec![
                over_hosts(load("small", SMALL, 500, 250)),
                load("large", LARGE, 500, 250),
                Load { protected: true, ..protected },
            ]
        },
        limits: Some([limit(4, 645, 1.1), limit(35, 585, 0.8)]),
        ..PLAIN
    },
    Scenario {
        name: "wide",
        about: "1,000 pods of 30 deployments, from 225m to 3800m and from 300Mi to 64Gi, spread \
                over zones; then 700",
        loads: wide,
        limits: Some([limit(5, 370, 0.7), limit(40, 340, 0.3)]),
        ..PLAIN
    },
    Scenario {
        name: "drift",
        about: "300 small pods spread over hosts and 300 large ones; then all instances drift",
        loads: || vec![over_hosts(load("small", SMALL, 300, 300)), load("large", LARGE, 300, 300)],
        then: Then::Drift,
        limits: Some([limit(5, 425, 0.7), limit(50, 470, 1.05)]),
        ..PLAIN
    },
    Scenario {
        name: "backlog",
        about: "15,000 small pods that all wait before the pool is made, in 256 MiB of memory",
        loads: || {
            vec![
                load("small", Size { cpu: 200, memory: 400 }, 7_500, 0),
                load("large", Size { cpu: 400, memory: 1024 }, 7_500, 0),
            ]
        },
        backlog: true,
        memory_limit: Some(256 << 20),
        then: Then::Nothing,
        // At their own pace, they would take ten minutes to pile the pods up.
        client_qps: Some(1_000),
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_then_is_a_word_or_a_percentage() {
        assert_eq!(Then::parse("none"), Ok(Then::Nothing));
        assert_eq!(Then::parse("fewer"), Ok(Then::Fewer));
        assert_eq!(Then::parse("drift"), Ok(Then::Drift));
        assert_eq!(Then::parse("drain"), Ok(Then::Drain));
        assert_eq!(Then::parse("70"), Ok(Then::Keep(70)));
        for wrong in ["100", "-1", "70%", "all"] {
            let problem = Then::parse(wrong).unwrap_err();
            assert!(problem.ends_with("0 to 99"), "{wrong}: {problem}");
        }
    }

    #[test]
    fn a_share_of_pods_is_never_none_of_them() {
        let scenario = ALL.iter().find(|scenario| scenario.name == "basic").unwrap();
        let pods = |share| scenario.loads(share).iter().map(|load| load.replicas).sum::<usize>();
        assert_eq!((pods(1.0), pods(0.25), pods(0.0001)), (1000, 250, 2));
    }

    #[test]
    fn thirty_deployments_are_a_thousand_pods_and_then_seven_hundred() {
        let loads = wide();
        let sum = |pods: fn(&Load) -> usize| loads.iter().map(pods).sum::<usize>();
        assert_eq!(
            (loads.len(), sum(|load| load.replicas), sum(|load| load.stays)),
            (30, 1000, 700)
        );
    }
}
