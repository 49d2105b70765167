//! What instances of a class join with.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use expect_test::expect;
use joiner_cloud::{
    bootstrap::{
        Distro, ProviderId, Secret,
        provider_id::{IdCloud, IdSetting},
        token::TokenSource,
    },
    needs::{IdNeed, JoinNeeds},
};
use joiner_operator::{
    classes::ClassResolution,
    inputs::{Inputs, Reach},
};
use serde_json::json;

use super::{calls, stage, stage_with};
use crate::{lifecycle::with_lifecycle, stage::Stage};

#[tokio::test(start_paused = true)]
async fn a_cluster_made_by_kubeadm_needs_no_settings() {
    let mut stage = stage().made_by_kubeadm();
    stage.create_class("default");
    stage.pass(1).await;
    assert_eq!(stage.bootstrap_ready(), "True BootstrapReady");
    assert_eq!(stage.class_condition("default", "Ready"), "True Ready");
    let facts = stage.facts().unwrap();
    assert_eq!(facts.distro, Distro::Kubeadm);
    assert_eq!(facts.endpoint.as_deref(), Some("https://10.0.0.10:6443"));
    assert_eq!(facts.version.as_deref(), Some("v1.36.3"));
    assert_eq!(facts.token, Some(TokenSource::Mint));
    assert!(facts.ca.is_some());
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_a_condition_and_an_event_and_goes_when_it_is_there() {
    let mut stage = stage();
    stage.create_class("default");
    stage.pass(1).await;
    expect![[r#"False DistroUnknown TestNodeClass "default": distro: API server "v1.36.3" is neither RKE2 nor k3s, and the cluster has no ConfigMap kube-public/cluster-info; write the distribution down, in the class or as KUBE_DISTRO (--kube-distro): kubeadm, rke2, rke2airgapped, k3s, talos, none"#]]
        .assert_eq(&stage.bootstrap_ready());
    assert_eq!(stage.facts(), None, "the cloud is given everything or nothing");
    let told = stage.events("TestNodeClass", "default");
    assert!(told[0].starts_with("DistroUnknown: BootstrapReady: "), "{told:?}");
    stage.publish_cluster_info();
    stage.pass(100).await;
    expect![[r#"False CAUnknown TestNodeClass "default": ca: the cluster's certificate authority is unknown, and nodes never join unchecked; make the ConfigMap kube-public/cluster-info or kube-root-ca.crt readable"#]]
        .assert_eq(&stage.bootstrap_ready());
    stage.publish_root_ca();
    stage.pass(300).await;
    assert_eq!(stage.bootstrap_ready(), "True BootstrapReady");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_lacks_nothing() {
    let mut stage = stage().made_by_kubeadm();
    stage.lab.faults().add_script("at 0s joiner: 500 on get configmaps 2 times").unwrap();
    stage.create_class("default");
    stage.pass(1).await;
    assert!(stage.bootstrap_ready().starts_with("Unknown Unknown "), "{}", stage.bootstrap_ready());
    assert!(stage.class_condition("default", "Ready").starts_with("Unknown "));
    stage.pass(100).await;
    assert_eq!(stage.bootstrap_ready(), "True BootstrapReady");
    stage.lab.faults().add_script("at 0s joiner: 500 on get configmaps always").unwrap();
    stage.pass(900).await;
    assert_eq!(stage.bootstrap_ready(), "True BootstrapReady", "what was read before still counts");
}

#[tokio::test(start_paused = true)]
async fn what_is_written_down_counts_and_is_not_looked_for() {
    let mut stage = stage_with(|settings| {
        let joining = &mut settings.joining;
        joining.distro = Some(Distro::Rke2);
        joining.endpoint = Some("https://rke2.example.org:9345".to_owned());
        joining.version = Some("v1.33.4+rke2r1".to_owned());
        joining.token = Some(Secret::from("K10".to_owned() + &"0".repeat(64) + "::node:abc"));
    });
    stage.create_class("default");
    stage.pass(1).await;
    assert_eq!(stage.bootstrap_ready(), "True BootstrapReady");
    let facts = stage.facts().unwrap();
    assert_eq!(
        (facts.distro, facts.endpoint.as_deref()),
        (Distro::Rke2, Some("https://rke2.example.org:9345"))
    );
    assert!(matches!(facts.token, Some(TokenSource::Given(_))));
}

/// A stage on which only these addresses answer, of a cluster of this distribution.
fn with_addresses(answering: &[&str], distro: Distro) -> Stage {
    let answering: Vec<SocketAddr> = answering.iter().map(|text| text.parse().unwrap()).collect();
    let mut stage = Stage::bare().set(|settings| {
        settings.joining.distro = Some(distro);
        settings.joining.version = Some(format!("v1.33.4+{distro}1").replace("rke2", "rke2r"));
    });
    let answers = move |address| answering.contains(&address);
    stage.context.inputs = Inputs::reaching(Reach::nobody().answering(move |address| {
        let answers = answers(address);
        Box::pin(async move { answers })
    }));
    stage.cloud.state().needs.joining = Some(JoinNeeds::default());
    stage.publish_root_ca();
    let slice = json!({
        "metadata": {
            "namespace": "default", "name": "kubernetes",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}],
        "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
    });
    stage.create("discovery.k8s.io", "endpointslices", slice);
    stage.create_class("default");
    stage.with(ClassResolution::new)
}

#[tokio::test(start_paused = true)]
async fn instances_of_rke2_and_k3s_join_where_somebody_answers() {
    let mut stage = with_addresses(&["10.0.0.2:9345"], Distro::Rke2);
    stage.pass(1).await;
    assert_eq!(stage.bootstrap_ready(), "True BootstrapReady");
    assert_eq!(stage.facts().unwrap().endpoint.as_deref(), Some("https://10.0.0.2:9345"));
    let mut stage = with_addresses(&["10.0.0.1:6443"], Distro::K3s);
    stage.pass(1).await;
    assert_eq!(stage.facts().unwrap().endpoint.as_deref(), Some("https://10.0.0.1:6443"));
    let mut stage = with_addresses(&[], Distro::Rke2);
    stage.pass(1).await;
    expect![[r#"False EndpointUnknown TestNodeClass "default": endpoint: none of 10.0.0.1:9345, 10.0.0.2:9345 answers; set CLUSTER_ENDPOINT (--cluster-endpoint), for example to https://10.0.0.10:9345"#]]
        .assert_eq(&stage.bootstrap_ready());
}

/// A stage of a k3s cluster whose endpoint shows this to everybody.
fn with_shown(shown: Result<&'static str, &'static str>) -> (Stage, Arc<AtomicU32>) {
    let mut stage = Stage::bare().set(|settings| {
        settings.joining.distro = Some(Distro::K3s);
        settings.joining.endpoint = Some("https://10.0.0.10:6443".to_owned());
        settings.joining.version = Some("v1.33.4+k3s1".to_owned());
    });
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    stage.context.inputs = Inputs::reaching(Reach::nobody().showing(move |url| {
        assert_eq!(url, "https://10.0.0.10:6443/cacerts");
        count.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { shown.map(str::to_owned).map_err(str::to_owned) })
    }));
    stage.cloud.state().needs.joining = Some(JoinNeeds::default());
    stage.publish_root_ca();
    stage.create_class("default");
    (with_lifecycle(stage).with(ClassResolution::new), asked)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_launched_where_the_endpoint_shows_another_authority() {
    let (mut stage, _) =
        with_shown(Ok(include_str!("../../../../cloud/tests/it/intermediate.pem")));
    stage.pass(1).await;
    expect![[r#"False CAMismatch TestNodeClass "default": token: it pins the certificate authority 74b0b1dfebb04785da4bd028ae15e86ec4e7b1e07c28cbd8058d632231cd0e57, but https://10.0.0.10:6443/cacerts shows 99dd85196d304e51e7eb8a7b69949e7cd87810f084b05f387d49cc6b530bc639: instances would not join; check that CLUSTER_ENDPOINT (--cluster-endpoint) leads to this cluster; if it does, renew JOIN_TOKEN (--join-token), which is of another cluster or older than the authority"#]].assert_eq(&stage.bootstrap_ready());
    assert!(stage.class_condition("default", "Ready").starts_with("False "));
    stage.create_claim("web-1");
    stage.pass(60).await;
    assert_eq!(stage.cloud.calls("create"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_shows_the_authority_or_nothing_at_all_keeps_nobody_from_joining() {
    for shown in [Ok(super::PEM), Err("out of reach"), Ok("<html>sign in</html>")] {
        let (mut stage, asked) = with_shown(shown);
        stage.pass(1).await;
        assert_eq!(stage.bootstrap_ready(), "True BootstrapReady", "{shown:?}");
        let before = asked.load(Ordering::Relaxed);
        assert_eq!(before, 1, "{shown:?}");
        stage.create_claim("web-1");
        stage.pass(5).await;
        assert_eq!(stage.cloud.calls("create"), 1, "{shown:?}");
        assert_eq!(asked.load(Ordering::Relaxed), before, "no instance waits for the endpoint");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_controller_in_the_cluster_gives_nodes_their_ids() {
    let mut stage = stage().made_by_kubeadm();
    let need = |setting| Some(IdNeed { cloud: IdCloud::Vsphere, setting });
    stage.cloud.state().needs.joining.as_mut().unwrap().provider_id = need(None);
    stage.create_class("default");
    stage.pass(1).await;
    let given_by = |stage: &Stage| stage.facts().unwrap().provider_id.unwrap();
    assert!(matches!(given_by(&stage), ProviderId::Guest(_)));
    let labels = json!({"app": "cpi"});
    let deployment = json!({
        "metadata": {"namespace": "kube-system", "name": "cpi"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "cpi", "image": "a/cloud-provider-vsphere:v1"}]},
            },
        },
    });
    stage.create("apps", "deployments", deployment);
    stage.pass(400).await;
    assert_eq!(given_by(&stage), ProviderId::Cloud);
    let guest = need(Some(IdSetting::Guest));
    stage.cloud.state().needs.joining.as_mut().unwrap().provider_id = guest;
    stage.pass(400).await;
    assert!(matches!(given_by(&stage), ProviderId::Guest(_)), "the class has the last word");
}

#[tokio::test(start_paused = true)]
async fn many_instances_cost_no_more_reading_than_one() {
    let mut stage = stage().made_by_kubeadm();
    stage.create_class("default");
    stage.pass(1).await;
    let before = calls(&stage, "configmaps");
    for number in 0..20 {
        stage.create_claim(&format!("web-{number}"));
    }
    stage.pass(5).await;
    assert_eq!(stage.cloud.calls("create"), 20);
    assert_eq!(calls(&stage, "configmaps"), before);
    assert_eq!(calls(&stage, "selfsubjectaccessreviews"), 1);
}
