//! Defects that upstream's functions have, and that these do not have.

use joiner_gotemplate::MissingKey;

use crate::cases::{Outcome, outcome};

/// A template, what upstream makes of it, and what it becomes here.
const DEFECTS: [(&str, &str, &str); 8] = [
    (r#"{{ getValue "odd;mode=fast" "odd" }}|"#, "ends with a panic of Go", "|"),
    (r#"{{ getValue "mode=fast;odd" "mode" }}"#, "fast", "fast"),
    (r#"{{ hasKey .node.Values "K3sURL" }}"#, "refuses the type of .Values", "true"),
    (r#"{{ hasKey .node.Values "none" }}"#, "refuses the type of .Values", "false"),
    (r#"{{ get .nested "none" }}|"#, "refuses maps of other types", "|"),
    ("{{ toPrettyYaml .texts | len }}", "knows the name from its documentation only", "24"),
    ("{{ .node.Kubernetes.KubeletConfiguration.MaxPods | quote }}", "prints an address", "\"110\""),
    (
        "{{ printf \"%d\" .node.Kubernetes.KubeletConfiguration.MaxPods }}",
        "prints an address",
        "110",
    ),
];

#[test]
fn defects_of_upstream_are_not_reproduced() {
    for (source, upstream, expected) in DEFECTS {
        let found = outcome(source, MissingKey::NoValue);
        let expected = Outcome::Output(expected.as_bytes().to_vec());
        assert_eq!(found, expected, "{source}, where upstream {upstream}");
    }
}

#[test]
fn dumps_of_two_nodes_do_not_change_each_other() {
    // Upstream's functions change a map that all nodes share.
    let source = "{{ toYaml .node.Kubernetes.KubeletConfiguration.KubeReserved }}";
    let first = outcome(source, MissingKey::NoValue);
    assert_eq!(first, outcome(source, MissingKey::NoValue));
}

#[test]
fn complex_numbers_are_refused() {
    let problem = "template: node:1: complex numbers are not supported: 1+2i";
    let found = outcome("{{ 1+2i }}", MissingKey::NoValue);
    assert_eq!(found, Outcome::Parse(problem.to_owned()));
}
