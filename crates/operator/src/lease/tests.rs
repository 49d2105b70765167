use std::{
    future::Future,
    sync::{Arc, Mutex},
};

use expect_test::expect;
use jiff::SignedDuration;
use joiner_lab::{
    Lab, Setup,
    faults::{Aim, Fault, Rule},
};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, ResourceExt};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

mod deciding {
    use super::*;

    /// What `me` does about a lease of `holder` that was last seen to change at second 100.
    fn step(holder: &str, mine: bool, now: u64) -> Step {
        let record = Record {
            holder: holder.to_owned(),
            duration: Some(15 * SECOND),
            // Of a computer whose clock is a year behind, or one that lies.
            renewed: Some("2025-01-01T00:00:00Z".parse().unwrap()),
            ..Record::default()
        };
        let seen = Seen { record, since: 100 * SECOND };
        decide(Some(&seen), "me", mine, Duration::from_secs(now), &Terms::default())
    }

    fn wait(left: u64) -> Step {
        Step::Wait { holder: "other".to_owned(), left: Duration::from_secs(left) }
    }

    #[test]
    fn a_lease_that_does_not_exist_is_taken() {
        assert_eq!(decide(None, "me", false, SECOND, &Terms::default()), Step::Acquire);
    }

    #[test]
    fn a_lease_that_was_given_back_is_taken_at_once() {
        assert_eq!(step("", false, 100), Step::Acquire);
    }

    #[test]
    fn my_own_is_renewed_also_after_a_restart() {
        assert_eq!(step("me", true, 200), Step::Renew);
        assert_eq!(step("me", false, 100), Step::Renew);
    }

    #[test]
    fn somebody_elses_is_theirs_until_it_was_seen_unchanged_for_as_long_as_they_promised() {
        assert_eq!(step("other", false, 100), wait(15));
        assert_eq!(step("other", false, 114), wait(1));
        assert_eq!(step("other", false, 115), Step::Acquire);
    }

    #[test]
    fn mine_in_other_hands_is_lost_however_old() {
        assert_eq!(step("other", true, 500), Step::Lost { holder: "other".to_owned() });
        assert_eq!(step("", true, 100), Step::Lost { holder: String::new() });
    }

    #[test]
    fn only_a_change_counts_as_a_sign_of_life() {
        let first = Seen::next(None, Record::default(), SECOND);
        let same = Seen::next(Some(first.clone()), Record::default(), 9 * SECOND);
        assert_eq!(same, first);
        let other = Record { transitions: 1, ..Record::default() };
        assert_eq!(Seen::next(Some(first), other, 9 * SECOND).since, 9 * SECOND);
    }
}

fn lab() -> Lab {
    Lab::new(Setup { bare: true, ..Setup::new(1) })
}

fn name(name: &str) -> LeaseName {
    LeaseName { namespace: "default".to_owned(), name: name.to_owned() }
}

fn client(lab: &Lab, of: &str) -> Client {
    Client::new(lab.client(of).connect(), "default")
}

/// Somebody who wants `leases` of the laboratory, by a clock.
fn candidate(lab: &Lab, identity: &str, clock: &Clock, leases: &[&str]) -> Candidate {
    Candidate {
        client: client(lab, identity),
        clock: clock.clone(),
        identity: identity.to_owned(),
        terms: Terms::default(),
        leases: leases.iter().map(|lease| name(lease)).collect(),
        annotations: BTreeMap::new(),
    }
}

/// Who did what when, in whole seconds since the start.
#[derive(Clone)]
struct Diary {
    clock: Clock,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Diary {
    fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), lines: Arc::default() }
    }

    fn note(&self, what: &str) {
        let line = format!("{:.1} {what}", self.clock.running().as_secs_f64());
        self.lines.lock().unwrap().push(line);
    }

    fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// Leads until the lead is lost, and notes both.
    async fn lead(self, candidate: Candidate) {
        let me = candidate.identity.clone();
        let leadership =
            Leadership::acquire(candidate, |waiting| self.note(&format!("{me}: {waiting}"))).await;
        self.note(&format!("{me} leads"));
        let lost = leadership.lost().await;
        self.note(&format!("{me} stops: {lost}"));
    }
}

/// Runs something for a while, and drops it there, as a kill does.
async fn killed_after(clock: &Clock, seconds: u64, program: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = program => {}
        () = clock.sleep(Duration::from_secs(seconds)) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_one_takes_over_when_the_first_is_killed() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let diary = Diary::new(&clock);
    let first = diary.clone().lead(candidate(&lab, "first", &clock, &["lead"]));
    let second = async {
        clock.sleep(SECOND).await;
        diary.clone().lead(candidate(&lab, "second", &clock, &["lead"])).await;
    };
    tokio::join!(killed_after(&clock, 101, first), killed_after(&clock, 150, second));
    expect![[r#"
        0.0 first leads
        1.0 second: another controller named first holds lease default/lead since 2026-01-01T00:00:00Z: Joiner waits and acts on nothing
        61.0 second: another controller named first holds lease default/lead since 2026-01-01T00:00:00Z: Joiner waits and acts on nothing
        116.0 second leads"#]].assert_eq(&diary.text());
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_is_taken_at_the_next_look() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let diary = Diary::new(&clock);
    let first = async {
        let first = candidate(&lab, "first", &clock, &["a", "b"]);
        let leadership = Leadership::acquire(first, |_| {}).await;
        clock.sleep(61 * SECOND).await;
        leadership.release().await;
        diary.note("first gave back");
    };
    let second = async {
        clock.sleep(SECOND).await;
        diary.clone().lead(candidate(&lab, "second", &clock, &["a", "b"])).await;
    };
    tokio::join!(first, killed_after(&clock, 100, second));
    expect![[r#"
        1.0 second: another controller named first holds lease default/a since 2026-01-01T00:00:00Z: Joiner waits and acts on nothing
        61.0 first gave back
        61.0 second leads"#]].assert_eq(&diary.text());
}

#[tokio::test(start_paused = true)]
async fn a_predecessor_that_still_runs_is_waited_for() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let diary = Diary::new(&clock);
    let predecessor = diary.clone().lead(candidate(&lab, "old-7f9c", &clock, &["proxmox"]));
    let joiner = async {
        clock.sleep(SECOND).await;
        diary.clone().lead(candidate(&lab, "joiner", &clock, &["karpenter", "proxmox"])).await;
    };
    tokio::join!(killed_after(&clock, 100, predecessor), killed_after(&clock, 130, joiner));
    expect![[r#"
        0.0 old-7f9c leads
        1.0 joiner: another controller named old-7f9c holds lease default/proxmox since 2026-01-01T00:00:00Z: Joiner waits and acts on nothing
        61.0 joiner: another controller named old-7f9c holds lease default/proxmox since 2026-01-01T00:00:00Z: Joiner waits and acts on nothing
        114.0 joiner leads"#]].assert_eq(&diary.text());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_renewed_in_time_is_lost_before_anybody_else_takes_it() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let diary = Diary::new(&clock);
    let first = diary.clone().lead(candidate(&lab, "first", &clock, &["lead"]));
    let second = async {
        clock.sleep(SECOND).await;
        diary.clone().lead(candidate(&lab, "second", &clock, &["lead"])).await;
    };
    lab.faults().add(Rule {
        fault: Fault::Unavailable,
        aim: Aim { client: "first".to_owned(), ..Aim::default() },
        from: SignedDuration::from_secs(30),
        skip: 0,
        times: None,
    });
    tokio::join!(first, killed_after(&clock, 60, second));
    expect![[r#"
        0.0 first leads
        1.0 second: another controller named first holds lease default/lead since 2026-01-01T00:00:00Z: Joiner waits and acts on nothing
        38.0 first stops: lease default/lead could not be renewed in time: the server is currently unable to handle the request
        44.0 second leads"#]].assert_eq(&diary.text());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_does_not_hide_that_time_is_over() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let diary = Diary::new(&clock);
    lab.faults().add(Rule {
        fault: Fault::Slow(Duration::from_hours(1)),
        aim: Aim { client: "first".to_owned(), ..Aim::default() },
        from: SignedDuration::from_secs(30),
        skip: 0,
        times: None,
    });
    diary.clone().lead(candidate(&lab, "first", &clock, &["lead"])).await;
    expect![[r#"
        0.0 first leads
        38.0 first stops: lease default/lead could not be renewed in time: the API server did not answer"#]]
    .assert_eq(&diary.text());
}

#[tokio::test(start_paused = true)]
async fn lost_answers_and_conflicts_do_not_lose_the_lead() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let rule = |fault, skip| Rule {
        fault,
        aim: Aim { verb: "update".to_owned(), ..Aim::default() },
        from: SignedDuration::ZERO,
        skip,
        times: Some(1),
    };
    for (index, fault) in [Fault::CutAfter, Fault::CutBefore, Fault::Conflict, Fault::Internal]
        .into_iter()
        .enumerate()
    {
        lab.faults().add(rule(fault, 3 * index as u32));
    }
    let candidate = candidate(&lab, "first", &clock, &["lead"]);
    let leadership = Leadership::acquire(candidate, |_| {}).await;
    clock.sleep(Duration::from_mins(5)).await;
    assert!(leadership.is_held());
    assert_eq!(lab.faults().struck(), 4);
}

#[tokio::test(start_paused = true)]
async fn clocks_that_disagree_and_jump_do_not_make_two_leaders() {
    let lab = lab();
    let server_clock = lab.server().clock().clone();
    let start = server_clock.now();
    // One computer is a day behind, the other two hours ahead.
    let behind = Clock::following_runtime(start - SignedDuration::from_hours(24));
    let ahead = Clock::following_runtime(start + SignedDuration::from_hours(2));
    let diary = Diary::new(&server_clock);
    let first = diary.clone().lead(candidate(&lab, "first", &behind, &["lead"]));
    let second = async {
        ahead.sleep(SECOND).await;
        diary.clone().lead(candidate(&lab, "second", &ahead, &["lead"])).await;
    };
    let jumps = async {
        for hours in [3, -7, 30, -1] {
            server_clock.sleep(20 * SECOND).await;
            ahead.jump(SignedDuration::from_hours(hours));
            behind.jump(SignedDuration::from_hours(-hours));
        }
    };
    tokio::join!(
        killed_after(&server_clock, 100, first),
        killed_after(&server_clock, 130, second),
        jumps
    );
    expect![[r#"
        0.0 first leads
        1.0 second: another controller named first holds lease default/lead since 2025-12-31T00:00:00Z: Joiner waits and acts on nothing
        61.0 second: another controller named first holds lease default/lead since 2025-12-31T00:00:00Z: Joiner waits and acts on nothing
        114.0 second leads"#]].assert_eq(&diary.text());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_takes_by_force_is_noticed() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let diary = Diary::new(&clock);
    let leases: Api<Lease> = Api::default_namespaced(client(&lab, "administrator"));
    let force = async {
        clock.sleep(31 * SECOND).await;
        let mut lease = leases.get("lead").await.unwrap();
        lease.spec.as_mut().unwrap().holder_identity = Some("somebody".to_owned());
        leases.replace("lead", &<_>::default(), &lease).await.unwrap();
    };
    tokio::join!(diary.clone().lead(candidate(&lab, "first", &clock, &["lead"])), force);
    expect![[r#"
        0.0 first leads
        32.0 first stops: lease default/lead was taken over by "somebody""#]]
    .assert_eq(&diary.text());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted_is_made_again() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let leases: Api<Lease> = Api::default_namespaced(client(&lab, "administrator"));
    let leadership = Leadership::acquire(candidate(&lab, "first", &clock, &["lead"]), |_| {}).await;
    leases.delete("lead", &<_>::default()).await.unwrap();
    clock.sleep(20 * SECOND).await;
    assert!(leadership.is_held());
    assert_eq!(leases.get("lead").await.unwrap().name_any(), "lead");
}

#[tokio::test(start_paused = true)]
async fn a_holder_says_on_its_lease_what_it_has_to_say_until_it_gives_it_back() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let leases: Api<Lease> = Api::namespaced(client(&lab, "someone"), "default");
    let said = async || {
        let lease = leases.get("lead").await.unwrap();
        lease.annotations().get("joiner.sh/settings").cloned()
    };
    let mut first = candidate(&lab, "first", &clock, &["lead"]);
    first.annotations.insert("joiner.sh/settings".to_owned(), "{}".to_owned());
    let leadership = Leadership::acquire(first, |_| {}).await;
    assert_eq!(said().await.as_deref(), Some("{}"));
    clock.sleep(10 * SECOND).await;
    assert_eq!(said().await.as_deref(), Some("{}"), "renewals keep it");
    leadership.release().await;
    assert_eq!(said().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_lease_looks_as_controllers_in_go_write_it() {
    let lab = lab();
    let clock = lab.server().clock().clone();
    let leases: Api<Lease> = Api::default_namespaced(client(&lab, "administrator"));
    let spec = async || {
        let spec = leases.get("lead").await.unwrap().spec;
        serde_json::to_string(&spec).unwrap()
    };
    let first = Leadership::acquire(candidate(&lab, "first", &clock, &["lead"]), |_| {}).await;
    clock.sleep(5 * SECOND).await;
    let mut lines = vec![spec().await];
    first.release().await;
    lines.push(spec().await);
    let second = Leadership::acquire(candidate(&lab, "second", &clock, &["lead"]), |_| {}).await;
    lines.push(spec().await);
    drop(second);
    expect![[r#"
        {"acquireTime":"2026-01-01T00:00:00.000000Z","holderIdentity":"first","leaseDurationSeconds":15,"leaseTransitions":0,"renewTime":"2026-01-01T00:00:04.000000Z"}
        {"acquireTime":"2026-01-01T00:00:05.000000Z","holderIdentity":"","leaseDurationSeconds":1,"leaseTransitions":0,"renewTime":"2026-01-01T00:00:05.000000Z"}
        {"acquireTime":"2026-01-01T00:00:05.000000Z","holderIdentity":"second","leaseDurationSeconds":15,"leaseTransitions":1,"renewTime":"2026-01-01T00:00:05.000000Z"}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn what_it_waits_for_is_said_with_a_remedy() {
    let lease = name("karpenter-leader-election");
    let problem = "connection refused".to_owned();
    let lines = [
        Waiting::Forbidden { lease: lease.clone(), verb: "update" },
        Waiting::Failing { lease, problem },
    ];
    expect![[r#"
        Joiner may not update lease default/karpenter-leader-election: give its service account the verbs get, create and update on leases.coordination.k8s.io in namespace default
        lease default/karpenter-leader-election cannot be had: connection refused; it is tried again"#]].assert_eq(&lines.map(|line| line.to_string()).join("\n"));
}
