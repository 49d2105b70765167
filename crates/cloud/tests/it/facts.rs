//! Whether machines could join, before there is one.

use joiner_cloud::bootstrap::{Distro, ErrorKind, Facts, Secret, token::TokenSource};

use crate::shared::{TOKEN, ca};

/// What machines of a cluster join with that lacks nothing.
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

fn given(text: &str) -> Option<TokenSource> {
    Some(TokenSource::Given(Secret::from(text)))
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
        Facts { token: given(TOKEN), ..facts(Distro::Kubeadm, "v1.33.4") },
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
        (Facts { ca: None, token: given(TOKEN), ..kubeadm() }, ErrorKind::CaUnknown),
        (Facts { ca: None, ..rke2() }, ErrorKind::CaUnknown),
        (Facts { token: given("K10abc"), ..kubeadm() }, ErrorKind::JoinTokenInvalid),
        (Facts { token: given("K10abc"), ..rke2() }, ErrorKind::JoinTokenInvalid),
    ] {
        assert_eq!(refused(&facts), reason, "{facts:?}");
    }
}

#[test]
fn a_token_that_gives_away_the_cluster_is_told_and_not_shown() {
    let facts = Facts { token: given("hunter2"), ..facts(Distro::Rke2, "v1.33.4+rke2r1") };
    let warnings = facts.check().unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("may be the server token"), "{warnings:?}");
    assert!(!format!("{warnings:?} {facts:?}").contains("hunter2"));
}
