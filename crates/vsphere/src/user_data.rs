//! What makes an instance of this cloud a node: the inputs of its text, and how it is carried.

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
    inputs::{ClassInputs, SecretData},
    kubelet,
    needs::{IdNeed, JoinNeeds, SecretName, SecretNeed},
    order::Order,
};
use joiner_core::{instance_type::InstanceType, resources::PODS};
use serde_json::{Map, Value, json};

use crate::{
    NODE_CLASS_KIND, Problem, Reason,
    node_class::{NodeClass, Spec},
};

/// The setting of an instance by which its guest is told about itself.
pub(crate) const METADATA: &str = "guestinfo.metadata";

/// The key of a Secret that a user's text is kept under.
const SECRET_KEY: &str = "userData";

/// Words of `spec.userData` that nobody knows, and texts that are written twice.
pub(crate) fn problems(spec: &Spec) -> Vec<Problem> {
    let Some(user_data) = &spec.user_data else { return Vec::new() };
    let mut problems = Vec::new();
    if let Err(text) = format(user_data.type_.as_deref()) {
        problems.push(Problem::new(Reason::INVALID_USER_DATA, "spec.userData.type", text));
    }
    if let Err(text) = mode(user_data.mode.as_deref()) {
        problems.push(Problem::new(Reason::INVALID_USER_DATA, "spec.userData.mode", text));
    }
    let of_early_versions = [
        ("templateBase64", user_data.template_base64.as_ref().is_some_and(|own| !own.is_empty())),
        ("values", user_data.values.is_some()),
    ];
    for (field, _) in of_early_versions.into_iter().filter(|(_, is_written)| *is_written) {
        let text = "is of an early version and means nothing any more; write your text, decoded \
                    and with its values filled in, into spec.userData.additionalUserdata or into a \
                    Secret that spec.userData.secretRef names";
        let field = format!("spec.userData.{field}");
        problems.push(Problem::new(Reason::INVALID_USER_DATA, field, text));
    }
    if let Some(secret) = &user_data.secret_ref {
        if secret.name.is_empty() {
            let text = "is empty; write the name of a Secret whose key userData is the text";
            problems.push(Problem::new(
                Reason::INVALID_USER_DATA,
                "spec.userData.secretRef.name",
                text,
            ));
        }
        if user_data.additional_userdata.as_ref().is_some_and(|text| !text.is_empty()) {
            let text = "is set, and so is spec.userData.additionalUserdata; remove one of them";
            problems.push(Problem::new(Reason::INVALID_USER_DATA, "spec.userData.secretRef", text));
        }
    }
    problems
}

/// The format that a class names.
pub(crate) fn written_format(spec: &Spec) -> Option<Format> {
    format(spec.user_data.as_ref()?.type_.as_deref()).ok().flatten()
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

/// What has to be known of the cluster before a text can be made for instances of a class.
pub(crate) fn join_needs(class: &NodeClass) -> JoinNeeds {
    let user_data = class.spec.user_data.clone().unwrap_or_default();
    let mode = mode(user_data.mode.as_deref()).unwrap_or_default();
    let word = class.spec.k8s_distro.clone().filter(|word| !word.is_empty());
    // A word that nobody knows needs a token as far as anybody can say.
    let distro = word.as_deref().map_or(Some(Distro::Kubeadm), |word| word.parse().ok());
    // A text that is in a Secret is not known yet, and may ask for a token.
    let text = users_text(class, &BTreeMap::new());
    let needs_token = secret_need(class).is_some_and(|_| distro != Some(Distro::None))
        || distro.is_none_or(|own| needs_token(own, mode, &text));
    JoinNeeds {
        distro: word,
        without_token: !needs_token,
        provider_id: Some(IdNeed { cloud: IdCloud::Vsphere, setting: None }),
        ..JoinNeeds::default()
    }
}

/// The Secret that a class's text is in, if it is in one.
pub(crate) fn secret_need(class: &NodeClass) -> Option<SecretNeed> {
    let secret = class.spec.user_data.as_ref()?.secret_ref.as_ref()?;
    Some(SecretNeed {
        field: "spec.userData.secretRef".to_owned(),
        secret: SecretName {
            namespace: secret.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: secret.name.clone(),
        },
        keys: vec![SECRET_KEY.to_owned()],
    })
}

/// The user's own text: from its Secret where it is in one, else from the class.
fn users_text(class: &NodeClass, secrets: &BTreeMap<SecretName, SecretData>) -> UserText {
    // A map without a header is cloud-config, as it was for the predecessor.
    let headerless = true;
    if let Some(need) = secret_need(class) {
        let text = secrets.get(&need.secret).and_then(|secret| secret.get(SECRET_KEY));
        let bytes = text.cloned().unwrap_or_else(|| Secret::new(Vec::new()));
        return UserText { field: need.field, bytes, readable: false, headerless };
    }
    let user_data = class.spec.user_data.clone().unwrap_or_default();
    let text = user_data.additional_userdata.unwrap_or_default();
    UserText { headerless, ..UserText::inline("spec.userData.additionalUserdata", text) }
}

/// What an instance proves itself with on a trial, where tokens are made for each.
pub(crate) fn example_token(facts: &Facts) -> Option<Token> {
    facts.token.as_ref().map(|source| match source {
        TokenSource::Given(text) => Token::Given(text.clone()),
        TokenSource::Mint => Token::Minted(BootstrapToken::example()),
    })
}

/// What was fetched of the cluster that instances join.
pub(crate) struct Fetched<'f> {
    pub(crate) facts: &'f Facts,
    pub(crate) secrets: &'f BTreeMap<SecretName, SecretData>,
}

impl<'f> Fetched<'f> {
    /// What a text is made of; none while it is not known what instances join with.
    pub(crate) fn of(inputs: &'f ClassInputs) -> Option<Self> {
        Some(Self { facts: inputs.joining.as_ref()?, secrets: &inputs.secrets })
    }
}

/// Whom a text is made for.
pub(crate) struct Recipient<'o> {
    /// Name of instance, guest and Node.
    pub(crate) node_name: &'o str,
    /// Its type.
    pub(crate) instance_type: &'o InstanceType,
    /// What it proves itself with.
    pub(crate) token: Option<Token>,
    /// Its claim's order; none on a trial.
    pub(crate) order: Option<&'o Order>,
}

/// The text of an instance, as its guest is given it.
pub(crate) fn text(
    class: &NodeClass,
    fetched: &Fetched<'_>,
    recipient: &Recipient<'_>,
) -> Result<Encoded, Error> {
    encode(render(&inputs(class, fetched, recipient)?)?, Carrier::VsphereGuestinfo)
}

fn inputs(
    class: &NodeClass,
    Fetched { facts, secrets }: &Fetched<'_>,
    recipient: &Recipient<'_>,
) -> Result<Inputs, Error> {
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
        user: users_text(class, secrets),
        mode,
    })
}

/// The numbers that the planner counted with.
fn kubelet_settings(class: &NodeClass, of: &InstanceType) -> Kubelet {
    let of_class = class.spec.kubelet.as_ref();
    Kubelet {
        max_pods: u32::try_from(of.capacity.get(PODS).floor()).ok(),
        kube_reserved: of.overhead.kube_reserved.clone(),
        system_reserved: of.overhead.system_reserved.clone(),
        eviction_hard: kubelet::hard_evictions(&kubelet::EVICTION, &of.capacity, of_class),
        extra_args: of_class.map(kubelet::extra_arguments).unwrap_or_default(),
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
        let text = metadata(node_name, instance_uuid, Map::new());
        settings.push((METADATA.to_owned(), Secret::new(text)));
        settings.push((format!("{METADATA}.encoding"), Secret::new("base64".to_owned())));
    }
    settings
}

/// Every setting that a guest may have been given its text by, whatever its format. What it is told
/// about itself is no secret and stays: without its identity it would take itself for a new instance
/// at the next boot.
pub(crate) fn text_settings() -> impl Iterator<Item = &'static str> {
    let formats = [Format::CloudInit, Format::Ignition, Format::Talos];
    formats.into_iter().flat_map(|format| {
        let (data, encoding) = guestinfo_keys(format);
        [Some(data), encoding].into_iter().flatten()
    })
}

/// What a guest is told about itself, with more fields that somebody adds, in base64.
pub(crate) fn metadata(node_name: &str, instance_uuid: &str, more: Map<String, Value>) -> String {
    // The join token leaves the instance's settings after the first boot.
    let mut metadata = json!({
        "instance-id": instance_uuid,
        "local-hostname": node_name,
        "cleanup-guestinfo": ["userdata"],
    });
    for (field, value) in more {
        metadata[field] = value;
    }
    // What is JSON is YAML.
    STANDARD.encode(metadata.to_string())
}

#[cfg(test)]
mod tests;
