//! What makes a machine of this cloud a node: the inputs of its text, and how it is carried.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use joiner_cloud::{
    bootstrap::{
        Carrier, Distro, Encoded, Error, ErrorKind, Facts, Format, GuestLookup, Inputs, Install,
        Kubelet, Mode, ProviderId, Secret, UserText, encode, guestinfo_keys, needs_token,
        provider_id::IdCloud,
        render,
        token::{BootstrapToken, Token, TokenSource},
    },
    needs::{IdNeed, JoinNeeds},
    order::Order,
};
use joiner_core::{instance_type::InstanceType, resources::PODS};
use serde_json::json;

use crate::{
    NODE_CLASS_KIND, Problem, Reason, kubelet,
    node_class::{NodeClass, Spec},
};

/// How long a soft eviction threshold may be crossed before pods go. The kubelet takes no soft
/// threshold without one.
const SOFT_EVICTION_GRACE: &str = "2m";

/// Words of `spec.userData` that nobody knows.
pub(crate) fn problems(spec: &Spec) -> Vec<Problem> {
    let Some(user_data) = &spec.user_data else { return Vec::new() };
    let mut problems = Vec::new();
    if let Err(text) = format(user_data.type_.as_deref()) {
        problems.push(Problem::new(Reason::InvalidUserData, "spec.userData.type", text));
    }
    if let Err(text) = mode(user_data.mode.as_deref()) {
        problems.push(Problem::new(Reason::InvalidUserData, "spec.userData.mode", text));
    }
    problems
}

fn format(word: Option<&str>) -> Result<Option<Format>, String> {
    match word.unwrap_or_default() {
        "" => Ok(None),
        "cloud-config" => Ok(Some(Format::CloudInit)),
        "ignition" => Ok(Some(Format::Ignition)),
        "talos" => Ok(Some(Format::Talos)),
        other => Err(format!("{other:?} is not known; write cloud-config, ignition or talos")),
    }
}

fn mode(word: Option<&str>) -> Result<Mode, String> {
    match word.unwrap_or_default() {
        "" | "merge" => Ok(Mode::Merge),
        "replace" => Ok(Mode::Replace),
        other => Err(format!("{other:?} is not known; write merge or replace")),
    }
}

/// What has to be known of the cluster before a text can be made for machines of a class.
pub(crate) fn join_needs(class: &NodeClass) -> JoinNeeds {
    let user_data = class.spec.user_data.clone().unwrap_or_default();
    let mode = mode(user_data.mode.as_deref()).unwrap_or_default();
    let word = class.spec.k8s_distro.clone().filter(|word| !word.is_empty());
    // A word that nobody knows needs a token as far as anybody can say.
    let distro = word.as_deref().map_or(Some(Distro::Kubeadm), |word| word.parse().ok());
    let needs_token = distro.is_none_or(|own| needs_token(own, mode, &users_text(class)));
    JoinNeeds {
        distro: word,
        without_token: !needs_token,
        provider_id: Some(IdNeed { cloud: IdCloud::Vsphere, setting: None }),
        ..JoinNeeds::default()
    }
}

fn users_text(class: &NodeClass) -> UserText {
    let user_data = class.spec.user_data.clone().unwrap_or_default();
    UserText {
        // A map without a header is cloud-config, as it was for the predecessor.
        headerless: true,
        ..UserText::inline(
            "spec.userData.additionalUserdata",
            user_data.additional_userdata.unwrap_or_default(),
        )
    }
}

/// What a machine proves itself with on a trial, where tokens are made for each.
pub(crate) fn example_token(facts: &Facts) -> Option<Token> {
    facts.token.as_ref().map(|source| match source {
        TokenSource::Given(text) => Token::Given(text.clone()),
        TokenSource::Mint => Token::Minted(BootstrapToken::example()),
    })
}

/// Whom a text is made for.
pub(crate) struct Recipient<'o> {
    /// Name of machine, guest and Node.
    pub(crate) node_name: &'o str,
    /// Its type.
    pub(crate) instance_type: &'o InstanceType,
    /// What it proves itself with.
    pub(crate) token: Option<Token>,
    /// Its claim's order; none on a trial.
    pub(crate) order: Option<&'o Order>,
}

/// The text of a machine, as its guest is given it.
pub(crate) fn text(
    class: &NodeClass,
    facts: &Facts,
    recipient: &Recipient<'_>,
) -> Result<Encoded, Error> {
    encode(render(&inputs(class, facts, recipient)?)?, Carrier::VsphereGuestinfo)
}

fn inputs(class: &NodeClass, facts: &Facts, recipient: &Recipient<'_>) -> Result<Inputs, Error> {
    let object = format!("{NODE_CLASS_KIND} {}", class.name());
    let user_data = class.spec.user_data.clone().unwrap_or_default();
    let refuse = |field: &str, problem: String| Error {
        kind: ErrorKind::InvalidUserData,
        object: object.clone(),
        field: field.to_owned(),
        problem,
        remedy: "see the class's condition ValidationSucceeded".to_owned(),
    };
    let format =
        format(user_data.type_.as_deref()).map_err(|text| refuse("spec.userData.type", text))?;
    let mode =
        mode(user_data.mode.as_deref()).map_err(|text| refuse("spec.userData.mode", text))?;
    let order = recipient.order;
    Ok(Inputs {
        object,
        distro: facts.distro,
        format,
        node_name: recipient.node_name.to_owned(),
        endpoint: facts.endpoint.clone(),
        token: recipient.token.clone(),
        ca: facts.ca.clone(),
        pin_ca: facts.pin_ca,
        version: facts.version.clone(),
        labels: order.map(|order| order.labels.clone()).unwrap_or_default(),
        taints: order.map(|order| order.taints.clone()).unwrap_or_default(),
        startup_taints: order.map(|order| order.startup_taints.clone()).unwrap_or_default(),
        kubelet: kubelet_settings(class, recipient.instance_type),
        provider_id: facts.provider_id.clone().unwrap_or(ProviderId::Guest(GuestLookup::Dmi)),
        cri_socket: None,
        registries: Vec::new(),
        proxy: None,
        install: Install::default(),
        talos_base: None,
        user: users_text(class),
        mode,
    })
}

/// The numbers that the planner counted with.
fn kubelet_settings(class: &NodeClass, of: &InstanceType) -> Kubelet {
    let of_class = class.spec.kubelet.as_ref();
    let mut extra_args = BTreeMap::new();
    let soft: Vec<(&str, &str)> = of_class
        .and_then(|kubelet| kubelet.eviction_soft.as_ref())
        .into_iter()
        .flatten()
        .map(|(signal, threshold)| (signal.as_str(), threshold.trim()))
        .collect();
    if !soft.is_empty() {
        let join = |form: &dyn Fn(&(&str, &str)) -> String| {
            soft.iter().map(form).collect::<Vec<_>>().join(",")
        };
        extra_args
            .insert("eviction-soft".to_owned(), join(&|(signal, at)| format!("{signal}<{at}")));
        extra_args.insert(
            "eviction-soft-grace-period".to_owned(),
            join(&|(signal, _)| format!("{signal}={SOFT_EVICTION_GRACE}")),
        );
    }
    Kubelet {
        max_pods: u32::try_from(of.capacity.get(PODS).floor()).ok(),
        kube_reserved: of.overhead.kube_reserved.clone(),
        system_reserved: of.overhead.system_reserved.clone(),
        eviction_hard: kubelet::hard_evictions(&of.capacity, of_class),
        extra_args,
    }
}

/// The settings of a virtual machine by which its guest gets its text and its name. The values are
/// secrets.
pub(crate) fn guestinfo(
    text: &Encoded,
    node_name: &str,
    instance_uuid: &str,
) -> Vec<(String, Secret<String>)> {
    let (data, encoding) = guestinfo_keys(text.format);
    let body = String::from_utf8_lossy(text.bytes.reveal()).into_owned();
    let mut settings = vec![(data.to_owned(), Secret::new(body))];
    if let Some(encoding) = encoding {
        settings.push((encoding.to_owned(), Secret::new(text.encoding.to_string())));
    }
    if text.format != Format::Talos {
        // What is JSON is YAML. The join token leaves the machine's settings after the first boot.
        let metadata = json!({
            "instance-id": instance_uuid,
            "local-hostname": node_name,
            "cleanup-guestinfo": ["userdata"],
        });
        settings.push((
            "guestinfo.metadata".to_owned(),
            Secret::new(STANDARD.encode(metadata.to_string())),
        ));
        settings.push(("guestinfo.metadata.encoding".to_owned(), Secret::new("base64".to_owned())));
    }
    settings
}

#[cfg(test)]
mod tests;
