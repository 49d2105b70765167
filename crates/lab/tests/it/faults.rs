//! What clients see when things go wrong, and what is left behind.

use std::{fmt::Write as _, time::Duration};

use expect_test::expect;
use jiff::SignedDuration;
use joiner_apiserver::{Key, Resource};
use joiner_lab::{
    Client as LabClient, Connection, Lab, Setup, checks, cluster::instances::InstanceSpec, process,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::time::Instant;

fn bare() -> Lab {
    Lab::new(Setup { bare: true, ..Setup::new(1) })
}

fn maps(connection: Connection) -> Api<ConfigMap> {
    Api::default_namespaced(kube::Client::new(connection, "default"))
}

fn map(name: &str, seen: &str) -> ConfigMap {
    let map = json!({"metadata": {"name": name}, "data": {"seen": seen}});
    serde_json::from_value(map).unwrap()
}

fn said<T>(result: Result<T, kube::Error>) -> String {
    match result {
        Ok(_) => "done".to_owned(),
        Err(kube::Error::Api(status)) => {
            let wait = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            let wait = if wait > 0 { format!(", retry after {wait} s") } else { String::new() };
            format!("{} {}{wait}", status.code, status.reason)
        }
        Err(error) => error.to_string(),
    }
}

/// What the server has for the map `one`.
fn stored(lab: &Lab) -> String {
    let one = lab
        .caller("test")
        .get(&Resource::new("", "configmaps"), &Key::new("default", "one"))
        .unwrap();
    one.value()["data"]["seen"].as_str().unwrap().to_owned()
}

/// Has the operator change a map from `old` to `new` while something goes wrong: what the operator
/// sees, how long it takes, what the server has then.
async fn change_under(script: &str) -> String {
    let lab = bare();
    let operator = lab.client("operator");
    let one = maps(operator.connect());
    one.create(&PostParams::default(), &map("one", "old")).await.unwrap();
    lab.faults().add_script(script).unwrap();
    let started = Instant::now();
    let patch = Patch::Merge(json!({"data": {"seen": "new"}}));
    let result = said(one.patch("one", &PatchParams::default(), &patch).await);
    let took = started.elapsed().as_secs();
    format!("{script}: {result} after {took} s; the server has {}\n", stored(&lab))
}

#[tokio::test(start_paused = true)]
async fn what_a_writer_sees_of_each_fault() {
    let mut text = String::new();
    for script in [
        "at 0s operator: conflict on update",
        "at 0s operator: conflict on write",
        "at 0s operator: 429 5s",
        "at 0s operator: 500 on patch configmaps",
        "at 0s operator: 503 on write",
        "at 0s operator: cut before",
        "at 0s operator: cut after",
        "at 0s operator: slow 7s",
        "at 0s operator: partition 1m",
        "at 0s operator: 500 on patch secrets",
        "at 0s other: 500 always",
        "at 0s anybody: 500 always",
        "at 1s operator: 500",
        "at 0s operator: 500 on patch after 1 calls",
    ] {
        text += &change_under(script).await;
    }
    expect![[r#"
        at 0s operator: conflict on update: done after 0 s; the server has new
        at 0s operator: conflict on write: 409 Conflict after 0 s; the server has old
        at 0s operator: 429 5s: 429 TooManyRequests, retry after 5 s after 0 s; the server has old
        at 0s operator: 500 on patch configmaps: 500 InternalError after 0 s; the server has old
        at 0s operator: 503 on write: 503 ServiceUnavailable after 0 s; the server has old
        at 0s operator: cut before: ServiceError: connection reset before the request after 0 s; the server has old
        at 0s operator: cut after: ServiceError: connection reset before the answer after 0 s; the server has new
        at 0s operator: slow 7s: done after 7 s; the server has new
        at 0s operator: partition 1m: ServiceError: no route to the API server after 0 s; the server has old
        at 0s operator: 500 on patch secrets: done after 0 s; the server has new
        at 0s other: 500 always: done after 0 s; the server has new
        at 0s anybody: 500 always: 500 InternalError after 0 s; the server has old
        at 1s operator: 500: done after 0 s; the server has new
        at 0s operator: 500 on patch after 1 calls: done after 0 s; the server has new
    "#]].assert_eq(&text);
}

#[tokio::test(start_paused = true)]
async fn a_killed_writer_starts_again_and_finds_what_it_did() {
    for (script, expected) in [
        ("at 0s operator: kill before on patch", "2 starts, found old then"),
        ("at 0s operator: kill after on patch", "2 starts, found new then"),
        ("at 0s operator: kill before on patch 3 times", "4 starts, found old then"),
        ("at 0s operator: kill after on get 2 times", "3 starts, found old then"),
    ] {
        let lab = bare();
        let operator = lab.client("operator");
        maps(operator.connect()).create(&PostParams::default(), &map("one", "old")).await.unwrap();
        lab.faults().add_script(script).unwrap();
        let (found, starts) = process::run(&operator, |connection| async {
            let one = maps(connection);
            let found = one.get("one").await.unwrap().data.unwrap()["seen"].clone();
            let patch = Patch::Merge(json!({"data": {"seen": "new"}}));
            one.patch("one", &PatchParams::default(), &patch).await.unwrap();
            found
        })
        .await;
        assert_eq!(format!("{starts} starts, found {found} then"), expected, "{script}");
        assert_eq!(stored(&lab), "new");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_process_left_running_has_no_effect() {
    let lab = bare();
    lab.faults().add_script("at 0s operator: kill before on get").unwrap();
    let operator = lab.client("operator");
    let patient = |maps: Api<ConfigMap>, name: &'static str| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let _ = maps.create(&PostParams::default(), &map(name, "late")).await;
    };
    let started = std::cell::Cell::new(0);
    process::run(&operator, |connection| {
        started.set(started.get() + 1);
        let name = ["first", "second"][started.get() - 1];
        async move {
            let maps = maps(connection);
            let task = tokio::spawn(patient(maps.clone(), name));
            let _ = maps.get("one").await;
            task.await.unwrap();
        }
    })
    .await;
    let list = maps(operator.connect()).list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["second"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_from_a_server_that_is_behind_lacks_the_newest() {
    let lab = bare();
    let operator = lab.client("operator");
    let maps = maps(operator.connect());
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &map(name, "1")).await.unwrap();
    }
    lab.faults().add_script("at 0s operator: stale 2 on list 2 times").unwrap();
    let names = async |params: ListParams| {
        let list = maps.list(&params).await.unwrap();
        list.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(ListParams::default()).await, "a");
    assert_eq!(names(ListParams::default().match_any()).await, "a");
    assert_eq!(names(ListParams::default()).await, "a b c");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_cut_off_but_the_one_that_was_meant() {
    let mut lab = bare();
    lab.faults().add_script("at 10s operator: partition 30s").unwrap();
    let (cut_off, free) = (maps(lab.client("operator").connect()), maps(lab.client("x").connect()));
    let mut text = String::new();
    for second in [5, 10, 39, 40] {
        let now = lab.server().clock().now();
        let start = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap();
        lab.pass(SignedDuration::from_secs(second) - now.duration_since(start)).await;
        let params = ListParams::default();
        let both = [said(cut_off.list(&params).await), said(free.list(&params).await)];
        writeln!(text, "after {second} s: {}", both.join(", ")).unwrap();
    }
    expect![[r#"
        after 5 s: done, done
        after 10 s: ServiceError: no route to the API server, done
        after 39 s: ServiceError: no route to the API server, done
        after 40 s: done, done
    "#]]
    .assert_eq(&text);
}

#[tokio::test(start_paused = true)]
async fn a_jump_of_the_clock_changes_deadlines_but_no_waits() {
    for (jump, expected) in [
        ("1h", "slept 60 s until 01:01:00, deadline after 60 s at 01:01:00"),
        ("-20s", "slept 60 s until 00:00:40, deadline after 80 s at 00:01:00"),
    ] {
        let mut lines = Vec::new();
        for deadline in [false, true] {
            let mut lab = bare();
            lab.faults().add_script(&format!("at 30s clock: jump {jump}")).unwrap();
            let clock = lab.server().clock().clone();
            let started = Instant::now();
            let minute = clock.now() + SignedDuration::from_mins(1);
            lab.beside(async {
                if deadline {
                    clock.sleep_until(minute).await;
                } else {
                    clock.sleep(Duration::from_mins(1)).await;
                }
            })
            .await;
            let took = started.elapsed().as_secs();
            let now = clock.now().strftime("%H:%M:%S").to_string();
            lines.push(if deadline {
                format!("deadline after {took} s at {now}")
            } else {
                format!("slept {took} s until {now}")
            });
        }
        assert_eq!(lines.join(", "), expected, "{jump}");
    }
}

/// A cluster whose clock is set must neither lose its nodes nor their pods for good.
#[tokio::test(start_paused = true)]
async fn a_cluster_survives_jumps_of_its_clock() {
    for jump in ["30s", "-30s", "1h", "-10m"] {
        let mut lab = Lab::new(Setup::new(1));
        lab.faults().add_script(&format!("at 20m clock: jump {jump}")).unwrap();
        lab.instances().boot(InstanceSpec::new("instance")).unwrap();
        let pod = json!({
            "metadata": {"name": "pod", "namespace": "default"},
            "spec": {"containers": [{"name": "app", "image": "app"}]},
        });
        let user = lab.caller("user");
        let pod = user.create(&Resource::new("", "pods"), pod).unwrap();
        lab.pass(SignedDuration::from_hours(1)).await;
        let started = "2026-01-01T01:00:00Z".parse::<jiff::Timestamp>().unwrap();
        let by: SignedDuration = jump.parse().unwrap();
        assert_eq!(
            lab.server().clock().now(),
            started + by,
            "as much time passed as was asked for"
        );
        let same = user.get(&Resource::new("", "pods"), &pod.key).unwrap();
        assert_eq!((&same.uid, same.deleting), (&pod.uid, false), "{jump}");
        let leases = Resource::new("coordination.k8s.io", "leases");
        let lease = user.get(&leases, &Key::new("kube-node-lease", "instance")).unwrap().value();
        let renewed: jiff::Timestamp =
            lease["spec"]["renewTime"].as_str().unwrap().parse().unwrap();
        let age = lab.server().clock().now().duration_since(renewed);
        assert!(age.as_secs() < 40, "{jump}: the lease was renewed {age:#} ago");
        let node =
            user.get(&Resource::new("", "nodes"), &Key::new("", "instance")).unwrap().value();
        assert_eq!(crate::common::condition(&node, "Ready")["status"], "True", "{jump}");
    }
}

/// What a careful program does: it looks before it writes, and names what it makes.
async fn careful(connection: Connection) {
    let maps = maps(connection);
    for name in ["a", "b", "c"] {
        if maps.get_opt(name).await.unwrap().is_none() {
            maps.create(&PostParams::default(), &map(name, "1")).await.unwrap();
        }
    }
    let patch = Patch::Merge(json!({"data": {"seen": "2"}}));
    maps.patch("b", &PatchParams::default(), &patch).await.unwrap();
    match maps.delete("c", &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        other => drop(other.unwrap()),
    }
}

/// What a careless one does: it leaves the name to the server, so nobody knows what was made.
async fn careless(connection: Connection) {
    let maps = maps(connection);
    let mut any = map("", "1");
    any.metadata.name = None;
    any.metadata.generate_name = Some("any-".to_owned());
    maps.create(&PostParams::default(), &any).await.unwrap();
    maps.list(&ListParams::default()).await.unwrap();
}

/// Kills a program at each of its calls, and says what the server has in the end.
async fn sweep<F: Future<Output = ()>>(
    program: impl Fn(Connection) -> F,
) -> Result<u32, process::Interrupted<Vec<String>>> {
    let program = &program;
    let story = |kill| async move {
        let lab = bare();
        lab.faults().add(kill);
        let operator: LabClient = lab.client("operator");
        process::run(&operator, program).await;
        lab
    };
    let end = |lab: &Lab| {
        let maps = lab.caller("test").list(&Resource::new("", "configmaps"), None);
        let seen = maps.iter().map(|map| map.value()["data"]["seen"].clone());
        let twice = checks::unique(lab.history(), "", "configmaps", "once", |map| {
            map["metadata"]["generateName"].as_str().map(str::to_owned)
        });
        let twice = twice.iter().map(|violation| violation.rule.to_owned());
        seen.map(|seen| seen.to_string()).chain(twice).collect()
    };
    process::sweep("operator", story, end).await
}

#[tokio::test(start_paused = true)]
async fn a_careful_program_may_be_killed_at_any_call() {
    // Three times look and create, a change, a deletion: eight calls, before and after each.
    assert_eq!(sweep(careful).await, Ok(16));
}

#[tokio::test(start_paused = true)]
async fn a_sweep_finds_the_call_at_which_a_careless_program_must_not_be_killed() {
    let found = sweep(careless).await.unwrap_err();
    // Killed before its second call it starts again and makes a second object.
    assert_eq!((found.call, found.after), (2, false));
    assert_eq!(found.in_peace, ["\"1\""]);
    assert_eq!(found.interrupted, ["\"1\"", "\"1\"", "once"]);
}
