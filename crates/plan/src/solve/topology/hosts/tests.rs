use proptest::{collection::vec, prelude::*};

use super::*;

/// What happens to the counts of a group.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A claim is opened, which is an outsider or not.
    Opened(bool),
    /// A pod comes to an instance, or leaves it; which one, is a number that is as large as one likes.
    Pod(usize, Way),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        1 => any::<bool>().prop_map(Event::Opened),
        6 => (0usize..100).prop_map(|at| Event::Pod(at, Way::In)),
        2 => (0usize..100).prop_map(|at| Event::Pod(at, Way::Out)),
    ];
    vec(event, 0..60)
}

/// The same counts, worked out from scratch.
#[derive(Debug, Default)]
struct Naive {
    /// Pods, and whether the instance is an outsider. Nodes first, in their number.
    instances: Vec<(i64, bool)>,
    nodes: usize,
    most: i64,
    max_skew: i64,
}

impl Naive {
    fn instance(&self, at: usize) -> Instance {
        if at < self.nodes { Instance::Node(at) } else { Instance::Claim(at - self.nodes) }
    }

    fn lowest(&self) -> i64 {
        let insiders = self.instances.iter().filter(|(_, is_outsider)| !is_outsider);
        insiders.map(|(count, _)| *count).min().map_or(self.most, |least| least.min(self.most))
    }

    fn refuses(&self, at: usize, counts_itself: bool) -> bool {
        let (count, _) = self.instances[at];
        count + i64::from(counts_itself) - self.lowest() > self.max_skew
    }
}

fn is_refused(counts: &HostCounts, instance: Instance, counts_itself: bool) -> bool {
    let (nodes, at) = match instance {
        Instance::Node(at) => (true, at),
        Instance::Claim(at) => (false, at),
    };
    counts.crowded(counts_itself, nodes, at / 64) >> (at % 64) & 1 == 1
}

proptest! {
    #[test]
    fn instances_are_compared_with_the_one_that_has_fewest(
        bound in vec((0i64..4, any::<bool>()), 1..70),
        max_skew in 1i64..4,
        counts_at_all in any::<bool>(),
        events in events(),
    ) {
        let mut counts = HostCounts::spread(max_skew);
        for (at, (pods, _)) in bound.iter().enumerate() {
            (0..*pods).for_each(|_| counts.shift(Some(Instance::Node(at)), Way::In));
        }
        let most = if counts_at_all { counts.lowest_occupied() } else { 0 };
        let fewest = bound.iter().map(|(pods, _)| *pods).filter(|pods| *pods > 0).min();
        prop_assert!(!counts_at_all || most as i64 == fewest.unwrap_or(0));
        let outsiders = bound.iter().enumerate().filter(|(_, (_, is_outsider))| *is_outsider);
        counts.count_lowest(most, bound.len(), outsiders.map(|(at, _)| at).collect());
        let (nodes, most) = (bound.len(), most as i64);
        let mut naive = Naive { instances: bound, nodes, most, max_skew };
        for event in events {
            match event {
                Event::Opened(is_outsider) => {
                    counts.open(naive.instances.len() - nodes, is_outsider);
                    naive.instances.push((0, is_outsider));
                }
                Event::Pod(at, way) => {
                    let at = at % naive.instances.len();
                    let instance = naive.instance(at);
                    let count = &mut naive.instances[at].0;
                    if way == Way::In || *count > 0 {
                        *count += if way == Way::In { 1 } else { -1 };
                        counts.shift(Some(instance), way);
                    }
                }
            }
            for at in 0..naive.instances.len() {
                for counts_itself in [true, false] {
                    let refused = is_refused(&counts, naive.instance(at), counts_itself);
                    // An instance without any of the pods takes one whatever the others have.
                    let expected = naive.instances[at].0 > 0 && naive.refuses(at, counts_itself);
                    prop_assert_eq!(refused, expected, "{} {:?}", at, naive);
                }
            }
            let too_many = (0..naive.instances.len()).filter(|at| naive.refuses(*at, false));
            let too_many: Vec<Instance> = too_many.map(|at| naive.instance(at)).collect();
            prop_assert_eq!(counts.too_crowded().collect::<Vec<_>>(), too_many);
        }
    }
}
