//! What is wrong with a pool's budgets, or hardly meant as it is written.

use jiff::Timestamp;
use joiner_api::node_pool::{Budget, NodePool};
use joiner_core::disruption::{DisruptionReason, PoolRules};
use joiner_plan::disrupt::unreadable;

use crate::{
    claims::name,
    index::fleet::{budget, own_budgets, without_reasons},
    marks::REPAIR_MAX_UNHEALTHY,
};

/// What is wrong with a pool's budgets, so that nothing of it is disrupted. A definition of today
/// lets little of that through; pools are older than that.
pub(super) fn problem(pool: &NodePool, now: Timestamp) -> Option<String> {
    let rules =
        PoolRules { budgets: own_budgets(pool).map(budget).collect(), ..PoolRules::default() };
    let problem = unreadable(&rules, now)?;
    Some(format!("{problem}; until it is mended, none of the pool's nodes is disrupted"))
}

/// What can be used, but hardly means what its author expects.
pub(super) fn doubts(pool: &NodePool) -> Vec<String> {
    let subject = format!("NodePool {:?}: spec.disruption.budgets", name(&pool.metadata));
    let about_nothing = without_reasons(pool).map(|index| {
        format!(
            "{subject}[{index}].reasons is empty, and the budget counts for every reason: remove \
             reasons, or name some"
        )
    });
    // COMPAT: from 1.15 on upstream repairs within budgets; here repair looks at none of them.
    let about_repair = own_budgets(pool).enumerate().filter_map(|(index, budget)| {
        let is_about_repair = |reason: &String| reason == DisruptionReason::Unhealthy.as_str();
        budget.reasons.iter().flatten().any(is_about_repair).then(|| {
            format!(
                "{subject}[{index}].reasons names Unhealthy, which limits nothing: unhealthy nodes \
                 are replaced whatever the budgets are; bound that with the annotation \
                 {REPAIR_MAX_UNHEALTHY}"
            )
        })
    });
    let unlimited: Vec<&str> = DisruptionReason::OF_METHODS
        .iter()
        .map(|reason| reason.as_str())
        .filter(|reason| has_only_schedules(pool, reason))
        .collect();
    let outside = (!unlimited.is_empty()).then(|| {
        format!(
            "{subject}: outside of the times of their schedules nothing limits how many nodes are \
             disrupted at once for {}: add a budget without a schedule, such as nodes: 10%",
            unlimited.join(", ")
        )
    });
    about_nothing.chain(about_repair).chain(outside).collect()
}

/// Whether there are budgets for a reason, and each has a schedule.
fn has_only_schedules(pool: &NodePool, reason: &str) -> bool {
    let is_about = |budget: &&Budget| {
        let reasons = budget.reasons.as_deref().unwrap_or_default();
        reasons.is_empty() || reasons.iter().any(|named| named == reason)
    };
    let mut own = own_budgets(pool).filter(is_about).peekable();
    own.peek().is_some() && own.all(|budget| budget.schedule.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pool(budgets: Value) -> NodePool {
        let mut pool = NodePool::default();
        pool.metadata.name = Some("general".to_owned());
        let disruption = json!({"budgets": budgets});
        pool.spec.disruption = Some(serde_json::from_value(disruption).unwrap());
        pool
    }

    fn problem_of(budget: Value) -> String {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let good = json!({"nodes": "10%"});
        problem(&pool(json!([good, budget])), now).unwrap_or_default()
    }

    #[test]
    fn what_a_budget_cannot_mean_names_the_field_and_the_remedy() {
        for (budget, starts) in [
            (json!({"nodes": "-1"}), r#"spec.disruption.budgets[1].nodes "-1": expected a number"#),
            (json!({"nodes": "-10%"}), r#"spec.disruption.budgets[1].nodes "-10%": expected"#),
            (json!({"nodes": "101%"}), r#"spec.disruption.budgets[1].nodes "101%": expected"#),
            (json!({"nodes": "1000%"}), r#"spec.disruption.budgets[1].nodes "1000%": expected"#),
            (
                json!({"nodes": "1", "schedule": "a b c d e", "duration": "1h"}),
                r#"spec.disruption.budgets[1].schedule "a b c d e": "#,
            ),
            (
                json!({"nodes": "1", "schedule": "0 9 * *", "duration": "1h"}),
                r#"spec.disruption.budgets[1].schedule "0 9 * *": "#,
            ),
            (
                json!({"nodes": "1", "schedule": "0 9 * * 7", "duration": "1h"}),
                r#"spec.disruption.budgets[1].schedule "0 9 * * 7": "#,
            ),
            (
                json!({"nodes": "1", "schedule": "0 9 * * *"}),
                "spec.disruption.budgets[1].duration is missing",
            ),
            (
                json!({"nodes": "1", "duration": "8h"}),
                "spec.disruption.budgets[1].schedule is missing",
            ),
            (
                json!({"nodes": "1", "reasons": ["Expired"]}),
                r#"spec.disruption.budgets[1].reasons "Expired": expected Underutilized"#,
            ),
        ] {
            let problem = problem_of(budget);
            assert!(problem.starts_with(starts), "{problem}");
            let end = "; until it is mended, none of the pool's nodes is disrupted";
            assert!(problem.ends_with(end), "{problem}");
        }
    }

    #[test]
    fn what_a_budget_can_mean_is_no_problem() {
        for budget in [
            json!({}),
            json!({"nodes": "0"}),
            json!({"nodes": "100%"}),
            json!({"nodes": "5", "schedule": "@daily", "duration": "10m"}),
            json!({"nodes": "5", "schedule": "0 9 * * mon-fri", "duration": "8h30m"}),
            json!({"nodes": "0", "reasons": ["Drifted"]}),
            json!({"nodes": "0", "reasons": ["Drifted", "Unhealthy"]}),
        ] {
            assert_eq!(problem_of(budget), "");
        }
    }

    #[test]
    fn a_schedule_alone_leaves_the_rest_of_the_time_without_a_limit() {
        let at_night = json!({"nodes": "20%", "schedule": "0 22 * * *", "duration": "8h"});
        let told = doubts(&pool(json!([at_night])));
        assert_eq!(
            told,
            ["NodePool \"general\": spec.disruption.budgets: outside of the times of their \
              schedules nothing limits how many nodes are disrupted at once for Underutilized, \
              Empty, Drifted: add a budget without a schedule, such as nodes: 10%"]
        );
        let always = json!({"nodes": "1"});
        assert_eq!(doubts(&pool(json!([at_night, always]))), [""; 0]);
        let only_drift = json!({"nodes": "1", "reasons": ["Drifted"]});
        let told = doubts(&pool(json!([at_night, only_drift])));
        assert!(told[0].contains("for Underutilized, Empty: add"), "{told:?}");
    }

    #[test]
    fn no_budget_at_all_is_what_its_author_asked_for() {
        assert_eq!(doubts(&pool(json!([]))), [""; 0]);
        assert_eq!(doubts(&NodePool::default()), [""; 0]);
    }

    #[test]
    fn a_budget_for_repair_limits_nothing_and_is_told() {
        let always = json!({"nodes": "10%"});
        let told = doubts(&pool(json!([always, {"nodes": "1", "reasons": ["Unhealthy"]}])));
        assert_eq!(
            told,
            ["NodePool \"general\": spec.disruption.budgets[1].reasons names Unhealthy, which \
              limits nothing: unhealthy nodes are replaced whatever the budgets are; bound that \
              with the annotation joiner.sh/repair-max-unhealthy"]
        );
    }

    #[test]
    fn a_budget_about_no_reason_counts_for_all_and_is_told() {
        let told = doubts(&pool(json!([{"nodes": "1"}, {"nodes": "0", "reasons": []}])));
        assert_eq!(
            told,
            ["NodePool \"general\": spec.disruption.budgets[1].reasons is empty, and the budget \
              counts for every reason: remove reasons, or name some"]
        );
    }
}
