//! The user's cloud-config and ours as one.

use joiner_cloud::bootstrap::{Distro, Origin};
use serde_json::{Value, json};

use crate::shared::{cloud_config, instance, refused, rendered, text, warnings, with_user};

fn k3s(user: &str) -> joiner_cloud::bootstrap::Inputs {
    let mut inputs = with_user(instance(Distro::K3s), user);
    inputs.provider_id = joiner_cloud::bootstrap::ProviderId::Known("proxmox://r/1".to_owned());
    inputs
}

fn join() -> Value {
    json!(["/bin/sh", "/usr/local/lib/joiner/join.sh"])
}

fn paths(config: &Value) -> Vec<&str> {
    let files = config["write_files"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[test]
fn ours_comes_first_and_all_of_the_users_is_kept() {
    let inputs = k3s(
        "#cloud-config\nhostname: mine\nruncmd: [echo user]\nwrite_files: [{path: /etc/motd}]\n\
         packages: [jq]\nntp: {enabled: true}\n",
    );
    let config = cloud_config(&inputs);
    assert_eq!(config["hostname"], "general-x7k2p");
    assert_eq!(config["preserve_hostname"], false);
    assert_eq!(config["runcmd"], json!([join(), "echo user"]));
    let files = ["/etc/rancher/k3s/config.yaml", "/usr/local/lib/joiner/join.sh", "/etc/motd"];
    assert_eq!(paths(&config), files);
    assert_eq!(config["packages"], json!(["jq"]));
    assert_eq!(config["ntp"], json!({"enabled": true}));
    assert_eq!(warnings(&inputs), ["hostname is the instance's own; the user's is not used"]);
    let report = rendered(&inputs).report;
    let keys: Vec<_> = report.keys.iter().map(|(key, origin)| (key.as_str(), *origin)).collect();
    assert_eq!(
        keys,
        [
            ("hostname", Origin::Both),
            ("preserve_hostname", Origin::Joiner),
            ("write_files", Origin::Both),
            ("runcmd", Origin::Both),
            ("packages", Origin::User),
            ("ntp", Origin::User),
        ]
    );
    assert_eq!(report.files[2], ("/etc/motd".to_owned(), None, Origin::User));
}

#[test]
fn a_directive_that_drops_the_join_is_refused() {
    for directive in [
        "merge_how: \"dict(replace)+list()+str()\"",
        "merge_type: \"list(replace)+dict(recurse_list)\"",
        "merge_how: [{name: dict, settings: [replace]}]",
        "merge_how: [[dict, replace], [list]]",
    ] {
        let error = refused(&k3s(&format!("#cloud-config\n{directive}\nruncmd: [echo user]\n")));
        assert_eq!(error.problem, "merge_how drops the join commands", "{directive}");
        assert_eq!(error.field, "spec.userData: merge_how");
    }
}

#[test]
fn a_directive_that_keeps_the_join_is_honoured() {
    let user =
        "#cloud-config\nmerge_how: \"list(prepend)+dict(no_replace,recurse_list)\"\nruncmd: [a]\n";
    let config = cloud_config(&k3s(user));
    assert_eq!(config["runcmd"], json!(["a", join()]));
    assert_eq!(config.get("merge_how"), None);

    let user = "#cloud-config\nmerge_how: [{name: dict, settings: [replace]}]\nhostname: mine\n";
    let config = cloud_config(&k3s(user));
    assert_eq!(config["hostname"], "mine");
    assert_eq!(
        warnings(&k3s(user)),
        ["hostname is the user's; the Node must be named as its claim expects"]
    );

    let user = "#cloud-config\nmerge_how: \"dict(recurse_str)+str(append)\"\nhostname: -b\n";
    assert_eq!(cloud_config(&k3s(user))["hostname"], "general-x7k2p-b");

    let user = "#cloud-config\nmerge_how: \"dict(allow_delete)\"\npreserve_hostname: null\n";
    assert_eq!(cloud_config(&k3s(user)).get("preserve_hostname"), None);
}

#[test]
fn directives_that_cloud_init_would_read_otherwise_are_refused() {
    for directive in ["list(sort)", "tuple()", "dict", "str(prepend)", "list(append,recurse_dict)"]
    {
        let error = refused(&k3s(&format!("#cloud-config\nmerge_how: \"{directive}\"\n")));
        assert!(error.problem.contains("write list(append|prepend|"), "{error}");
    }
}

#[test]
fn of_two_files_at_one_path_the_users_is_written() {
    let path = "/etc/rancher/k3s/config.yaml";
    let inputs = k3s(&format!("#cloud-config\nwrite_files: [{{path: {path}, content: mine}}]\n"));
    let config = cloud_config(&inputs);
    assert_eq!(paths(&config), ["/usr/local/lib/joiner/join.sh", path]);
    assert_eq!(crate::shared::file(&config, path)["content"], "mine");
    assert_eq!(warnings(&inputs), [format!("{path} is the user's; ours is not written")]);

    let added = k3s(&format!(
        "#cloud-config\nwrite_files: [{{path: {path}, content: more, append: true}}]\n"
    ));
    let config = cloud_config(&added);
    assert_eq!(paths(&config), [path, "/usr/local/lib/joiner/join.sh", path]);
    assert_eq!(warnings(&added), [format!("{path} is ours, and the user's text is added to it")]);
}

#[test]
fn commands_before_the_join_are_taken_out_of_the_text() {
    let user =
        "#cloud-config\npreJoinCommands:\n- mount /data\n- [touch, 'a b']\nruncmd: [after]\n";
    let mut inputs = with_user(instance(Distro::K3s), user);
    let pre_join = json!(["/bin/sh", "/usr/local/lib/joiner/pre-join.sh"]);
    let commands = json!([pre_join, "mount /data", ["touch", "a b"], join(), "after"]);
    assert_eq!(cloud_config(&inputs)["runcmd"], commands);
    assert!(!text(&inputs).contains("preJoinCommands"));
    for wrong in ["preJoinCommands: a", "preJoinCommands: [[]]", "preJoinCommands: [{a: b}]"] {
        inputs = with_user(inputs, &format!("#cloud-config\n{wrong}\n"));
        assert!(refused(&inputs).field.contains("preJoinCommands"), "{wrong}");
    }
}

#[test]
fn a_key_that_is_there_twice_is_refused_with_both_lines() {
    let error = refused(&k3s("#cloud-config\nruncmd: [a]\npackages: [b]\nruncmd: [c]\n"));
    assert_eq!(error.problem, "line 4: the key \"runcmd\" is there twice, in lines 2 and 4");
    let nested = refused(&k3s("#cloud-config\nntp:\n  a: 1\n  a: 2\n"));
    assert!(nested.problem.contains("in lines 3 and 4"), "{nested}");
}

#[test]
fn anchors_and_merge_keys_are_written_out() {
    let user = "#cloud-config\nx: &x {a: 1, b: 2}\ny: *x\nz: {<<: *x, b: 3}\nl: [*x]\n";
    let config = cloud_config(&k3s(user));
    assert_eq!(config["y"], json!({"a": 1, "b": 2}));
    assert_eq!(config["z"], json!({"a": 1, "b": 3}));
    let text = text(&k3s(user));
    assert!(!text.contains('&') || !text.contains("*x"), "{text}");
    let nine = |i| vec![format!("*k{i}"); 9].join(", ");
    let lines: Vec<_> = (1..30).map(|i| format!("k{i}: &k{i} [{}]\n", nine(i - 1))).collect();
    let bomb = lines.concat();
    let error = refused(&k3s(&format!("#cloud-config\nk0: &k0 [a]\n{bomb}")));
    assert!(error.problem.contains("over 100000 values"), "{error}");
}

#[test]
fn the_users_values_leave_as_they_came() {
    // What they are is up to the guest's own reader, which is one of YAML 1.1.
    let lines = [
        "a: 0644",
        "b: yes",
        "c: 2032-09-01",
        "d: ~",
        "e: \"0644\"",
        "f: 1e3",
        "g: 12:30:45",
        "h: !!binary aGVsbG8=",
    ];
    let text = text(&k3s(&format!("#cloud-config\n{}\n", lines.join("\n"))));
    for line in lines {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
}

#[test]
fn a_command_with_a_colon_or_a_hash_stays_one() {
    let user = "#cloud-config\nruncmd:\n- 'echo a: b # c'\n- \"echo \\\"x\\\"\\n\"\n";
    let config = cloud_config(&k3s(user));
    assert_eq!(config["runcmd"], json!([join(), "echo a: b # c", "echo \"x\"\n"]));
}

#[test]
fn lists_that_would_drop_ours_are_warned_about() {
    let user = "#cloud-config\nwrite_files:\n- path: /etc/rancher/k3s/config.yaml.d/90-mine.yaml\n  content: |\n    kubelet-arg: [v=2]\n    node-label+: [a=b]\n";
    assert_eq!(
        warnings(&k3s(user)),
        [
            "kubelet-arg in /etc/rancher/k3s/config.yaml.d/90-mine.yaml replaces the generated list; \
          write \"kubelet-arg+\" to add to it"
        ]
    );
}

#[test]
fn what_is_no_cloud_config_is_refused_with_its_line() {
    for (user, problem) in [
        ("#cloud-config\na: [\n", "line"),
        ("#cloud-config\n- a\n", "the cloud-config is a list"),
        ("#cloud-config\na: 1\n---\nb: 2\n", "there are 2 documents in it"),
        ("#cloud-config\nruncmd: {a: b}\n", "runcmd: it is a map, and a list is needed"),
        ("#cloud-config\n[a]: b\n", "the key of a map is a list or a map itself"),
    ] {
        let error = refused(&k3s(user));
        assert!(error.problem.contains(problem), "{user:?}: {error}");
        assert_eq!(error.kind.reason(), "InvalidUserData");
    }
}

#[test]
fn only_a_comment_is_a_cloud_config_with_nothing_in_it() {
    assert_eq!(text(&k3s("#cloud-config\n")), text(&k3s("")));
}
