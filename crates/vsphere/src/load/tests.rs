use super::*;

const SIZE: Amount = Amount { cpus: 16, memory_mib: 32 << 10 };

fn cluster(name: &str) -> MoRef {
    MoRef::new("ClusterComputeResource", name)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// A look at two clusters of 96 cores and 576 GiB, with so many processors given away, and instances.
fn look(given: [u64; 2], instances: &[(&str, bool)]) -> Seen {
    let has = Amount { cpus: 96, memory_mib: 576 << 10 };
    let load = |cpus| Load { has, given: Amount { cpus, memory_mib: 0 } };
    Seen {
        clusters: [(cluster("a"), load(given[0])), (cluster("b"), load(given[1]))].into(),
        instances: instances.iter().map(|(uid, runs)| ((*uid).to_owned(), *runs)).collect(),
    }
}

fn loads(given: [u64; 2]) -> Loads {
    let mut loads = Loads::default();
    loads.learn(look(given, &[]), at(0));
    loads
}

fn rooms(loads: &Loads) -> [Option<i64>; 2] {
    ["a", "b"].map(|name| loads.room(&cluster(name), Amount::default(), ""))
}

#[test]
fn room_is_what_is_left_of_the_scarcer_of_processors_and_memory() {
    let has = Amount { cpus: 100, memory_mib: 1000 };
    let left = |cpus, memory_mib| Load { has, given: Amount { cpus, memory_mib } }.left();
    assert_eq!(left(0, 0), Some(1000));
    assert_eq!(left(25, 500), Some(500));
    assert_eq!(left(75, 500), Some(250));
    assert_eq!(left(188, 500), Some(-880), "more is given than there is");
    let unknown = Load { has: Amount { cpus: 0, memory_mib: 1000 }, ..Load::default() };
    assert_eq!(unknown.left(), None, "hosts without a size are unknown, not full");
}

#[test]
fn a_cluster_that_nobody_has_looked_at_has_no_known_room() {
    assert_eq!(Loads::default().room(&cluster("a"), SIZE, "1"), None);
}

#[test]
fn instances_that_are_made_at_once_see_each_other() {
    let mut loads = loads([4, 0]);
    let mut went = String::new();
    for uid in ["1", "2", "3", "4", "5"] {
        let of = |name: &str| loads.room(&cluster(name), SIZE, uid);
        let to = if of("a") > of("b") { "a" } else { "b" };
        loads.send(uid, &cluster(to), SIZE);
        went.push_str(to);
    }
    assert_eq!(went, "babab");
}

#[test]
fn a_claim_that_is_tried_again_does_not_count_against_itself() {
    let mut loads = loads([0, 0]);
    loads.send("UID-1", &cluster("a"), SIZE);
    assert_eq!(loads.room(&cluster("a"), SIZE, "uid-1"), loads.room(&cluster("b"), SIZE, "uid-1"));
    assert!(loads.room(&cluster("a"), SIZE, "2") < loads.room(&cluster("b"), SIZE, "2"));
}

#[test]
fn what_was_sent_counts_until_a_look_has_shown_it_running() {
    let mut loads = loads([0, 0]);
    loads.send("1", &cluster("a"), Amount { cpus: 48, memory_mib: 0 });
    assert_eq!(rooms(&loads), [Some(500), Some(1000)]);
    loads.learn(look([0, 0], &[]), at(10));
    assert_eq!(rooms(&loads), [Some(500), Some(1000)], "it is still being made");
    loads.end("1", at(20));
    loads.learn(look([0, 0], &[("1", false)]), at(30));
    assert_eq!(rooms(&loads), [Some(500), Some(1000)], "it does not run yet");
    loads.learn(look([48, 0], &[("1", true)]), at(40));
    assert_eq!(rooms(&loads), [Some(500), Some(1000)], "it is counted once");
    loads.learn(look([0, 0], &[]), at(50));
    assert_eq!(rooms(&loads), [Some(1000), Some(1000)], "it has gone");
}

#[test]
fn what_never_came_is_forgotten_by_the_first_look_after_its_end() {
    let mut loads = loads([0, 0]);
    loads.send("1", &cluster("a"), SIZE);
    loads.end("1", at(20));
    loads.learn(look([0, 0], &[]), at(20));
    assert_ne!(rooms(&loads)[0], Some(1000), "the look may have begun before its end");
    loads.learn(look([0, 0], &[]), at(21));
    assert_eq!(rooms(&loads), [Some(1000), Some(1000)]);
}
