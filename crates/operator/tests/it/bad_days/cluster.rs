//! The API server is away, and clocks are wrong.

use expect_test::expect;
use jiff::SignedDuration;

use super::running::Running;

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_down_at_the_start_is_named_and_waited_for() {
    let mut running = Running::prepared();
    running.stage.create_pool("general");
    running.create_pod("web");
    running.cut_off(600);
    running.start();
    running.pass(60).await;
    expect![[r"
        definitions: the API server does not answer (get CustomResourceDefinition nodepools.karpenter.sh: ServiceError: no route to the API server): check that it is up and can be reached from here
        identity: it is not known which cluster this is, so nothing is done: get Namespace kube-system: ServiceError: no route to the API server: it is tried again; it takes the namespace kube-system, and the verb get on it
        leases: lease default/karpenter-leader-election cannot be had (ServiceError: no route to the API server): check that the API server is up and can be reached from here, and that namespace default is there
    "]].assert_eq(&running.readiness.why_not());
    assert_eq!(running.said("; it is tried again").len(), 1, "once a minute at most");
    running.pass(660).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_loses_the_api_server_ends_and_the_next_one_carries_on() {
    let mut running = Running::at_work().await;
    running.create_pod("before");
    running.pass(120).await;
    running.expect_running("before");
    let claims = running.claims();
    running.cut_off(3600);
    running.create_pod("meanwhile");
    running.pass(30).await;
    expect!["lease default/karpenter-leader-election could not be renewed in time: ServiceError: no route to the API server: another controller may act now, so this one ends"].assert_eq(&running.ended().await);
    running.start();
    running.pass(1800).await;
    assert!(!running.readiness.is_ready());
    assert_eq!(running.claims(), claims, "nobody can do anything");
    running.pass(2000).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("before");
    running.expect_running("meanwhile");
    assert!(claims.iter().all(|claim| running.claims().contains(claim)), "nothing was lost");
    assert_eq!(running.instances(), running.claims().len());
}

#[tokio::test(start_paused = true)]
async fn an_engine_without_a_lease_outlasts_an_hour_without_the_api_server() {
    let mut running = Running::prepared();
    running.stage.create_pool("general");
    running.start_with(|settings| settings.leader_election.disabled = true);
    running.create_pod("before");
    running.pass(120).await;
    running.expect_running("before");
    let claims = running.claims();
    running.cut_off(3600);
    running.create_pod("meanwhile");
    running.pass(1800).await;
    assert!(running.is_running());
    let why_not = running.readiness.why_not();
    assert!(why_not.contains("check that it is up and can be reached from here"), "{why_not}");
    assert_eq!(running.claims(), claims);
    running.pass(2000).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("meanwhile");
    assert!(claims.iter().all(|claim| running.claims().contains(claim)), "nothing was lost");
    assert_eq!(running.instances(), running.claims().len());
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_forward_or_back_takes_no_instance_that_is_in_use() {
    for hours in [5, -5] {
        let mut running = Running::at_work().await;
        running.create_pod("before");
        running.pass(120).await;
        running.expect_running("before");
        let claims = running.claims();
        running.stage.context.clock.jump(SignedDuration::from_hours(hours));
        running.create_pod("after");
        running.pass(300).await;
        assert!(running.is_running(), "its lease is measured by time that passes");
        let why_not = running.readiness.why_not();
        let which = if hours > 0 { "forward" } else { "back" };
        let start = format!("clock: the wall clock was set {which} by 5h while");
        assert!(why_not.starts_with(&start), "{why_not}");
        running.expect_running("before");
        running.expect_running("after");
        assert!(claims.iter().all(|claim| running.claims().contains(claim)), "{hours} hours");
        assert_eq!(running.instances(), running.claims().len());
    }
}

/// What the API server writes has its time, so that everything is a day older for a while.
#[tokio::test(start_paused = true)]
async fn a_day_that_did_not_pass_expires_nothing_and_is_told_until_clocks_agree() {
    let mut running = Running::at_work().await;
    let expires = serde_json::json!({"spec": {"template": {"spec": {"expireAfter": "2h"}}}});
    running.stage.merge("karpenter.sh", "nodepools", "general", None, expires);
    running.create_pod("web");
    running.pass(120).await;
    let claims = running.claims();
    assert_eq!(claims.len(), 1);
    running.stage.context.clock.jump(SignedDuration::from_hours(24));
    running.pass(1800).await;
    assert_eq!(running.claims(), claims);
    let why_not = running.readiness.why_not();
    assert!(why_not.contains("set forward by 24h"), "{why_not}");
    running.stage.context.clock.jump(SignedDuration::from_hours(-24));
    running.pass(60).await;
    assert_eq!(running.readiness.why_not(), "");
    running.pass(2 * 3600).await;
    assert_ne!(running.claims(), claims, "the time has really come");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_while_an_instance_is_made_costs_one_more_at_worst() {
    for hours in [5, -5] {
        let mut running = Running::at_work().await;
        running.create_pod("web");
        running.stage.pass(8).await;
        assert_eq!(running.instances(), 1, "the instance is on its way");
        running.stage.context.clock.jump(SignedDuration::from_hours(hours));
        running.pass(600).await;
        // The laboratory's scheduler goes by the same clock, so that its pod is not asked.
        let [claim] = running.claims().try_into().unwrap();
        let initialized = running.stage.status_of(&claim, "Initialized");
        assert_eq!(initialized.as_deref(), Some("True"), "{hours} hours");
        assert_eq!(running.instances(), 1);
    }
}
