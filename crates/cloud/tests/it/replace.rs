//! The user's text alone, with the instance's values in it.

use joiner_cloud::bootstrap::{
    Distro, ErrorKind, Format, Inputs, Mode, ProviderId, needs_token, render,
};

use crate::shared::{
    LABELS, PINNED_TOKEN, TAINTS, TOKEN, ca, instance, refused, rendered, with_user,
};

fn replacing(distro: Distro, user: &str) -> Inputs {
    Inputs { mode: Mode::Replace, ..with_user(instance(distro), user) }
}

fn text(inputs: &Inputs) -> String {
    crate::shared::text(inputs)
}

#[test]
fn every_name_has_its_value() {
    let hash = ca().kubeadm_hashes().remove(0);
    let pem = ca().pem_base64();
    for (name, expected) in [
        ("NODE_NAME", "general-x7k2p"),
        ("TOKEN", TOKEN),
        ("ENDPOINT", "10.0.0.10:6443"),
        ("CA_HASH", &hash),
        ("CA_PEM_B64", &pem),
        ("LABELS", LABELS),
        ("TAINTS", TAINTS),
        ("MAX_PODS", "110"),
        ("KUBE_VERSION", "v1.33.4"),
        ("PROVIDER_ID", ""),
    ] {
        let inputs = replacing(Distro::Kubeadm, &format!("<${{JOINER_{name}}}>"));
        assert_eq!(text(&inputs), format!("<{expected}>"));
    }
    let mut inputs =
        replacing(Distro::K3s, "${JOINER_TOKEN} ${JOINER_ENDPOINT} ${JOINER_PROVIDER_ID}");
    inputs.provider_id = ProviderId::Known("proxmox://r/1".to_owned());
    assert_eq!(text(&inputs), format!("{PINNED_TOKEN} https://10.0.0.10:6443 proxmox://r/1"));
}

#[test]
fn nothing_else_is_touched() {
    for (user, expected) in [
        ("a $${JOINER_TOKEN} ${HOME}", "a ${JOINER_TOKEN} ${HOME}"),
        ("$JOINER_TOKEN ${} $ ${x", "$JOINER_TOKEN ${} $ ${x"),
        ("$${ $$ {{ é }}", "${ $$ {{ é }}"),
        ("", ""),
    ] {
        assert_eq!(text(&replacing(Distro::Kubeadm, user)), expected);
    }
}

#[test]
fn a_name_that_is_not_known_is_refused_with_those_that_are() {
    for user in ["${JOINER_TOKEM}", "${JOINER_TOKEN:-x}", "${JOINER_", "${JOINER_TOKEN"] {
        let error = refused(&replacing(Distro::Kubeadm, user));
        assert_eq!(error.kind, ErrorKind::InvalidUserData, "{user}");
        assert!(error.remedy.contains("JOINER_NODE_NAME, JOINER_TOKEN, "), "{error}");
    }
}

#[test]
fn only_what_is_asked_for_must_be_known() {
    let mut inputs = replacing(Distro::Kubeadm, "#!/bin/sh\necho ${JOINER_NODE_NAME}\n");
    (inputs.token, inputs.ca, inputs.endpoint, inputs.version) = (None, None, None, None);
    assert!(render(&inputs).is_ok());
    for (name, kind) in [
        ("TOKEN", ErrorKind::JoinTokenMissing),
        ("ENDPOINT", ErrorKind::EndpointUnknown),
        ("CA_HASH", ErrorKind::CaUnknown),
        ("KUBE_VERSION", ErrorKind::VersionUnknown),
    ] {
        let inputs = with_user(inputs.clone(), &format!("${{JOINER_{name}}}"));
        assert_eq!(refused(&inputs).kind, kind);
    }
}

#[test]
fn a_token_is_made_only_if_it_is_asked_for() {
    let needs = |distro, mode, user: &str| {
        let inputs = with_user(instance(distro), user);
        needs_token(distro, mode, &inputs.user)
    };
    assert!(needs(Distro::Kubeadm, Mode::Merge, ""));
    assert!(needs(Distro::Kubeadm, Mode::Replace, "${JOINER_TOKEN}"));
    assert!(!needs(Distro::Kubeadm, Mode::Replace, "$${JOINER_TOKEN}"));
    assert!(!needs(Distro::None, Mode::Merge, "${JOINER_TOKEN}"));
}

#[test]
fn the_reader_is_told_by_the_text() {
    let format = |user| rendered(&replacing(Distro::Kubeadm, user)).format;
    assert_eq!(format("#!/bin/sh\n"), Format::CloudInit);
    assert_eq!(format("{\"ignition\":{\"version\":\"3.4.0\"}}"), Format::Ignition);
    assert_eq!(format("something"), Format::Unknown);
}
