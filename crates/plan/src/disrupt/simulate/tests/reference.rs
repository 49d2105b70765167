//! Every answer is held against a cluster made anew without the instances in question, and no question leaves a trace.

use std::collections::BTreeSet;

use joiner_core::{
    disruption::Fleet,
    pod::{Pod, Role},
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::rng::Rng,
};

use super::random;
use crate::{
    disrupt::simulate::{Outcome, Question, Simulator, busy_instances},
    provision::Sorted,
    solve::{Placements, Pods, Shapes, Solver},
};

/// One step: these instances go, and these pods need a place.
#[derive(Debug, Clone)]
struct Stage {
    instances: Vec<usize>,
    question: Question,
    pods: Vec<Pod>,
    /// What is left of limits once the instances are gone.
    limits: String,
}

impl Stage {
    /// The pods that need a place when instances go: those that can be moved, and those that were put there.
    fn new(
        (instances, question): &(Vec<usize>, Question),
        simulator: &mut Simulator<'_>,
        snapshot: &Snapshot,
        fleet: &Fleet,
    ) -> Self {
        let mut pods = Vec::new();
        let there = |instance: &&usize| {
            let node = &snapshot.nodes[**instance];
            !node.leaving
        };
        for instance in instances.iter().filter(there) {
            let put = simulator.solver.put_on(*instance).iter();
            pods.extend(put.map(|pod| simulator.solver.pod(*pod).clone()));
            let facts = &fleet.instances[*instance].pods;
            let all = snapshot.nodes[*instance].pods.iter().zip(facts);
            pods.extend(all.filter(|(_, facts)| facts.movable).map(|(pod, _)| pod.clone()));
        }
        simulator.solver.begin(simulator.rules(*question));
        for instance in instances {
            let _ = simulator.solver.remove(*instance);
        }
        let limits = format!("{:?}", simulator.solver.limits_left());
        simulator.solver.take_back();
        Self { instances: instances.clone(), question: *question, pods, limits }
    }

    fn keys(&self) -> BTreeSet<String> {
        self.pods.iter().map(Pod::key).collect()
    }
}

/// What a cluster made anew says to the stages, one after the other; the first answer is about the pods that wait. With
/// each goes what was left of limits before.
fn made_anew(
    snapshot: &Snapshot,
    fleet: &Fleet,
    planning: &PlanSettings,
    stages: &[Stage],
) -> Vec<(String, Outcome)> {
    let gone: BTreeSet<usize> = stages.iter().flat_map(|stage| &stage.instances).copied().collect();
    // An instance that is leaving does not go any more than it already does.
    let stays = |at: usize| !gone.contains(&at) || snapshot.nodes[at].leaving;
    let kept: Vec<usize> = (0..snapshot.nodes.len()).filter(|at| stays(*at)).collect();
    let moved: BTreeSet<String> = stages.iter().flat_map(Stage::keys).collect();
    let mut first = snapshot.pods.clone();
    first.retain(|pod| !moved.contains(&pod.key()));
    let mut groups = vec![first];
    for (at, stage) in stages.iter().enumerate() {
        let later: BTreeSet<String> = stages[at + 1..].iter().flat_map(Stage::keys).collect();
        let mut pods = stage.pods.clone();
        pods.retain(|pod| !later.contains(&pod.key()));
        groups.push(pods);
    }
    // Those that are to be placed whatever happens come first, whenever that is.
    let waits: BTreeSet<String> = snapshot.pod_keys();
    let own = |pod: &Pod| waits.contains(&pod.key());
    let all: Vec<Pod> = groups.iter().flatten().cloned().collect();
    let (mut pods, others): (Vec<Pod>, Vec<Pod>) = all.into_iter().partition(own);
    let owned = pods.len();
    pods.extend(others.into_iter().map(|pod| Pod { role: Role::Moving, ..pod }));
    let changed = Snapshot {
        nodes: kept.iter().map(|at| snapshot.nodes[*at].clone()).collect(),
        pods,
        ..snapshot.clone()
    };
    let changed_fleet = Fleet {
        instances: kept.iter().map(|at| fleet.instances[*at].clone()).collect(),
        ..fleet.clone()
    };

    let settings = PlanSettings { reserved_fallback: true, ..planning.clone() };
    let sorted = Sorted::new(&changed.pods, &changed, &settings);
    let set_aside: BTreeSet<String> =
        sorted.refused.iter().chain(&sorted.deferred).map(|each| each.pod.clone()).collect();
    let (own, others) = changed.pods.split_at(owned);
    let pods = Pods { own, others: others.iter().collect() };
    let mut solver = Solver::over(pods, &changed, &settings, &sorted.considered, |_| 0);
    solver.leave_alone(busy_instances(&changed, &changed_fleet, changed_fleet.now));
    let simulator = Simulator::new(snapshot, fleet, planning);
    let questions = [Question::default()].into_iter().chain(stages.iter().map(|s| s.question));
    let mut outcomes = Vec::new();
    for (group, question) in groups.iter().zip(questions) {
        let keys: BTreeSet<String> = group.iter().map(Pod::key).collect();
        let considered = sorted.considered.iter().copied();
        let pods: Vec<u32> =
            considered.filter(|at| keys.contains(&changed.pods[*at as usize].key())).collect();
        let limits = format!("{:?}", solver.limits_left());
        solver.begin(simulator.rules(question));
        let refused = solver.solve(&pods);
        let Placements { claims, existing, unplaced } = solver.placements(&mut Shapes::default());
        solver.keep();
        let mut homeless: Vec<String> = unplaced.into_iter().map(|each| each.pod).collect();
        homeless.extend(refused.iter().map(|(pod, _)| changed.pods[*pod as usize].key()));
        homeless.extend(keys.intersection(&set_aside).cloned());
        homeless.sort_unstable();
        outcomes.push((limits, Outcome { claims, existing, homeless }));
    }
    outcomes
}

/// The same outcome without some of the pods on instances that exist.
fn without_pods(mut outcome: Outcome, pods: &BTreeSet<String>) -> Outcome {
    for place in &mut outcome.existing {
        place.pods.retain(|pod| !pods.contains(pod));
    }
    outcome.existing.retain(|place| !place.pods.is_empty());
    outcome.homeless.retain(|pod| !pods.contains(pod));
    outcome
}

/// How many answers were compared, and how many could not be.
#[derive(Debug, Default)]
struct Compared {
    equal: usize,
    skipped: usize,
}

impl Compared {
    /// Holds the answer to the last stage against a cluster made anew. Where pods that came before would have gone
    /// elsewhere in that cluster, since the instances were never there, the two cannot be compared.
    fn answer(
        &mut self,
        about: &str,
        outcomes: &[Outcome],
        stages: &[Stage],
        (snapshot, fleet, planning): (&Snapshot, &Fleet, &PlanSettings),
    ) {
        let expected = made_anew(snapshot, fleet, planning, stages);
        let before = outcomes.len() - 1;
        let alike = (0..before).all(|at| {
            let later: BTreeSet<String> = stages[at..].iter().flat_map(Stage::keys).collect();
            without_pods(outcomes[at].clone(), &later) == expected[at].1
        });
        // A claim counts with the types it had when it was opened, which its last pod may have left few of.
        if !alike || stages[before - 1].limits != expected[before].0 {
            self.skipped += 1;
            return;
        }
        assert_eq!(outcomes[before], expected[before].1, "{about}");
        self.equal += 1;
    }

    /// Questions about one random cluster, before and after something is decided.
    fn cluster(&mut self, seed: u64, waiting: bool) {
        let (snapshot, fleet) = random::cluster(seed, waiting);
        let planning = random::settings(seed);
        let cluster = (&snapshot, &fleet, &planning);
        let rng = &mut Rng::child(seed, 2);
        let mut simulator = Simulator::new(&snapshot, &fleet, &planning);
        let first = made_anew(&snapshot, &fleet, &planning, &[]);
        for n in 0..4 {
            let asked = random::question(&snapshot, rng);
            let stage = Stage::new(&asked, &mut simulator, &snapshot, &fleet);
            let outcome = simulator.without(&asked.0, asked.1);
            let about = format!("question {n} about seed {seed}");
            self.answer(&about, &[first[0].1.clone(), outcome], &[stage], cluster);
        }
        let decided = random::question(&snapshot, rng);
        let decided_stage = Stage::new(&decided, &mut simulator, &snapshot, &fleet);
        let committed = simulator.commit(&decided.0, decided.1);
        for n in 0..3 {
            let mut asked = random::question(&snapshot, rng);
            asked.0.retain(|instance| !decided.0.contains(instance));
            let stage = Stage::new(&asked, &mut simulator, &snapshot, &fleet);
            let outcome = simulator.without(&asked.0, asked.1);
            let about = format!("question {n} about seed {seed} after a decision");
            let outcomes = [first[0].1.clone(), committed.clone(), outcome];
            self.answer(&about, &outcomes, &[decided_stage.clone(), stage], cluster);
        }
    }
}

#[test]
fn answers_are_those_of_a_cluster_without_the_instances() {
    let mut compared = Compared::default();
    for seed in 0..400 {
        compared.cluster(seed, false);
    }
    assert!(compared.skipped * 5 < compared.equal, "too few can be compared: {compared:?}");
}

#[test]
fn answers_are_those_of_a_cluster_without_the_instances_where_pods_wait() {
    let mut compared = Compared::default();
    for seed in 1_000..1_400 {
        compared.cluster(seed, true);
    }
    assert!(compared.skipped < compared.equal, "too few can be compared: {compared:?}");
}

#[test]
fn steps_that_fail_and_walks_that_end_leave_no_trace() {
    let (mut gone, mut stayed) = (0, 0);
    for seed in 3_000..3_300 {
        let (snapshot, fleet) = random::cluster(seed, seed % 2 == 0);
        let rng = &mut Rng::child(seed, 3);
        let mut simulator = Simulator::new(&snapshot, &fleet, &random::settings(seed));
        let all: Vec<usize> = (0..snapshot.nodes.len()).collect();
        let order = rng.pick_some(&all, all.len());
        let question = Question { respect_quiet: rng.chance(50), claims_max: None };
        let first = simulator.without(&order[..1], question);
        let before = simulator.solver.state();
        let mut walk = simulator.walk(question);
        for (at, instance) in order.iter().enumerate() {
            let so_far = walk.simulator.solver.state();
            let can_go = walk.can_go_too(*instance);
            if at == 0 {
                // Alone it goes as if it had been asked about alone.
                let fits = first.claims.is_empty() && first.homeless.is_empty();
                assert_eq!(can_go, fits, "seed {seed}, {first:?}");
            }
            if !can_go {
                let left = walk.simulator.solver.state();
                assert_eq!(left, so_far, "seed {seed}, instance {instance}");
            }
            *(if can_go { &mut gone } else { &mut stayed }) += 1;
        }
        drop(walk);
        assert_eq!(simulator.solver.state(), before, "seed {seed}");
    }
    assert!(gone > 500 && stayed > 500, "{gone} instances went and {stayed} stayed");
}

#[test]
fn questions_leave_no_trace() {
    for seed in 2_000..2_300 {
        let (snapshot, fleet) = random::cluster(seed, seed % 2 == 0);
        let rng = &mut Rng::child(seed, 3);
        let instance_types_max = *rng.pick(&[2, 600]);
        let planning = PlanSettings { instance_types_max, ..random::settings(seed) };
        let mut simulator = Simulator::new(&snapshot, &fleet, &planning);
        for round in 0..2 {
            let before = simulator.solver.state();
            let questions: Vec<_> = (0..4).map(|_| random::question(&snapshot, rng)).collect();
            let mut answers = Vec::new();
            for (instances, question) in &questions {
                answers.push(simulator.without(instances, *question));
                assert_eq!(simulator.solver.state(), before, "seed {seed}, round {round}");
                let explained = simulator.explain_homeless(instances, *question);
                let pods: Vec<String> = explained.into_iter().map(|each| each.pod).collect();
                assert_eq!(answers.last().unwrap().homeless, pods, "seed {seed}, round {round}");
            }
            for ((instances, question), answer) in questions.iter().zip(&answers).rev() {
                let again = simulator.without(instances, *question);
                assert_eq!(again, *answer, "seed {seed}, round {round}");
                let one = Question { claims_max: Some(0), ..*question };
                let cut_off = simulator.without(instances, one);
                assert_eq!(cut_off.claims.len(), answer.claims.len().min(1), "seed {seed}");
            }
            assert_eq!(simulator.solver.state(), before, "seed {seed}, round {round}");
            // The next round is about what is left after a decision, which is as it was announced.
            let announced = simulator.without(&questions[0].0, questions[0].1);
            assert_eq!(simulator.commit(&questions[0].0, questions[0].1), announced);
        }
    }
}
