//! The smaller commands, and what all commands share.

use std::{
    io::Read,
    process::{Command, Stdio},
};

use expect_test::expect;
use serde_json::Value;

use crate::{check, run};

#[test]
fn crds_are_yaml_documents() {
    let output = run(&["crds"]);
    assert_eq!(output.code, Some(0));
    let documents: Vec<Value> = serde_saphyr::from_multiple(&output.stdout).unwrap();
    let names: Vec<&str> =
        documents.iter().filter_map(|crd| crd["metadata"]["name"].as_str()).collect();
    expect![[r"
        nodepools.karpenter.sh
        nodeclaims.karpenter.sh
        nodeoverlays.karpenter.sh
        capacitybuffers.autoscaling.x-k8s.io
        kwoknodeclasses.karpenter.kwok.sh
        vspherenodeclasses.karpenter.vsphere.com
        cloudstacknodeclasses.karpenter.k8s.cloudstack"]]
    .assert_eq(&names.join("\n"));
    assert!(documents.iter().all(|crd| crd["kind"] == "CustomResourceDefinition"));
}

#[test]
fn completions_are_made_for_every_usual_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(output.code == Some(0) && output.stdout.contains("joiner"), "{shell}");
    }
}

#[test]
fn nothing_asked_is_help_and_a_bad_command_line() {
    let output = run(&[]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("Usage: joiner <COMMAND>"), "{output}");
}

#[test]
fn an_unknown_format_names_the_known_ones() {
    check(
        &["plan", "-f", "-", "-o", "xml"],
        "",
        &expect![[r"
            stderr: error: invalid value 'xml' for '--output <FORMAT>'
            stderr:   [possible values: table, wide, json, yaml]
            stderr:
            stderr:   tip: a similar value exists: 'yaml'
            stderr:
            stderr: For more information, try '--help'.
            exit code: 2
        "]],
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_joiner"))
        .arg("crds")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The CRDs are far larger than a pipe, so the program is still writing when the pipe closes.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}
