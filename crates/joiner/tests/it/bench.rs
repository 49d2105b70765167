//! `joiner bench` on sizes that take no time.

use expect_test::expect;
use serde_json::Value;

use crate::{check, run};

#[test]
fn every_workload_plans_cleanly_at_a_tiny_size() {
    let output = run(&["bench", "--pods", "50", "--seeds", "1", "--runs", "2", "-o", "json"]);
    assert_eq!(output.code, Some(0), "{output}");
    let results: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let claims: Vec<String> = results
        .iter()
        .map(|result| {
            format!("{} {} of {}", result["workload"], result["claims"], result["expectedClaims"])
        })
        .collect();
    expect![[r#"
        "diverse" 10.0 of 10.0
        "preference-respect" 50.0 of 50.0
        "preference-ignore" 1.0 of 1.0
        "wide" 8.0 of null
        "full-nodes" 3.0 of null
        "pools" 19.0 of null
        "daemons" 10.0 of null
        "zonal-volumes" 3.0 of null
        "never-fit" 8.0 of null
        "long-lists" 9.0 of null"#]]
    .assert_eq(&claims.join("\n"));
    for result in &results {
        if !result["expectedClaims"].is_null() {
            assert_eq!(result["claims"], result["expectedClaims"], "{}", result["workload"]);
        }
        assert!(result["priceRatio"].as_f64().unwrap() >= 1.0, "{}", result["workload"]);
    }
}

#[test]
fn one_pod_in_five_of_the_diverse_mix_needs_an_instance_of_its_own() {
    let sizes = ["1", "50", "100", "500", "1000"];
    let args =
        [&["bench", "diverse", "--seeds", "1", "--runs", "1", "-o", "json", "--pods"], &sizes[..]];
    let output = run(&args.concat());
    assert_eq!(output.code, Some(0), "{output}");
    let results: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let claims: Vec<f64> = results.iter().filter_map(|result| result["claims"].as_f64()).collect();
    assert_eq!(claims, [1.0, 10.0, 20.0, 100.0, 200.0]);
}

#[test]
fn the_table_has_a_row_for_each_workload() {
    let output = run(&["bench", "wide", "pools", "--pods", "20", "--seeds", "1", "--runs", "1"]);
    assert_eq!(output.code, Some(0), "{output}");
    let words: Vec<&str> =
        output.stdout.lines().filter_map(|line| line.split_whitespace().next()).take(3).collect();
    assert_eq!(words, ["WORKLOAD", "wide", "pools"]);
}

#[test]
fn dumped_files_are_what_joiner_plan_reads() {
    let folder = std::env::temp_dir().join(format!("joiner-dump-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let dumped = run(&["bench", "diverse", "--pods", "50", "--dump", path]);
    let command = dumped.stderr.trim().strip_prefix("joiner ").unwrap().to_owned();
    let args: Vec<&str> = command.split(' ').chain(["-o", "json"]).collect();
    let planned = run(&args);
    std::fs::remove_dir_all(&folder).unwrap();
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(
        (plan["summary"]["pods"].as_u64(), plan["summary"]["claims"].as_u64()),
        (Some(50), Some(10))
    );
}

#[test]
fn a_workload_that_is_not_there_names_those_that_are() {
    let output = run(&["bench", "deluge"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("zonal-volumes"), "{output}");
}

#[test]
fn a_comparison_needs_the_oracle() {
    check(
        &["bench", "diverse", "--against-karpenter"],
        "",
        &expect![[r#"
            stderr: joiner: --against-karpenter needs the oracle program, which is built from the repository with Go: name it with --oracle or JOINER_ORACLE, for instance --oracle "$(scripts/install-real-parts oracle)"
            exit code: 2
        "#]],
    );
}

#[test]
fn the_laboratory_is_measured_in_all_its_parts() {
    let output = run(&["bench", "lab", "--share", "0.001", "-o", "json"]);
    assert_eq!(output.code, Some(0), "{output}");
    let results: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let parts: Vec<&str> = results.iter().filter_map(|result| result["what"].as_str()).collect();
    expect![[r"
        create 5 nodes and 100 pods
        list all pods
        write with 10 watchers
        a day of 1 nodes and 2 pods"]]
    .assert_eq(&parts.join("\n"));
    assert!(results.iter().all(|result| result["count"].as_u64() > Some(0)), "{output}");
    assert!(results[1]["bytes"].as_u64() > Some(100_000), "{output}");
}

#[test]
fn the_share_of_the_laboratory_is_a_share() {
    for wrong in ["0", "1.5", "much"] {
        let output = run(&["bench", "lab", "--share", wrong]);
        assert_eq!(output.code, Some(2), "{wrong}");
    }
}

#[test]
fn a_real_control_plane_that_is_missing_is_named_with_the_script_that_builds_it() {
    check(
        &["bench", "e2e"],
        "",
        &expect![[r"
        stderr: joiner: a real control plane is needed and none is given: build the programs from the repository with Go and list them in a file (scripts/install-real-parts > FILE), and name the file with --parts or JOINER_CONTROL_PLANE
        exit code: 2
    "]],
    );
    check(
        &["bench", "e2e", "--parts", "/nowhere/parts.txt"],
        "",
        &expect![[r"
        stderr: joiner: /nowhere/parts.txt cannot be read: No such file or directory (os error 2); build the programs from the repository with Go and list them in a file (scripts/install-real-parts > FILE), and name the file with --parts or JOINER_CONTROL_PLANE
        exit code: 2
    "]],
    );
    check(
        &["bench", "e2e", "--parts", "/dev/null"],
        "",
        &expect![[r"
        stderr: joiner: no etcd among the installed parts; list it too: scripts/install-real-parts > FILE lists all
        exit code: 2
    "]],
    );
}

#[test]
fn a_start_that_is_none_is_refused_before_anything_is_started() {
    check(
        &["bench", "e2e", "drift", "--same-start"],
        "",
        &expect![[r"
        stderr: joiner: --same-start is for scenarios of whose pods some go and some stay, and drift is none (the pool's template changes, until each instance is replaced); name others, or say with --then which percentage stays
        exit code: 2
    "]],
    );
}

/// Runs where `JOINER_CONTROL_PLANE` names a file with what `scripts/install-real-parts` printed.
#[test]
fn real_pods_get_instances_from_karpenter_and_lose_them_again() {
    let Ok(parts) = std::env::var("JOINER_CONTROL_PLANE") else { return };
    let sizes = "bench e2e basic --only-karpenter --share 0.02 --idle 3 --then drain -o json";
    let mut args: Vec<&str> = sizes.split(' ').collect();
    args.extend(["--parts", &parts]);
    let output = run(&args);
    assert_eq!(output.code, Some(0), "{output}");
    let results: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let [result] = results.as_slice() else { panic!("one scenario, one program: {output}") };
    let phases: Vec<String> = result["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| {
            let fleet = &phase["fleet"];
            let instances = fleet["nodes"].as_u64().map(|nodes| nodes > 0);
            format!("{}: pods {}, any instances: {instances:?}", phase["name"], fleet["pods"])
        })
        .collect();
    expect![[r#"
        "start": pods null, any instances: None
        "idle": pods null, any instances: None
        "scale-out": pods 20, any instances: Some(true)
        "scale-in": pods 0, any instances: Some(false)"#]]
    .assert_eq(&phases.join("\n"));
    for figure in ["p95Bytes", "meanCores", "samples"] {
        assert!(result["underLoad"][figure].as_f64().unwrap() > 0.0, "{figure}: {output}");
    }
    assert!(result["probes"]["asked"].as_u64().unwrap() > 0, "{output}");
}
