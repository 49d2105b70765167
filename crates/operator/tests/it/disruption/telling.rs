//! What dashboards learn of commands.

use joiner_core::disruption::Method;

use super::scene::Scene;

/// The claims that were disrupted, by the labels of the series.
async fn disrupted(method: Method) -> Vec<String> {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    scene.begin(method, &["a", "b"], 0);
    scene.stage.pass(1).await;
    scene.stage.series("karpenter_nodeclaims_disrupted_total")
}

#[tokio::test(start_paused = true)]
async fn claims_are_counted_by_reason_and_policy() {
    let labels = |policy: &str, reason: &str| {
        format!(
            r#"{{capacity_type="on-demand",consolidation_policy="{policy}",nodepool="general",reason="{reason}",termination_mode="graceful"}} 2"#
        )
    };
    let default = "when_empty_or_underutilized";
    assert_eq!(disrupted(Method::Emptiness).await, [labels(default, "empty")]);
    assert_eq!(disrupted(Method::MultiNode).await, [labels(default, "underutilized")]);
    assert_eq!(disrupted(Method::Drift).await, [labels("", "drifted")]);
}

#[tokio::test(start_paused = true)]
async fn replacements_are_counted_by_the_reason_they_were_made_for() {
    let mut scene = Scene::with_instances(&["a"]).await;
    scene.begin(Method::Drift, &["a"], 1);
    scene.stage.pass(1).await;
    let created = scene.stage.series("karpenter_nodeclaims_created_total");
    assert_eq!(created, [r#"{min_values_relaxed="",nodepool="general",reason="drifted"} 1"#]);
}
