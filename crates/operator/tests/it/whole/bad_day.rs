//! Days drawn from a seed on which everything goes wrong that can: when they are over, everything is
//! as it should be, and no rule was broken at any moment.

use joiner_lab::{Lab, chance::Chance, faults::Rates};
use serde_json::json;

use super::{
    End, allow_only, assert_for_seeds, change_pool, chosen, create, deployment, end, furnished,
    pass, scale, virtual_time,
};

fn one_of<T: Clone>(chance: &mut Chance, choices: &[T]) -> T {
    choices[chance.below(choices.len() as u64) as usize].clone()
}

/// Has the pool keep to budgets of some kind, and in half of all stories to small instances, so that
/// there are several of them.
fn draw_pool(lab: &Lab, chance: &mut Chance) {
    let budgets = [
        json!([{"nodes": "10%"}]),
        json!([{"nodes": "1"}]),
        json!([{"nodes": "34%"}]),
        json!([{"nodes": "100%"}, {"nodes": "1", "reasons": ["Drifted"]}]),
        json!([{"nodes": "2"}, {"nodes": "0", "reasons": ["Empty", "Underutilized"]}]),
        json!([{"nodes": "2"}, {"nodes": "0", "schedule": "*/6 * * * *", "duration": "3m"}]),
    ];
    change_pool(lab, &json!({"disruption": {"budgets": one_of(chance, &budgets)}}));
    if chance.below(2) == 0 {
        allow_only(lab, &["lab-2x", "lab-4x"]);
    }
}

/// An application of so many pods, of which a budget wants some to be well.
fn draw_app(lab: &Lab, chance: &mut Chance, name: &str, replicas: u64) {
    create(lab, "apps", "deployments", deployment(name, replicas));
    let wanted = [
        json!({"maxUnavailable": 1}),
        json!({"maxUnavailable": "25%"}),
        json!({"minAvailable": "50%"}),
        json!({"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
    ];
    let mut spec = one_of(chance, &wanted);
    spec["selector"] = json!({"matchLabels": {"app": name}});
    let metadata = json!({"name": name, "namespace": "default"});
    create(lab, "policy", "poddisruptionbudgets", json!({"metadata": metadata, "spec": spec}));
}

/// A burst and its end on a bad day, and in half of all stories a pool that wants other instances.
/// Answers what came of it when the day was over, and how many pods should run.
async fn bad_day(seed: u64) -> (Lab, usize) {
    let mut lab = furnished(seed);
    let mut chance = lab.chance("story");
    draw_pool(&lab, &mut chance);
    let steady = chance.below(4);
    draw_app(&lab, &mut chance, "steady", steady);
    let replicas = 2 + chance.below(10);
    draw_app(&lab, &mut chance, "web", replicas);
    lab.faults().add_chance(lab.chance("network"), Rates::bad_day());
    pass(&mut lab, 5, seed).await;
    let replicas = chance.below(12);
    scale(&lab, "web", replicas);
    if chance.below(2) == 0 {
        change_pool(&lab, &json!({"template": {"metadata": {"labels": {"generation": "2"}}}}));
    }
    pass(&mut lab, 5, seed + 1).await;
    lab.faults().calm();
    pass(&mut lab, 20, seed + 2).await;
    (lab, (steady + replicas) as usize)
}

#[test]
fn after_bad_days_everything_comes_to_rest() {
    assert_for_seeds(chosen("JOINER_SEEDS", 8), async |seed| {
        let (lab, pods) = bad_day(seed).await;
        let found = End::of(&lab);
        let is_wrong = found != end(pods, found.instances);
        is_wrong.then(|| format!("{pods} pods should run: {found:?}")).into_iter().collect()
    });
}

#[test]
fn the_same_seed_tells_the_same_story() {
    let told =
        |seed| virtual_time().block_on(async { bad_day(seed).await.0.history().to_json_lines() });
    let (first, second) = (told(3), told(3));
    let differs = first.lines().zip(second.lines()).find(|(first, second)| first != second);
    assert_eq!(differs, None, "the first line that differs");
    assert_eq!(first.lines().count(), second.lines().count());
}
