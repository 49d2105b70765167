//! How the cluster proves itself.

use joiner_cloud::bootstrap::{
    Distro, ErrorKind, Secret,
    token::{SupervisorToken, Token},
    trust::CaBundle,
};

use crate::shared::{CA, PINNED_TOKEN, ca, instance, minted, refused, yaml_file};

const SPKI: &str = "sha256:96775d278f48a23e0efff59a00dbc6a7011496c938d9e302b19e7a4f43c3f61e";
const PEM: &str = "74b0b1dfebb04785da4bd028ae15e86ec4e7b1e07c28cbd8058d632231cd0e57";
const DER: &str = "71bf7955dd3183e1581df2881c14353fb9e958361a8c10729fd7e30fa221318d";
const K3S: &str = "/etc/rancher/k3s/config.yaml";

/// A certificate that names the one of `ca.pem` as its issuer. Signatures are the guest's business.
fn issued_by_ca() -> String {
    include_str!("intermediate.pem").to_owned()
}

#[test]
fn one_certificate_counts_with_its_key_or_its_file() {
    assert_eq!(CA.len(), 558);
    assert_eq!(ca().kubeadm_hashes(), [SPKI]);
    assert_eq!(ca().supervisor_hash(), PEM);
}

#[test]
fn of_a_chain_the_root_counts() {
    let chain = CaBundle::read(&format!("{}{CA}", issued_by_ca())).unwrap();
    assert_eq!(chain.supervisor_hash(), DER);
    assert_eq!(chain.kubeadm_hashes().len(), 2);
    assert_eq!(chain.kubeadm_hashes()[1], SPKI);
}

#[test]
fn a_bundle_that_is_no_chain_counts_with_its_file() {
    let bundle = CaBundle::read(&format!("{CA}{}", issued_by_ca())).unwrap();
    assert!(![PEM, DER].contains(&&*bundle.supervisor_hash()));
}

#[test]
fn what_is_no_authority_is_refused() {
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let damaged = CA.replace("MIIB", "MIIC");
    for (pem, problem) in [
        ("", "there is no certificate in it"),
        ("nonsense", "there is no certificate in it"),
        (key, "there is a PRIVATE KEY in it"),
        (&damaged, "no certificate"),
    ] {
        let error = CaBundle::read(pem).unwrap_err();
        assert_eq!(error.kind, ErrorKind::CaUnknown);
        assert!(error.problem.contains(problem), "{error}");
    }
}

#[test]
fn nobody_joins_a_cluster_unchecked() {
    for distro in [Distro::Kubeadm, Distro::K3s, Distro::Rke2] {
        let mut inputs = instance(distro);
        inputs.ca = None;
        let error = refused(&inputs);
        assert_eq!((error.kind.condition(), error.kind.reason()), ("BootstrapReady", "CAUnknown"));
    }
    let text = crate::shared::text(&instance(Distro::Kubeadm));
    assert!(!text.to_lowercase().contains("unsafeskipcaverification"));
}

#[test]
fn tokens_carry_the_pin() {
    let mut inputs = instance(Distro::K3s);
    let mut token = |token, pin| {
        (inputs.token, inputs.pin_ca) = (Some(token), pin);
        yaml_file(&inputs, K3S)["token"].as_str().unwrap().to_owned()
    };
    let given = |text: &str| Token::Given(Secret::from(text));
    assert_eq!(token(minted(), false), PINNED_TOKEN);
    assert_eq!(token(given("s3cret"), false), "s3cret");
    assert_eq!(token(given("s3cret"), true), format!("K10{PEM}::node:s3cret"));
    assert_eq!(token(given(crate::shared::TOKEN), true), PINNED_TOKEN);
}

#[test]
fn a_token_that_is_none_is_refused() {
    for text in ["", "a b", "K10abc::node:s", &format!("K10{PEM}::x"), "a\n"] {
        let error = SupervisorToken::read(&Secret::from(text)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::JoinTokenInvalid, "{text:?}");
    }
    let mut inputs = instance(Distro::Kubeadm);
    inputs.token = Some(Token::Given(Secret::from("s3cret-of-mine")));
    let error = refused(&inputs);
    assert_eq!(error.kind, ErrorKind::JoinTokenInvalid);
    assert!(!error.to_string().contains("s3cret"), "{error}");
    inputs.token = None;
    assert_eq!(refused(&inputs).kind, ErrorKind::JoinTokenMissing);
}
