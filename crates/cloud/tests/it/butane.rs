//! Ignition and Butane of the user's.

use base64::{Engine, engine::general_purpose::STANDARD};
use joiner_cloud::bootstrap::{Distro, Inputs};
use serde_json::{Value, json};

use crate::shared::{instance, refused, rendered, text, warnings, with_user};

fn ignition(user: &str) -> Inputs {
    with_user(instance(Distro::K3s), user)
}

/// The configs in a wrapper: ours, then the user's.
fn merged(inputs: &Inputs) -> (String, [String; 2]) {
    let wrapper: Value = serde_json::from_str(&text(inputs)).unwrap();
    let sources = wrapper["ignition"]["config"]["merge"].as_array().unwrap();
    let decoded = |source: &Value| {
        let letters = source["source"].as_str().unwrap().strip_prefix("data:;base64,").unwrap();
        String::from_utf8(STANDARD.decode(letters).unwrap()).unwrap()
    };
    let version = wrapper["ignition"]["version"].as_str().unwrap().to_owned();
    (version, [decoded(&sources[0]), decoded(&sources[1])])
}

#[test]
fn the_users_config_is_wrapped_as_it_is() {
    let user = "{ \"ignition\": {\"version\": \"3.5.0\"} }";
    let (version, [ours, users]) = merged(&ignition(user));
    assert_eq!((version.as_str(), users.as_str()), ("3.5.0", user));
    assert!(ours.starts_with("{\"ignition\":{\"version\":\"3.4.0\"},\"storage\":"));
    let notes = rendered(&ignition(user)).report.notes;
    assert_eq!(notes, ["the instance's Ignition must read version 3.5.0"]);
    assert_eq!(merged(&ignition("{\"ignition\":{\"version\":\"3.0.0\"}}")).0, "3.4.0");
}

#[test]
fn versions_that_cannot_be_merged_are_refused() {
    for version in ["2.3.0", "3.6.0", "3.5.0-experimental", "4.0.0", "x"] {
        let error = refused(&ignition(&format!("{{\"ignition\":{{\"version\":\"{version}\"}}}}")));
        assert!(error.problem.contains("3.0.0 to 3.5.0"), "{error}");
    }
}

#[test]
fn a_file_of_both_is_the_users() {
    let user = r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/joiner/join.sh"},{"path":"/a"}]},"systemd":{"units":[{"name":"joiner-join.service"}]}}"#;
    assert_eq!(
        warnings(&ignition(user)),
        [
            "/etc/joiner/join.sh is the user's; ours is not written",
            "joiner-join.service is changed by the user's; see that it still joins",
        ]
    );
}

const BUTANE: &str = "\
variant: flatcar
version: 1.0.0
passwd:
  users:
  - {name: core, ssh_authorized_keys: [key], no_create_home: true, uid: 1000}
storage:
  files:
  - {path: /a, mode: 0644, contents: {inline: hi}, user: {name: core}, overwrite: true}
  - {path: /b, mode: 384, contents: {source: 'https://example.org', verification: {hash: sha512-0}}}
  directories: [{path: /d, mode: 0o755}]
  links: [{path: /l, target: /a, hard: false}]
systemd:
  units: [{name: a.service, enabled: true, contents: x, dropins: [{name: b.conf, contents: y}]}]
kernel_arguments: {should_exist: [quiet]}
";

#[test]
fn butane_is_translated() {
    let (version, [_, users]) = merged(&ignition(BUTANE));
    assert_eq!(version, "3.4.0");
    assert_eq!(
        serde_json::from_str::<Value>(&users).unwrap(),
        json!({
            "ignition": {"version": "3.3.0"},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["key"], "noCreateHome": true, "uid": 1000}]},
            "storage": {
                "files": [
                    {"path": "/a", "mode": 420, "contents": {"source": "data:;base64,aGk="}, "user": {"name": "core"}, "overwrite": true},
                    {"path": "/b", "mode": 384, "contents": {"source": "https://example.org", "verification": {"hash": "sha512-0"}}},
                ],
                "directories": [{"path": "/d", "mode": 493}],
                "links": [{"path": "/l", "target": "/a", "hard": false}],
            },
            "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "x", "dropins": [{"name": "b.conf", "contents": "y"}]}]},
            "kernelArguments": {"shouldExist": ["quiet"]},
        })
    );
}

#[test]
fn what_is_not_translated_is_refused_by_its_key() {
    for (config, field) in [
        ("storage: {disks: []}", "storage.disks"),
        ("storage: {files: [{path: /a, contents: {local: f}}]}", "storage.files[0].contents.local"),
        ("boot_device: {}", "boot_device"),
        ("systemd: {units: [{name: a, enabled: 1}]}", "systemd.units[0].enabled"),
        ("storage: {files: {}}", "storage.files"),
        ("passwd: {users: [{name: a, uid: x}]}", "passwd.users[0].uid"),
        (
            "storage: {files: [{path: /a, contents: {inline: a, source: b}}]}",
            "storage.files[0].contents",
        ),
    ] {
        let error = refused(&ignition(&format!("variant: fcos\nversion: 1.5.0\n{config}\n")));
        assert_eq!(error.field, format!("spec.userData: {field}"), "{error}");
    }
    for version in ["fcos\nversion: 1.6.0", "flatcar\nversion: 1.2.0", "r4e\nversion: 1.1.0"] {
        let error = refused(&ignition(&format!("variant: {version}\n")));
        assert!(error.problem.contains("is not translated"), "{error}");
    }
}
