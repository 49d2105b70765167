//! Tokens that are made, and the Secrets that hold them.

use std::{collections::BTreeMap, time::Duration};

use joiner_cloud::bootstrap::{
    Distro, ErrorKind, Secret,
    token::{
        Claim, ClaimState, Fate, FoundSecret, Issued, Lifetime, TokenGroup, TokenStep, fate,
        next_step, token_id,
    },
};

const CLAIM: Claim<'static> =
    Claim { name: "general-x7k2p", uid: "11111111-2222-3333-4444-555555555555" };
const KUBEADM: TokenGroup = TokenGroup::Distro(Distro::Kubeadm);

fn lifetime(now: &str, minutes: u64) -> Lifetime {
    Lifetime {
        now: now.parse().unwrap(),
        launch_timeout: Duration::from_mins(minutes),
        registration_timeout: Duration::from_mins(minutes),
    }
}

fn at(now: &str) -> Lifetime {
    lifetime(now, 15)
}

const NOON: &str = "2026-01-02T12:00:00Z";

fn created(group: TokenGroup, lifetime: Lifetime, random: u8) -> Issued {
    match next_step(CLAIM, 0, None, group, lifetime, [random; 16]).unwrap() {
        TokenStep::Create(issued) => issued,
        other => panic!("{other:?}"),
    }
}

/// The Secret as it is found when it was written.
fn found(issued: &Issued) -> FoundSecret {
    let data = issued.secret.data.iter();
    FoundSecret {
        labels: issued.secret.labels.clone(),
        data: data.map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
    }
}

fn data(issued: &Issued) -> BTreeMap<&str, &str> {
    issued.secret.data.iter().map(|(key, value)| (*key, value.reveal().as_str())).collect()
}

#[test]
fn ids_are_derived_from_the_claim() {
    assert_eq!(token_id(CLAIM.uid, 0), "6zj26r");
    assert_ne!(token_id(CLAIM.uid, 1), token_id(CLAIM.uid, 0));
    assert_eq!(CLAIM.secret_name(0), "bootstrap-token-6zj26r");
}

#[test]
fn a_secret_says_everything_that_kubernetes_wants_to_know() {
    let issued = created(KUBEADM, at(NOON), 7);
    assert_eq!(issued.secret.name, "bootstrap-token-6zj26r");
    assert_eq!(issued.secret.secret_type, "bootstrap.kubernetes.io/token");
    let secret = issued.token.secret().reveal().as_str();
    assert_eq!(secret.len(), 16);
    assert!(secret.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase()));
    let expected = BTreeMap::from([
        ("token-id", "6zj26r"),
        ("token-secret", secret),
        ("description", "made for NodeClaim general-x7k2p"),
        ("expiration", "2026-01-02T12:30:00Z"),
        ("usage-bootstrap-authentication", "true"),
        ("usage-bootstrap-signing", "true"),
        ("auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token"),
    ]);
    assert_eq!(data(&issued), expected);
    let labels = BTreeMap::from([
        ("joiner.sh/nodeclaim".to_owned(), CLAIM.name.to_owned()),
        ("joiner.sh/nodeclaim-uid".to_owned(), CLAIM.uid.to_owned()),
    ]);
    assert_eq!(issued.secret.labels, labels);
}

#[test]
fn each_distribution_has_its_group_and_only_kubeadm_signs() {
    for (group, name, signs) in [
        (TokenGroup::Distro(Distro::K3s), "system:bootstrappers:k3s:default-node-token", false),
        (TokenGroup::Distro(Distro::Rke2), "system:bootstrappers:rke2:default-node-token", false),
        (
            TokenGroup::Distro(Distro::Rke2Airgapped),
            "system:bootstrappers:rke2:default-node-token",
            false,
        ),
        (TokenGroup::Distro(Distro::Talos), "system:bootstrappers:nodes", false),
        (TokenGroup::ProxmoxTemplates, "system:bootstrappers:karpenter:proxmox", false),
        (KUBEADM, "system:bootstrappers:kubeadm:default-node-token", true),
    ] {
        let issued = created(group, at(NOON), 1);
        assert_eq!(data(&issued)["auth-extra-groups"], name);
        assert_eq!(data(&issued).contains_key("usage-bootstrap-signing"), signs, "{group:?}");
    }
}

#[test]
fn a_token_lives_half_an_hour_at_least() {
    let expiration = |lifetime| data(&created(KUBEADM, lifetime, 1))["expiration"].to_owned();
    assert_eq!(expiration(lifetime(NOON, 1)), "2026-01-02T12:30:00Z");
    assert_eq!(expiration(lifetime(NOON, 45)), "2026-01-02T13:30:00Z");
    assert_eq!(expiration(at("2026-01-02T12:00:00.75Z")), "2026-01-02T12:30:00Z");
}

#[test]
fn whoever_was_interrupted_finds_the_token_again() {
    let first = created(KUBEADM, at(NOON), 1);
    // Killed before it knew whether the Secret was written; other chance, later hour.
    let again =
        next_step(CLAIM, 0, Some(&found(&first)), KUBEADM, at("2026-01-02T12:20:00Z"), [2; 16]);
    assert_eq!(again, Ok(TokenStep::Reuse(first.token)));
}

#[test]
fn an_expired_token_lives_longer_with_the_same_secret() {
    let first = created(KUBEADM, at(NOON), 1);
    let late = at("2026-01-02T12:30:00Z");
    match next_step(CLAIM, 0, Some(&found(&first)), KUBEADM, late, [2; 16]).unwrap() {
        TokenStep::Renew(renewed) => {
            assert_eq!(renewed.token, first.token);
            assert_eq!(data(&renewed)["expiration"], "2026-01-02T13:00:00Z");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_secret_of_the_claim_is_made_good() {
    let mut damaged = found(&created(KUBEADM, at(NOON), 1));
    damaged.data.insert("token-secret".to_owned(), Secret::from("short"));
    match next_step(CLAIM, 0, Some(&damaged), KUBEADM, at(NOON), [2; 16]).unwrap() {
        TokenStep::Renew(renewed) => assert_eq!(renewed.token.id(), "6zj26r"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_secret_of_somebody_else_is_left_alone() {
    let foreign = FoundSecret::default();
    let next = next_step(CLAIM, 0, Some(&foreign), KUBEADM, at(NOON), [1; 16]);
    assert_eq!(next, Ok(TokenStep::Next(1)));
    let mut of_other_claim = found(&created(KUBEADM, at(NOON), 1));
    of_other_claim.labels.insert("joiner.sh/nodeclaim-uid".to_owned(), "other".to_owned());
    let next = next_step(CLAIM, 1, Some(&of_other_claim), KUBEADM, at(NOON), [1; 16]);
    assert_eq!(next, Ok(TokenStep::Next(2)));
    let error = next_step(CLAIM, 15, Some(&foreign), KUBEADM, at(NOON), [1; 16]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::JoinTokenMissing);
    assert_eq!(error.object, "NodeClaim \"general-x7k2p\"");
}

#[test]
fn other_chance_makes_another_secret() {
    let secret = |random| created(KUBEADM, at(NOON), random).token;
    assert_ne!(secret(1), secret(2));
    assert_eq!(secret(1), secret(1));
}

#[test]
fn a_token_goes_when_it_is_known_that_nobody_needs_it() {
    for (claim, deleted) in [
        (ClaimState::Unknown, false),
        (ClaimState::Joining, false),
        (ClaimState::Registered, true),
        (ClaimState::Leaving, true),
        (ClaimState::Gone, true),
    ] {
        assert_eq!(matches!(fate(claim), Fate::Delete(_)), deleted, "{claim:?}");
    }
}
