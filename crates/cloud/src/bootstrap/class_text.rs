//! How a class says which text its instances get.
//!
//! A cloud describes the fields of its class in a [`ClassText`]. That returns their problems, the
//! needs of the class, and the text of an instance.

use std::collections::BTreeMap;

use joiner_core::{instance_type::InstanceType, resources::PODS};

use super::{
    Carrier, Distro, Encoded, Error, ErrorKind, Facts, Format, GuestLookup, Inputs, Install,
    Kubelet, Mode, ProviderId, Secret, UserText, encode, needs_token,
    provider_id::IdCloud,
    render,
    token::{BootstrapToken, Token, TokenSource},
};
use crate::{
    inputs::{ClassInputs, SecretData},
    kubelet::{self, Threshold},
    needs::{IdNeed, JoinNeeds, SecretName, SecretNeed},
    order::Order,
    spec::{Problem, Reason, kubelet::Kubelet as WrittenKubelet},
};

/// A field of a class and the text in it.
#[derive(Debug, Clone, Copy)]
pub struct Field<'c> {
    /// Path of the field.
    pub path: &'static str,
    /// What the user wrote.
    pub text: Option<&'c str>,
}

/// The Secret that a user's text is in.
#[derive(Debug, Clone)]
pub struct SecretText {
    /// Path of the field that names the Secret.
    pub path: &'static str,
    /// The Secret.
    pub secret: SecretName,
    /// The key of the text.
    pub key: &'static str,
}

/// What a class says about the text of its instances.
#[derive(Debug, Clone)]
pub struct ClassText<'c> {
    /// The class, for messages.
    pub object: String,
    /// The format: `cloud-config`, `ignition` or `talos`.
    pub format: Field<'c>,
    /// The mode: `merge` or `replace`.
    pub mode: Field<'c>,
    /// The user's text, where the class contains it.
    pub inline: Field<'c>,
    /// The Secret that the user's text is in, instead.
    pub secret: Option<SecretText>,
    /// Whether a text without a header is cloud-config, as it was for the predecessor.
    pub headerless: bool,
    /// The word for the distribution.
    pub distro: Option<&'c str>,
    /// What the class says of the kubelet.
    pub kubelet: Option<&'c WrittenKubelet>,
    /// Where evictions start by default.
    pub eviction: &'static [(&'static str, Threshold)],
    /// Which cloud's provider ids nodes get.
    pub id_cloud: IdCloud,
    /// How the cloud carries the text to the guest.
    pub carrier: Carrier,
}

/// The fetched data of the cluster that instances join.
#[derive(Debug, Clone, Copy)]
pub struct Fetched<'f> {
    /// What instances join with.
    pub facts: &'f Facts,
    /// Secrets that the class refers to.
    pub secrets: &'f BTreeMap<SecretName, SecretData>,
}

impl<'f> Fetched<'f> {
    /// What a text is made of; none while it is unknown what instances join with.
    pub fn of(inputs: &'f ClassInputs) -> Option<Self> {
        Some(Self { facts: inputs.joining.as_ref()?, secrets: &inputs.secrets })
    }
}

/// The instance that a text is made for.
#[derive(Debug, Clone)]
pub struct Recipient<'o> {
    /// Name of instance, guest and node.
    pub node_name: &'o str,
    /// Its type.
    pub instance_type: &'o InstanceType,
    /// The token that it joins with.
    pub token: Option<Token>,
    /// Its claim's order; none on a trial.
    pub order: Option<&'o Order>,
}

/// The format that a word names.
pub fn format_of(word: Option<&str>) -> Result<Option<Format>, String> {
    match word.unwrap_or_default() {
        "" => Ok(None),
        "cloud-config" => Ok(Some(Format::CloudInit)),
        "ignition" => Ok(Some(Format::Ignition)),
        "talos" => Ok(Some(Format::Talos)),
        other => Err(format!("{other:?} is not known; write cloud-config, ignition or talos")),
    }
}

/// The mode that a word names.
pub fn mode_of(word: Option<&str>) -> Result<Mode, String> {
    match word.unwrap_or_default() {
        "" | "merge" => Ok(Mode::Merge),
        "replace" => Ok(Mode::Replace),
        other => Err(format!("{other:?} is not known; write merge or replace")),
    }
}

/// The token of a trial, where every instance gets a token of its own.
pub fn example_token(facts: &Facts) -> Option<Token> {
    facts.token.as_ref().map(|source| match source {
        TokenSource::Given(text) => Token::Given(text.clone()),
        TokenSource::Mint => Token::Minted(BootstrapToken::example()),
    })
}

impl ClassText<'_> {
    /// Problems of unknown words.
    pub fn problems_of_words(&self) -> Vec<Problem> {
        let format = format_of(self.format.text).err().map(|text| (self.format.path, text));
        let mode = mode_of(self.mode.text).err().map(|text| (self.mode.path, text));
        let problem = |(path, text)| Problem::new(Reason::INVALID_USER_DATA, path, text);
        format.into_iter().chain(mode).map(problem).collect()
    }

    /// A Secret without a name, and a text that is written twice.
    pub fn problems_of_source(&self) -> Vec<Problem> {
        let Some(SecretText { path, secret, key }) = &self.secret else { return Vec::new() };
        let mut problems = Vec::new();
        if secret.name.is_empty() {
            let text = format!("is empty; write the name of a Secret whose key {key} is the text");
            problems.push(Problem::new(Reason::INVALID_USER_DATA, format!("{path}.name"), text));
        }
        if self.inline.text.is_some_and(|text| !text.is_empty()) {
            let text = format!("is set, and so is {}; remove one of them", self.inline.path);
            problems.push(Problem::new(Reason::INVALID_USER_DATA, *path, text));
        }
        problems
    }

    /// The format that the class names.
    pub fn written_format(&self) -> Option<Format> {
        format_of(self.format.text).ok().flatten()
    }

    /// The cluster data that a text needs.
    pub fn join_needs(&self) -> JoinNeeds {
        let mode = mode_of(self.mode.text).unwrap_or_default();
        let word = self.distro.filter(|word| !word.is_empty());
        // An unknown word needs a token as far as it is known.
        let distro = word.map_or(Some(Distro::Kubeadm), |word| word.parse().ok());
        // A text in a Secret is unknown at this point, and may use a token.
        let text = self.users_text(&BTreeMap::new());
        let needs_token = self.secret.is_some() && distro != Some(Distro::None)
            || distro.is_none_or(|own| needs_token(own, mode, &text));
        JoinNeeds {
            distro: word.map(str::to_owned),
            without_token: !needs_token,
            provider_id: Some(IdNeed { cloud: self.id_cloud, setting: None }),
            ..JoinNeeds::default()
        }
    }

    /// The Secret that the text is in, if it is in one.
    pub fn secret_need(&self) -> Option<SecretNeed> {
        let SecretText { path, secret, key } = self.secret.clone()?;
        Some(SecretNeed { field: path.to_owned(), secret, keys: vec![key.to_owned()] })
    }

    /// The user's own text: from its Secret where it is in one, else from the class.
    fn users_text(&self, secrets: &BTreeMap<SecretName, SecretData>) -> UserText {
        let headerless = self.headerless;
        if let Some(SecretText { path, secret, key }) = &self.secret {
            let text = secrets.get(secret).and_then(|secret| secret.get(*key));
            let bytes = text.cloned().unwrap_or_else(|| Secret::new(Vec::new()));
            return UserText { field: (*path).to_owned(), bytes, readable: false, headerless };
        }
        let text = self.inline.text.unwrap_or_default();
        UserText { headerless, ..UserText::inline(self.inline.path, text) }
    }

    /// The text of an instance, as its guest gets it.
    pub fn text(&self, fetched: &Fetched<'_>, recipient: &Recipient<'_>) -> Result<Encoded, Error> {
        encode(render(&self.inputs(fetched, recipient)?)?, self.carrier)
    }

    /// The text of an example instance, to judge a class by.
    pub fn trial(
        &self,
        fetched: &Fetched<'_>,
        instance_type: &InstanceType,
    ) -> Result<Encoded, Error> {
        let token = example_token(fetched.facts);
        let recipient = Recipient { node_name: "trial", instance_type, token, order: None };
        self.text(fetched, &recipient)
    }

    fn inputs(
        &self,
        Fetched { facts, secrets }: &Fetched<'_>,
        recipient: &Recipient<'_>,
    ) -> Result<Inputs, Error> {
        let refuse = |field: &str, problem: String| Error {
            kind: ErrorKind::InvalidUserData,
            object: self.object.clone(),
            field: field.to_owned(),
            problem,
            remedy: "see the class's condition ValidationSucceeded".to_owned(),
        };
        let format = format_of(self.format.text).map_err(|text| refuse(self.format.path, text))?;
        let mode = mode_of(self.mode.text).map_err(|text| refuse(self.mode.path, text))?;
        let order = recipient.order;
        Ok(Inputs {
            object: self.object.clone(),
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
            kubelet: self.kubelet_settings(recipient.instance_type),
            provider_id: facts.provider_id.clone().unwrap_or(ProviderId::Guest(GuestLookup::Dmi)),
            cri_socket: None,
            registries: Vec::new(),
            proxy: None,
            install: Install::default(),
            talos_base: None,
            user: self.users_text(secrets),
            mode,
        })
    }

    /// The numbers that the planner used.
    fn kubelet_settings(&self, of: &InstanceType) -> Kubelet {
        Kubelet {
            max_pods: u32::try_from(of.capacity.get(PODS).floor()).ok(),
            kube_reserved: of.overhead.kube_reserved.clone(),
            system_reserved: of.overhead.system_reserved.clone(),
            eviction_hard: kubelet::hard_evictions(self.eviction, &of.capacity, self.kubelet),
            extra_args: self.kubelet.map(kubelet::extra_arguments).unwrap_or_default(),
        }
    }
}
