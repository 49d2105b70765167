//! Whether instances could join, before there is one.

use joiner_cloud::bootstrap::{
    Distro, ErrorKind, Facts, Secret, token::TokenSource, trust::CaBundle,
};

use crate::shared::{CA, PINNED_TOKEN, TOKEN, ca};

/// What instances of a cluster join with that lacks nothing.
fn facts(distro: Distro, version: &str) -> Facts {
    Facts {
        distro,
        endpoint: Some("10.0.0.10".to_owned()),
        version: Some(version.to_owned()),
        ca: Some(ca()),
        pin_ca: false,
        token: Some(TokenSource::Mint),
        provider_id: None,
    }
}

fn given(text: &str) -> TokenSource {
    TokenSource::Given(Secret::from(text))
}

fn refused(facts: &Facts) -> ErrorKind {
    facts.check().unwrap_err().kind
}

#[test]
fn facts_that_lack_nothing_are_good() {
    for facts in [
        facts(Distro::Kubeadm, "v1.33.4"),
        facts(Distro::Rke2, "v1.33.4+rke2r1"),
        facts(Distro::K3s, "v1.33.4+k3s1"),
        facts(Distro::Talos, "v1.33.4"),
        Facts { token: Some(given(TOKEN)), ..facts(Distro::Kubeadm, "v1.33.4") },
        Facts { ca: None, token: None, ..facts(Distro::Rke2, "v1.33.4+rke2r1") },
        Facts { endpoint: None, version: None, ca: None, ..facts(Distro::None, "") },
    ] {
        assert_eq!(facts.check(), Ok(vec![]), "{facts:?}");
    }
}

#[test]
fn each_fact_that_is_wrong_has_its_reason() {
    let kubeadm = || facts(Distro::Kubeadm, "v1.33.4");
    let rke2 = || facts(Distro::Rke2, "v1.33.4+rke2r1");
    let supervisor = || Some("h:6443".to_owned());
    for (facts, reason) in [
        (Facts { endpoint: None, ..kubeadm() }, ErrorKind::EndpointUnknown),
        (Facts { endpoint: supervisor(), ..rke2() }, ErrorKind::EndpointInvalid),
        (Facts { version: Some("v1.33.4".to_owned()), ..rke2() }, ErrorKind::VersionUnknown),
        (Facts { ca: None, ..kubeadm() }, ErrorKind::CaUnknown),
        (Facts { ca: None, token: Some(given(TOKEN)), ..kubeadm() }, ErrorKind::CaUnknown),
        (Facts { ca: None, ..rke2() }, ErrorKind::CaUnknown),
        (Facts { token: Some(given("K10abc")), ..kubeadm() }, ErrorKind::JoinTokenInvalid),
        (Facts { token: Some(given("K10abc")), ..rke2() }, ErrorKind::JoinTokenInvalid),
    ] {
        assert_eq!(refused(&facts), reason, "{facts:?}");
    }
}

#[test]
fn a_token_that_gives_away_the_cluster_is_told_and_not_shown() {
    let facts = Facts { token: Some(given("hunter2")), ..facts(Distro::Rke2, "v1.33.4+rke2r1") };
    let warnings = facts.check().unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("may be the server token"), "{warnings:?}");
    assert!(!format!("{warnings:?} {facts:?}").contains("hunter2"));
}

#[test]
fn instances_of_rke2_and_k3s_know_their_cluster_by_what_its_endpoint_shows() {
    let k3s = || facts(Distro::K3s, "v1.33.4+k3s1");
    let intermediate = include_str!("intermediate.pem");
    let another = CaBundle::read(intermediate).unwrap();
    let short = || Facts { token: Some(given("s3cret")), ..k3s() };
    for pinning in [
        k3s(),
        Facts { ca: None, token: Some(given(PINNED_TOKEN)), ..k3s() },
        Facts { pin_ca: true, ..short() },
        facts(Distro::Rke2Airgapped, "v1.33.4+rke2r1"),
    ] {
        let pin = pinning.pin().unwrap();
        assert_eq!(pin.check(&ca()), Ok(()), "{pinning:?}");
        let error = pin.check(&another).unwrap_err();
        assert_eq!((error.kind.condition(), error.kind.reason()), ("BootstrapReady", "CAMismatch"));
    }
    assert_eq!(k3s().pin().unwrap().shown_at, "https://10.0.0.10:6443/cacerts");
    // Of several certificates the root counts.
    let chain = || CaBundle::read(&format!("{intermediate}{CA}")).unwrap();
    let pin = Facts { ca: Some(chain()), ..k3s() }.pin().unwrap();
    assert_eq!(pin.check(&chain()), Ok(()));
    for unpinned in [
        short(),
        Facts { token: None, ..k3s() },
        Facts { endpoint: None, ..k3s() },
        facts(Distro::Kubeadm, "v1.33.4"),
        facts(Distro::Talos, "v1.33.4"),
    ] {
        assert_eq!(unpinned.pin(), None, "{unpinned:?}");
    }
}
