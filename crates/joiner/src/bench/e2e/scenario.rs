//! The scenarios: how many pods of which sizes, and under which conditions.

use crate::bench::objects::Size;

/// One deployment.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) replicas: usize,
    pub(super) size: Size,
    /// Whether two of its pods on one host must be balanced by at least one on every other.
    pub(super) spread_over_hosts: bool,
}

/// What is asked of a controller.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) loads: [Load; 2],
    /// Pods pile up first, and the pool that could help them comes last.
    pub(super) backlog: bool,
    /// The most memory that the controller may have, in bytes.
    pub(super) memory_limit: Option<u64>,
    /// How the controller is to get rid of machines again, unless asked for otherwise.
    pub(super) scale_in: ScaleIn,
    /// How many requests a second Kubernetes' own controllers and scheduler make at most; what they
    /// allow themselves without.
    pub(super) client_qps: Option<u32>,
}

/// How a cluster becomes smaller again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScaleIn {
    /// It does not.
    None,
    /// Deployments keep this percentage of their pods; the controller consolidates.
    Keep(u8),
    /// The pool is deleted while all its machines are in use, so that each is drained.
    Drain,
}

impl ScaleIn {
    /// As on the command line.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "drain" => Ok(Self::Drain),
            _ => match text.parse() {
                Ok(percent @ 0..=99) => Ok(Self::Keep(percent)),
                _ => Err("is none, drain, or the percentage of pods that stay: 0 to 99".to_owned()),
            },
        }
    }

    /// For people.
    pub(super) fn about(self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Keep(0) => {
                "all pods go, until the controller has removed all machines".to_owned()
            }
            Self::Keep(percent) => format!(
                "{percent} % of the pods stay, until no machine has come or gone for two minutes"
            ),
            Self::Drain => "the pool is deleted with all its pods, until all machines are drained \
                            and gone"
                .to_owned(),
        }
    }
}

const fn size(cpu: u32, memory: u32) -> Size {
    Size { cpu, memory }
}

const fn load(name: &'static str, replicas: usize, size: Size) -> Load {
    Load { name, replicas, size, spread_over_hosts: false }
}

// Sizes of Karpenter's performance suite.
const SMALL: Size = size(900, 3100);
const LARGE: Size = size(3500, 28 * 1024);

pub(super) static ALL: [Scenario; 3] = [
    Scenario {
        name: "basic",
        about: "500 pods of 900m and 3100Mi, 500 of 3500m and 28Gi",
        loads: [load("small", 500, SMALL), load("large", 500, LARGE)],
        backlog: false,
        memory_limit: None,
        scale_in: ScaleIn::Keep(0),
        client_qps: None,
    },
    Scenario {
        name: "spread",
        about: "1,000 pods of 900m and 3100Mi spread over hosts, 1,000 of 3500m and 28Gi",
        loads: [
            Load { spread_over_hosts: true, ..load("small", 1000, SMALL) },
            load("large", 1000, LARGE),
        ],
        backlog: false,
        memory_limit: None,
        scale_in: ScaleIn::Keep(0),
        client_qps: None,
    },
    Scenario {
        name: "backlog",
        about: "15,000 small pods that all wait before the pool is made, in 256 MiB of memory",
        loads: [load("small", 7_500, size(200, 400)), load("large", 7_500, size(400, 1024))],
        backlog: true,
        memory_limit: Some(256 << 20),
        scale_in: ScaleIn::None,
        // At their own pace, they would take ten minutes to pile the pods up.
        client_qps: Some(1_000),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_to_become_smaller_is_a_word_or_a_percentage() {
        assert_eq!(ScaleIn::parse("none"), Ok(ScaleIn::None));
        assert_eq!(ScaleIn::parse("drain"), Ok(ScaleIn::Drain));
        assert_eq!(ScaleIn::parse("70"), Ok(ScaleIn::Keep(70)));
        for wrong in ["100", "-1", "70%", "all"] {
            assert_eq!(
                ScaleIn::parse(wrong),
                Err("is none, drain, or the percentage of pods that stay: 0 to 99".to_owned()),
                "{wrong}"
            );
        }
    }
}
