//! How long large clusters take. These measure and judge nothing; run them in release with
//! `cargo test --release -p joiner-lab -- --ignored --nocapture scale`.

use std::time::Instant;

use serde_json::json;

use crate::common::Lab;

#[tokio::test(start_paused = true)]
#[ignore = "measures"]
async fn many_pods_on_many_nodes() {
    for (nodes, pods) in [(500, 1000), (2000, 20_000)] {
        let mut lab = Lab::new();
        for n in 0..nodes {
            let zone = format!("z{}", n % 3);
            lab.node(&format!("n{n:05}"), "16", json!({"topology.kubernetes.io/zone": zone}));
        }
        lab.pass(1).await;
        let spread = json!({"topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}},
        }]});
        let started = Instant::now();
        for n in 0..pods {
            let meta = json!({"name": format!("p{n:06}"), "labels": {"app": "web"}});
            lab.pod_with(meta, if n % 2 == 0 { spread.clone() } else { json!({}) });
        }
        let created = started.elapsed();
        let started = Instant::now();
        lab.pass(0).await;
        let scheduled = started.elapsed();
        let started = Instant::now();
        lab.pass(30).await;
        println!(
            "{pods} pods on {nodes} nodes: created {created:?}, scheduled {scheduled:?}, \
             running after {:?}",
            started.elapsed()
        );
        assert_eq!(lab.places().matches(" -\n").count(), 0);
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "measures"]
async fn a_day_of_a_hundred_nodes() {
    let mut lab = Lab::new();
    for n in 0..100 {
        lab.node(&format!("n{n:03}"), "32", json!({}));
    }
    for n in 0..2000 {
        lab.pod(&format!("p{n:04}"), json!({}));
    }
    lab.machines.restarts_per_hour(0.01);
    lab.pass(60).await;
    let started = Instant::now();
    lab.pass(24 * 3600).await;
    println!("a day: {:?}", started.elapsed());
}
