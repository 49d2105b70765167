//! How fast nodes are declared lost. One node after the other, so that an administrator can react
//! before a network or zone fault empties the cluster.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// The usual time between two nodes of a zone (`--node-eviction-rate=0.1`).
const USUAL: SignedDuration = SignedDuration::from_secs(10);
/// The time between two nodes of a large zone in trouble (`--secondary-node-eviction-rate=0.01`).
const SLOW: SignedDuration = SignedDuration::from_secs(100);
/// Zones of up to this size stop altogether (`--large-cluster-size-threshold`).
const LARGE: usize = 50;
/// The percentage of lost nodes from which a zone is in trouble (`--unhealthy-zone-threshold`).
const TROUBLE: usize = 55;

/// The state of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Normal,
    /// So many nodes are lost that the fault may be somewhere else.
    Trouble,
    /// Every node is lost.
    Dark,
}

#[derive(Debug, Default)]
struct Zone {
    ready: usize,
    lost: usize,
    next: Option<Timestamp>,
}

impl Zone {
    fn state(&self) -> State {
        let total = self.ready + self.lost;
        if self.lost > 0 && self.ready == 0 {
            State::Dark
        } else if self.lost > 2 && self.lost * 100 >= total * TROUBLE {
            State::Trouble
        } else {
            State::Normal
        }
    }

    /// The time between two nodes; nothing when no node is to follow.
    fn interval(&self) -> Option<SignedDuration> {
        match self.state() {
            State::Normal | State::Dark => Some(USUAL),
            State::Trouble if self.ready + self.lost > LARGE => Some(SLOW),
            State::Trouble => None,
        }
    }
}

/// The pace of all zones.
#[derive(Debug, Default)]
pub(super) struct Pace {
    zones: BTreeMap<String, Zone>,
}

impl Pace {
    /// Counts a node in or out. Says whether waiting nodes have to ask again.
    pub(super) fn count(&mut self, zone: &str, ready: bool, there: bool) -> bool {
        let all_dark = self.all_dark();
        let entry = self.zones.entry(zone.to_owned()).or_default();
        let before = entry.state();
        let counter = if ready { &mut entry.ready } else { &mut entry.lost };
        *counter = if there { *counter + 1 } else { counter.saturating_sub(1) };
        let changed = entry.state() != before;
        if changed {
            entry.next = None;
        }
        if entry.ready + entry.lost == 0 {
            self.zones.remove(zone);
        }
        changed || all_dark != self.all_dark()
    }

    /// Whether no node anywhere is ready. Then it is the control plane that cannot see, and no
    /// pod is driven out anywhere.
    pub(super) fn all_dark(&self) -> bool {
        !self.zones.is_empty() && self.zones.values().all(|zone| zone.state() == State::Dark)
    }

    /// When a node may be declared lost: now or later; nothing while its zone has stopped.
    pub(super) fn turn(&mut self, zone: &str, now: Timestamp) -> Option<Timestamp> {
        if self.all_dark() {
            return None;
        }
        let zone = self.zones.get_mut(zone)?;
        let interval = zone.interval()?;
        let turn = zone.next.map_or(now, |next| next.max(now));
        zone.next = Some(turn.saturating_add(interval).unwrap_or(Timestamp::MAX));
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn zone(pace: &mut Pace, name: &str, ready: usize, lost: usize) {
        for number in 0..ready + lost {
            pace.count(name, number < ready, true);
        }
    }

    #[test]
    fn one_node_of_a_zone_every_ten_seconds() {
        let mut pace = Pace::default();
        zone(&mut pace, "a", 8, 2);
        zone(&mut pace, "b", 8, 2);
        let mut turn = |zone| pace.turn(zone, at(100)).map(Timestamp::as_second);
        assert_eq!([turn("a"), turn("a"), turn("b")], [Some(100), Some(110), Some(100)]);
    }

    #[test]
    fn a_zone_in_trouble_stops_or_slows_down() {
        let mut pace = Pace::default();
        zone(&mut pace, "small", 4, 6);
        zone(&mut pace, "large", 40, 60);
        zone(&mut pace, "dark", 0, 3);
        let mut turn = |zone| pace.turn(zone, at(0)).map(Timestamp::as_second);
        assert_eq!(turn("small"), None);
        assert_eq!([turn("large"), turn("large")], [Some(0), Some(100)]);
        assert_eq!([turn("dark"), turn("dark")], [Some(0), Some(10)]);
    }

    #[test]
    fn nobody_is_driven_out_when_all_is_dark() {
        let mut pace = Pace::default();
        zone(&mut pace, "a", 0, 2);
        zone(&mut pace, "b", 1, 0);
        assert!(!pace.all_dark());
        assert!(pace.count("b", true, false));
        assert!(pace.all_dark());
        assert_eq!(pace.turn("a", at(0)), None);
    }
}
