//! What guests are given: the user's own text, or the text that joins the cluster.
//!
//! Without `spec.bootstrap` the user's text is sent byte for byte, and nothing is asked of the
//! cluster. How the text is made, compressed and measured is `joiner_cloud::bootstrap`'s.

use std::collections::BTreeMap;

use joiner_cloud::{
    bootstrap::{
        Carrier, Distro, Encoded, Error, Facts, UserDataFormat,
        class_text::{ClassText, Fetched, Field, Recipient},
        provider_id::IdCloud,
    },
    inputs::ClassInputs,
    kubelet::EVICTION,
    needs::{JoinNeeds, SecretName, SecretNeed},
};

use crate::{NODE_CLASS_KIND, NodeClass};

/// Where a class keeps its text.
const FIELD: &str = "spec.userData";
/// The key of a token's Secret where the class names none.
const TOKEN_KEY: &str = "token";

/// When a text is compressed, by the class's word for it.
pub(crate) fn format(word: Option<&str>) -> Result<UserDataFormat, String> {
    match word.unwrap_or_default() {
        "" | "auto" => Ok(UserDataFormat::Auto),
        "raw" => Ok(UserDataFormat::Raw),
        "gzip" => Ok(UserDataFormat::Gzip),
        other => Err(format!("{other:?} is not known; write raw, gzip or auto")),
    }
}

/// What a class says about the text of its instances. `letters_max` is the server's setting
/// `vm.userdata.max.length`, where it is known.
pub fn class_text(class: &NodeClass, letters_max: Option<usize>) -> ClassText<'_> {
    let spec = &class.spec;
    let bootstrap = spec.bootstrap.as_ref();
    // A word that is not known is a problem of the class; until it is mended, nothing is made.
    let compression = format(spec.user_data_format.as_deref()).unwrap_or_default();
    let none = Some(Distro::None.as_str());
    ClassText {
        object: format!("{NODE_CLASS_KIND} {}", class.name()),
        format: Field { path: FIELD, text: None },
        mode: Field {
            path: "spec.bootstrap.mode",
            text: bootstrap.and_then(|own| own.mode.as_deref()),
        },
        inline: Field { path: FIELD, text: spec.user_data.as_deref() },
        secret: None,
        headerless: false,
        distro: bootstrap.map_or(none, |own| own.distro.as_deref()),
        kubelet: spec.kubelet.as_ref(),
        eviction: &EVICTION,
        id_cloud: IdCloud::CloudStack,
        carrier: Carrier::CloudStack { compression, letters_max },
    }
}

/// What has to be known of the cluster before a text can be made; none where the user's text joins
/// the instance.
pub fn join_needs(class: &NodeClass) -> Option<JoinNeeds> {
    let bootstrap = class.spec.bootstrap.as_ref()?;
    let token = bootstrap.token_secret_ref.as_ref().map(|secret| SecretNeed {
        field: "spec.bootstrap.tokenSecretRef".to_owned(),
        secret: SecretName {
            namespace: secret.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: secret.name.clone(),
        },
        keys: vec![secret.key.clone().unwrap_or_else(|| TOKEN_KEY.to_owned())],
    });
    let endpoint = bootstrap.endpoint.clone().filter(|endpoint| !endpoint.is_empty());
    Some(JoinNeeds { endpoint, token, ..class_text(class, None).join_needs() })
}

/// The text of an instance, as it is sent. None while it is not known what instances join with.
pub fn text(
    class: &NodeClass,
    letters_max: Option<usize>,
    inputs: Option<&ClassInputs>,
    recipient: &Recipient<'_>,
) -> Option<Result<Encoded, Error>> {
    let class_text = class_text(class, letters_max);
    if class.spec.bootstrap.is_some() {
        return Some(class_text.text(&Fetched::of(inputs?)?, recipient));
    }
    let facts = Facts {
        distro: Distro::None,
        endpoint: None,
        version: None,
        ca: None,
        pin_ca: false,
        token: None,
        provider_id: None,
    };
    let fetched = Fetched { facts: &facts, secrets: &BTreeMap::new() };
    Some(class_text.text(&fetched, recipient))
}
