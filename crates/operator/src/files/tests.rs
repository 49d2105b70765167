use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

fn read_text(file: &str, text: &str) -> Result<Objects, ReadError> {
    let mut reader = Reader::default();
    reader.read_bytes(file, text.as_bytes().to_vec())?;
    Ok(reader.objects)
}

/// `Kind namespace/name` of every object that is looked at here, then what was ignored.
fn show(objects: &Objects) -> String {
    let mut lines = Vec::new();
    for pod in &objects.pods {
        let metadata = &pod.metadata;
        let namespace = metadata.namespace.as_deref().unwrap_or("-");
        lines.push(format!("Pod {namespace}/{}", metadata.name.as_deref().unwrap_or("-")));
    }
    for node in &objects.nodes {
        lines.push(format!("Node {}", node.metadata.name.as_deref().unwrap_or("-")));
    }
    for pool in &objects.node_pools {
        lines.push(format!("NodePool {}", pool.metadata.name.as_deref().unwrap_or("-")));
    }
    for class in &objects.node_classes {
        lines.push(format!("{}/{} {}", class.group, class.kind, class.name));
    }
    for (kind, count) in &objects.ignored {
        lines.push(format!("ignored {count} {kind}"));
    }
    lines.join("\n")
}

#[track_caller]
fn check(file: &str, text: &str, expected: Expect) {
    let shown = match read_text(file, text) {
        Ok(objects) => show(&objects),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: NAME}, spec: {containers: []}}";

fn pod(name: &str) -> String {
    POD.replace("NAME", name)
}

#[test]
fn documents_lists_and_single_objects_mix() {
    check(
        "a.yaml",
        "
# A comment first.
---
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: shop}
---
---
apiVersion: v1
items:
- {apiVersion: v1, kind: Pod, metadata: {name: two}}
- {apiVersion: v1, kind: Node, metadata: {name: n, namespace: ignored}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
kind: List
--- # a marker with a comment
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
...
",
        expect![[r#"
            Pod shop/one
            Pod default/two
            Node n
            karpenter.kwok.sh/KWOKNodeClass default
            ignored 1 ConfigMap"#]],
    );
}

#[test]
fn json_may_hold_one_object_many_a_list_or_an_array() {
    let expected = || {
        expect![[r#"
            Pod default/a
            Pod default/b"#]]
    };
    let a = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}"#;
    let b = r#"{"kind": "Pod", "metadata": {"name": "b"}, "apiVersion": "v1"}"#;
    check("f.json", &format!("{a}\n{b}"), expected());
    check("f.json", &format!("[{a}, {b}]"), expected());
    check(
        "-",
        &format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{a}, {b}]}}"#),
        expected(),
    );
    check("f.json", &format!("\u{feff}  {{}} null {a}{b}"), expected());
}

#[test]
fn items_of_a_typed_list_need_not_repeat_their_kind() {
    let expected = || expect!["Pod default/a"];
    check(
        "f.json",
        r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}"#,
        expected(),
    );
    check("f.yaml", "apiVersion: v1\nitems: [{metadata: {name: a}}]\nkind: PodList\n", expected());
    check(
        "f.yaml",
        "apiVersion: karpenter.sh/v1\nkind: NodePoolList\nitems:\n- metadata: {name: p}\n  \
         spec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}}}}",
        expect!["NodePool p"],
    );
    for list in ["{apiVersion: v1, kind: PodList, items: null}", "{apiVersion: v1, kind: List}"] {
        check("f.yaml", list, expect![""]);
    }
    for list in [r#"{"apiVersion":"v1","kind":"List","items":null}"#, r#"{"kind":"PodList"}"#] {
        check("f.json", list, expect![""]);
    }
}

#[test]
fn yaml_that_starts_like_json_is_yaml() {
    check(
        "f.yaml",
        &format!("{}\n---\n{}", pod("a"), pod("b")),
        expect![[r#"
        Pod default/a
        Pod default/b"#]],
    );
    check(
        "f.yaml",
        "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n",
        expect![[r#"
        Pod default/a
        Pod default/b"#]],
    );
}

#[test]
fn yaml_is_read_as_kubectl_reads_it() {
    let yaml = "
apiVersion: v1
kind: PodTemplate
metadata: {name: y, labels: &l {no: 'off'}, annotations: *l, creationTimestamp: 2026-01-01T00:00:00Z}
template:
  spec:
    terminationGracePeriodSeconds: 0644
    containers:
    - name: main
      resources: {requests: {cpu: 1, memory: 1.5}}
    volumes:
    - name: t
      persistentVolumeClaim:
        claimName: |
          text
          --- in a block
";
    let objects = read_text("f.yaml", yaml).unwrap();
    let template = &objects.pod_templates[0];
    assert_eq!(template.metadata.name.as_deref(), Some("y"));
    assert_eq!(template.metadata.annotations, template.metadata.labels);
    let spec = template.template.as_ref().unwrap().spec.as_ref().unwrap();
    let requests = spec.containers[0].resources.as_ref().unwrap().requests.as_ref().unwrap();
    assert_eq!((requests["cpu"].0.as_str(), requests["memory"].0.as_str()), ("1", "1.5"));
    let volumes = spec.volumes.as_ref().unwrap();
    assert_eq!(spec.termination_grace_period_seconds, Some(0o644));
    let claim = volumes[0].persistent_volume_claim.as_ref().unwrap();
    assert_eq!(claim.claim_name, "text\n--- in a block\n");
}

/// The errors of texts, one to a line.
#[track_caller]
fn check_errors(texts: &[(&str, &str)], expected: Expect) {
    let errors = texts.iter().map(|(file, text)| match read_text(file, text) {
        Ok(objects) => format!("{text} is read: {}", show(&objects)),
        Err(error) => error.to_string(),
    });
    expected.assert_eq(&errors.collect::<Vec<_>>().join("\n"));
}

#[test]
fn an_object_that_its_type_refuses_is_named_with_place_and_field() {
    check_errors(
        &[
            (
                "f.yaml",
                "{apiVersion: v1, kind: Node, metadata: {name: n}}\n---\napiVersion: v1\nkind: Pod\n\
                 metadata: {name: b, namespace: shop}\nspec: {containers: [{name: 7}]}",
            ),
            (
                "f.json",
                r#"{"kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}},
                   {"apiVersion":"v1","kind":"Node","metadata":{"name":"m"},"spec":{"taints":{}}}]}"#,
            ),
            ("f.yaml", "{apiVersion: apps/v1beta1, kind: DaemonSet, metadata: {name: d}}"),
            ("f.yaml", "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: p}}"),
        ],
        expect![[r#"
            f.yaml: document 2: Pod shop/b: spec.containers[0].name: invalid type: integer `7`, expected a string; put it in quotes
            f.json: document 1, item 2: Node m: spec.taints: invalid type: map, expected a sequence
            f.yaml: document 1: DaemonSet default/d: invalid value: string "apps/v1beta1", expected apps/v1
            f.yaml: document 1: NodePool p: missing field `spec`; add it"#]],
    );
}

#[test]
fn what_is_no_object_is_refused() {
    check_errors(
        &[
            ("f", "just text"),
            ("f", "- 7"),
            ("f", "[]\n---\n7"),
            ("f", "metadata: {name: a}"),
            ("f", "{kind: Pod, metadata: {name: a}}"),
            ("f", "{apiVersion: v1, kind: Pod}"),
            ("f", "{apiVersion: v1, kind: Pod, metadata: {name: 1}}"),
            ("f", "{apiVersion: v1, kind: Pod, metadata: {name: a/b}}"),
            ("f", "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b/c}}"),
            ("f", "{apiVersion: v1, kind: [Pod], metadata: {name: a}}"),
            (
                "f",
                "{apiVersion: v1, kind: Pod, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}",
            ),
            ("f", "{apiVersion: v1, kind: List, items: {a: b}}"),
            ("f", "{apiVersion: v1, kind: List, items: [{metadata: {name: a}}]}"),
            ("f", r#"{"apiVersion": "v1", "kind": "List", "items": [7]}"#),
            ("f", r#"{"apiVersion": "v1", "kind": "List", "items": {}}"#),
            ("f", r#"{"apiVersion": "v1", "kind": 7}"#),
            ("f", r#"{"kind": "Pod"}"#),
            ("f", "[7]"),
            ("f", "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: []}]}"),
            ("f", r#"[{"apiVersion": "v1", "kind": "List", "items": []}]"#),
        ],
        expect![[r#"
            f: document 1: is not a Kubernetes object; write apiVersion, kind and metadata
            f: document 1, item 1: is not a Kubernetes object; write apiVersion, kind and metadata
            f: document 2: is not a Kubernetes object; write apiVersion, kind and metadata
            f: document 1: kind: is missing; write apiVersion and kind
            f: document 1: Pod: apiVersion: is missing; write apiVersion and kind
            f: document 1: Pod: metadata.name: is missing; give the object a name
            f: document 1: Pod: metadata.name: is not text; put it in quotes
            f: document 1: Pod default/a/b: metadata.name: contains a slash; choose another name
            f: document 1: Pod b/c/a: metadata.namespace: contains a slash; choose another name
            f: document 1: kind: is not text; put it in quotes
            f: document 1: Pod: items: belongs to a List; write kind: List
            f: document 1: List: items: is an object; write a list of objects
            f: document 1, item 1: kind: is missing; write apiVersion and kind
            f: document 1, item 1: is not a Kubernetes object; write apiVersion, kind and metadata
            f: document 1: List: invalid type: map, expected a sequence
            f: document 1: kind: invalid type: integer `7`, expected a string; put it in quotes
            f: document 1: Pod: apiVersion: is missing; write apiVersion and kind
            f: document 1, item 1: is not a Kubernetes object; write apiVersion, kind and metadata
            f: document 1, item 1: List: kind: is a List in a List; put its items into the outer one
            f: document 1, item 1: List: kind: is a List in a List; put its items into the outer one"#]],
    );
}

#[test]
fn broken_syntax_is_reported_with_line_and_column() {
    check_errors(
        &[
            ("f.json", r#"{"apiVersion": "v1", "#),
            ("f.json", "{\"a\": 1}\n{,}"),
            ("-", r#"{"apiVersion": "v1", "kind": "#),
            ("f.yaml", "apiVersion: v1\nkind: [Pod"),
            ("f.yaml", "{}\n---\n# tab\na:\n\t- b"),
            ("f.yaml", "a: 1\na: 2\n"),
            ("f.yaml", "a: *nowhere\n"),
            ("f.yaml", "a: \"unclosed\n"),
        ],
        expect![[r#"
            f.json: document 1: is not valid JSON: EOF while parsing an object at line 1 column 21
            f.json: document 2: is not valid JSON: key must be a string at line 2 column 2
            -: document 1: is not valid JSON: EOF while parsing a value at line 1 column 29
            f.yaml: document 1: is not valid YAML: unclosed bracket '[' at line 2, column 7
            f.yaml: document 2: is not valid YAML: tabs disallowed within this context (block indentation) at line 5, column 2
            f.yaml: document 1: is not valid YAML: duplicate mapping key: a not allowed here at line 2, column 1
            f.yaml: document 1: is not valid YAML: reference to unknown value at line 1, column 4
            f.yaml: document 1: is not valid YAML: invalid indentation in multiline quoted scalar at line 2, column 1"#]],
    );
}

#[test]
fn a_file_cut_off_anywhere_is_read_or_refused() {
    let yaml = "
# comment
apiVersion: v1
kind: Pod
metadata: {name: a, labels: &x {k: 'v', \"q\": \"e\\\"\"}, annotations: *x}
spec:
  containers:
  - {name: main, resources: {requests: {cpu: 1, memory: 1.5Gi}}}
--- # more
apiVersion: karpenter.sh/v1
items:
- kind: NodePool
  apiVersion: karpenter.sh/v1
  metadata:
    name: |-
      p
  spec: {weight: 1, template: {spec: {nodeClassRef: {group: g, kind: k, name: n}}}}
kind: List
...
";
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "\u00e9", "labels": {"a": "b"}}, "spec": {"taints": null}}]} [] null"#;
    for (file, text) in [("f.yaml", yaml), ("f.json", json), ("f", json)] {
        assert!(read_text(file, text).is_ok(), "{text}");
        for (end, _) in text.char_indices() {
            let _ = read_text(file, &text[..end]);
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_reported() {
    let mut reader = Reader::default();
    let error = reader.read_bytes("f.yaml", b"kind: \xff".to_vec()).unwrap_err();
    assert_eq!(error.to_string(), "f.yaml: byte 6 is not UTF-8; save the file as UTF-8 text");
}

#[test]
fn the_same_object_twice_names_both_places() {
    check(
        "f.yaml",
        &format!(
            "{}\n---\nkind: List\napiVersion: v1\nitems:\n- {}\n- {}",
            pod("a"),
            pod("b"),
            pod("a")
        ),
        expect![
            "f.yaml: document 2, item 2: Pod default/a was already in f.yaml: document 1; remove one"
        ],
    );
    check(
        "f.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}",
        expect![[r#"
            Pod default/a
            Pod b/a"#]],
    );
}

#[test]
fn aliases_cannot_make_a_short_file_enormous() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
        writeln!(text, "a{i}: &a{i} [{aliases}]").unwrap();
    }
    let error = read_text("f.yaml", &text).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "f.yaml: document 1: is not valid YAML: YAML document too large or too complex"
        ),
        "{error}"
    );
}

#[test]
fn long_values_and_many_documents_are_read() {
    let long = "x".repeat(1 << 20);
    let mut text =
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a, labels: {{l: {long}}}}}\n");
    for i in 0..20_000 {
        write!(text, "---\n# {i}\n").unwrap();
    }
    write!(text, "---\n{}", pod("b")).unwrap();
    let objects = read_text("f.yaml", &text).unwrap();
    assert_eq!(objects.pods.len(), 2);
    assert_eq!(objects.pods[0].metadata.labels.as_ref().unwrap()["l"].len(), 1 << 20);
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let object = "{\"apiVersion\": \"v1\", \"kind\": \"NodeClass\", \"metadata\": {\"name\": \"c\"}, \"spec\": ";
    let error = read_text("f.json", &format!("{object}{deep}}}")).unwrap_err().to_string();
    assert!(error.starts_with("f.json: document 1: NodeClass c: spec[0][0]"), "{error}");
    assert!(error.ends_with("...: recursion limit exceeded"), "{error}");
    for text in ["{a: ".repeat(100_000), "- ".repeat(100_000)] {
        let error = read_text("f.yaml", &text).unwrap_err().to_string();
        assert!(error.starts_with("f.yaml: document 1: is not valid YAML: "), "{error}");
    }
}

#[test]
fn a_folder_is_read_in_order_and_standard_input_once() {
    let folder = std::env::temp_dir().join(format!("joiner-files-{}", std::process::id()));
    fs::create_dir_all(folder.join("inner")).unwrap();
    fs::write(folder.join("b.yaml"), pod("b")).unwrap();
    fs::write(folder.join("a.yml"), pod("a")).unwrap();
    fs::write(
        folder.join("inner/c.json"),
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}}"#,
    )
    .unwrap();
    fs::write(folder.join("readme.txt"), "not read").unwrap();
    let outcome = read(&[folder.clone(), "-".into()], pod("stdin").as_bytes());
    let missing = read(&[folder.join("missing.yaml")], io::empty());
    fs::remove_dir_all(&folder).unwrap();
    expect![[r#"
        Pod default/a
        Pod default/b
        Pod default/c
        Pod default/stdin"#]]
    .assert_eq(&show(&outcome.unwrap()));
    let missing = missing.unwrap_err();
    assert!(
        missing.to_string().ends_with(
            "missing.yaml cannot be read; check that it is there and that you may read it"
        )
    );
    assert!(std::error::Error::source(&missing).is_some());
}
