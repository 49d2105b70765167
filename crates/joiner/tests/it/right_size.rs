//! The sample cluster of what could go, with changes to it.

use std::{fs, path::Path};

/// The moment that it is made for: the forenoon of a Monday.
pub(crate) const FORENOON: [&str; 2] = ["--at", "2026-03-02T10:00:00Z"];

/// A change: a text that is there once, and what stands in its place.
pub(crate) type Change<'a> = (&'a str, &'a str);

/// One of the pool's budgets names an hour that no day has.
pub(crate) const UNREADABLE_BUDGET: Change<'_> =
    (r#"- {nodes: "1"}"#, r#"- {nodes: "1", schedule: "0 25 * * *", duration: 1h}"#);

/// The databases are a pool of a fixed number of instances.
pub(crate) const FIXED_NUMBER: Change<'_> =
    ("  name: databases\nspec:\n", "  name: databases\nspec:\n  replicas: 2\n");

/// The same, and there can be no instance more than that.
pub(crate) const DELETE_FIRST: Change<'_> = (
    "  name: databases\nspec:\n",
    "  name: databases\n  annotations: {joiner.sh/static-drift: delete-first}\nspec:\n  replicas: \
     2\n  limits: {nodes: 2}\n",
);

/// The databases may be replaced by day.
pub(crate) const BY_DAY: Change<'_> =
    (r#"schedule: "0 6 * * *", duration: 16h"#, r#"schedule: "0 22 * * *", duration: 8h"#);

/// The claim of worker-3.
pub(crate) const WORKER_3: &str = "  name: general-m2b6t\n";

/// What a controller writes on a claim that it is about to delete, here that of worker-3.
pub(crate) const COMMAND: &str = r#"{"id": "c1", "method": "singleNodeConsolidation", "reason": "Underutilized", "decision": "delete", "candidates": [{"nodeClaim": "general-m2b6t", "uid": "u", "node": "worker-3"}], "begun": "2026-03-02T09:59:50Z"}"#;

/// The claim of worker-3 with a controller's command.
pub(crate) fn worker_3_with(command: &str) -> String {
    format!("{WORKER_3}  annotations: {{joiner.sh/disruption-command: '{command}'}}\n")
}

/// All objects of the sample cluster in one text, but for these changes.
pub(crate) fn but(changes: &[Change<'_>]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/right-size");
    let files = ["instances.yaml", "pods.yaml", "pools.yaml"];
    let texts = files.map(|file| fs::read_to_string(folder.join(file)).expect("a file of ours"));
    let mut objects = texts.join("---\n");
    for (from, to) in changes {
        assert_eq!(objects.matches(from).count(), 1, "{from} is there once");
        objects = objects.replace(from, to);
    }
    objects
}
