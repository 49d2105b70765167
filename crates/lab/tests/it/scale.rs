//! A cluster that is too large to look at: everything finds its place.

use serde_json::json;

use crate::common::Lab;

#[tokio::test(start_paused = true)]
async fn many_pods_on_many_nodes_all_find_a_place() {
    let mut lab = Lab::new();
    for n in 0..60 {
        let zone = format!("z{}", n % 3);
        lab.node(&format!("n{n:05}"), "16", json!({"topology.kubernetes.io/zone": zone}));
    }
    lab.pass(1).await;
    let spread = json!({"topologySpreadConstraints": [{
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}},
    }]});
    for n in 0..300 {
        let meta = json!({"name": format!("p{n:06}"), "labels": {"app": "web"}});
        lab.pod_with(meta, if n % 2 == 0 { spread.clone() } else { json!({}) });
    }
    lab.pass(30).await;
    let places = lab.places();
    assert_eq!((places.lines().count(), places.matches(" -\n").count()), (300, 0));
}
