//! Values may be secrets, so no message and no `Debug` shows them.

use joiner_gotemplate::{MissingKey, Value, value::Text};

use crate::{
    cases::{Outcome, outcome},
    data,
};

const SECRET: &str = "abcdef.0123456789abcdef";

#[test]
fn errors_show_no_values() {
    for source in [
        "{{ range .node.Kubernetes.BootstrapToken }}{{ end }}",
        "{{ index .node.Kubernetes.BootstrapToken 99 }}",
        "{{ add .node.Kubernetes.BootstrapToken }}",
        "{{ call .node.Kubernetes.BootstrapToken }}",
        "{{ .node.Kubernetes.BootstrapToken | call }}",
        "{{ .node.Kubernetes.BootstrapToken.Field }}",
        "{{ lt .node.Kubernetes.BootstrapToken 1 }}",
        "{{ eq .map .nilMap }}{{ eq .list .texts }}",
        "{{ eq .list .list }}",
        "{{ eq .nested .map .list }}",
        "{{ b64dec .node.Kubernetes.BootstrapToken }}",
        "{{ regexFind (print `(` .node.Kubernetes.BootstrapToken) `` }}",
        "{{ indent .node.Kubernetes.BootstrapToken `x` }}",
        "{{ cidrhost .node.Kubernetes.BootstrapToken }}",
        "{{ cidrslaac .node.Kubernetes.BootstrapToken `2001:db8::/64` }}",
    ] {
        match outcome(source, MissingKey::NoValue) {
            Outcome::Error(error) => assert!(!error.contains(SECRET), "{source}: {error}"),
            Outcome::Parse(_) => assert!(source.contains("{{ add "), "{source} has to parse"),
            Outcome::Output(_) => panic!("{source} has to fail"),
        }
    }
}

#[test]
fn debug_shows_types_only() {
    let shown = format!("{:?} {:?} {:?}", data::node(), Value::from(SECRET), Text::from(SECRET));
    assert_eq!(shown, "Value(main.NodeData) Value(string) Text(23 bytes)");
}
