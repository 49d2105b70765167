//! What a class says about the text of its instances, and how vSphere carries it to the guest.

use base64::{Engine, engine::general_purpose::STANDARD};
use joiner_cloud::{
    bootstrap::{
        Carrier, Encoded, Format, Secret,
        class_text::{ClassText, Field, SecretText},
        guestinfo_keys,
        provider_id::IdCloud,
    },
    kubelet,
    needs::{SecretName, SecretNeed},
};
use serde_json::{Map, Value, json};

use crate::{
    NODE_CLASS_KIND, Problem, Reason,
    node_class::{NodeClass, Spec},
};

/// The setting of an instance by which its guest is told about itself.
pub(crate) const METADATA: &str = "guestinfo.metadata";

/// The key of a Secret that a user's text is kept under.
const SECRET_KEY: &str = "userData";

/// What a class says about the text of its instances.
pub(crate) fn class_text(class: &NodeClass) -> ClassText<'_> {
    text_of(class.name(), &class.spec)
}

fn text_of<'c>(name: &str, spec: &'c Spec) -> ClassText<'c> {
    let user_data = spec.user_data.as_ref();
    let secret = user_data.and_then(|own| own.secret_ref.as_ref()).map(|own| SecretText {
        path: "spec.userData.secretRef",
        secret: SecretName {
            namespace: own.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: own.name.clone(),
        },
        key: SECRET_KEY,
    });
    ClassText {
        object: format!("{NODE_CLASS_KIND} {name}"),
        format: Field {
            path: "spec.userData.type",
            text: user_data.and_then(|own| own.type_.as_deref()),
        },
        mode: Field {
            path: "spec.userData.mode",
            text: user_data.and_then(|own| own.mode.as_deref()),
        },
        inline: Field {
            path: "spec.userData.additionalUserdata",
            text: user_data.and_then(|own| own.additional_userdata.as_deref()),
        },
        secret,
        headerless: true,
        distro: spec.k8s_distro.as_deref(),
        kubelet: spec.kubelet.as_ref(),
        eviction: &kubelet::EVICTION,
        id_cloud: IdCloud::Vsphere,
        carrier: Carrier::VsphereGuestinfo,
    }
}

/// Unknown words in `spec.userData`, fields of early versions, and texts that are written twice.
pub(crate) fn problems(spec: &Spec) -> Vec<Problem> {
    let text = text_of("", spec);
    let mut problems = text.problems_of_words();
    problems.extend(of_early_versions(spec));
    problems.extend(text.problems_of_source());
    problems
}

fn of_early_versions(spec: &Spec) -> impl Iterator<Item = Problem> {
    let user_data = spec.user_data.as_ref();
    let is_written = |text: &String| !text.is_empty();
    let fields = [
        (
            "templateBase64",
            user_data.and_then(|own| own.template_base64.as_ref()).is_some_and(is_written),
        ),
        ("values", user_data.is_some_and(|own| own.values.is_some())),
    ];
    fields.into_iter().filter(|(_, is_written)| *is_written).map(|(field, _)| {
        let text = "is of an early version and means nothing any more; write your text, decoded \
                    and with its values filled in, into spec.userData.additionalUserdata or into a \
                    Secret that spec.userData.secretRef names";
        Problem::new(Reason::INVALID_USER_DATA, format!("spec.userData.{field}"), text)
    })
}

/// The Secret that a class's text is in, if it is in one.
pub(crate) fn secret_need(class: &NodeClass) -> Option<SecretNeed> {
    class_text(class).secret_need()
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

/// Every setting that may contain a guest's text, for all formats. The metadata is no secret and
/// stays: without its identity, the guest would act as a new instance at the next boot.
pub(crate) fn text_settings() -> impl Iterator<Item = &'static str> {
    let formats = [Format::CloudInit, Format::Ignition, Format::Talos];
    formats.into_iter().flat_map(|format| {
        let (data, encoding) = guestinfo_keys(format);
        [Some(data), encoding].into_iter().flatten()
    })
}

/// The guest's metadata with additional fields, in base64.
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
    // JSON is valid YAML.
    STANDARD.encode(metadata.to_string())
}

#[cfg(test)]
mod tests;
