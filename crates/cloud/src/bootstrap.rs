//! The text that makes a fresh instance a worker of its cluster.
//!
//! ```text
//! Inputs ──► files and scripts ──► with the user's text ──► encoded for the cloud
//!            distro                format, replace          encode
//! ```
//!
//! [`render`] makes the text, [`encode`] prepares it for a cloud. Both are pure: no clock, no client,
//! no randomness. Their results carry a [`Report`] about the inputs and the output. A report never
//! contains a secret. [`token`] decides how an instance authenticates, [`trust`] how it verifies the
//! cluster. The operator reads and writes the objects that these need.

pub mod class_text;
pub(crate) mod digest;
mod distro;
mod encode;
mod endpoint;
mod error;
mod facts;
mod format;
mod inputs;
mod join;
mod kubelet;
pub mod network;
pub mod provider_id;
mod replace;
mod report;
mod script;
mod secret;
pub mod token;
pub mod trust;
mod version;
mod yaml;

use std::sync::LazyLock;

use regex::bytes::Regex;

use self::{
    digest::{hex, sha256},
    distro::{Ready, talos},
    endpoint::Endpoint,
    format::{
        cloud_config,
        detect::{Detected, UserFormat, detect},
        ignition, mime,
    },
    join::Join,
    kubelet::NodeLabels,
    token::Token,
    version::KubeVersion,
};

pub use self::{
    distro::node_password_secret,
    encode::{Carrier, Encoded, Encoding, UserDataFormat, encode, guestinfo_keys},
    error::{Error, ErrorKind},
    facts::Facts,
    inputs::{
        Distro, Format, GuestLookup, Inputs, Install, Kubelet, Login, Mode, ProviderId, Proxy,
        Registry, UserText,
    },
    report::{Origin, Report, Warning},
    secret::Secret,
};

/// A text, before a cloud's encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a text without its report cannot be explained"]
pub struct Rendered {
    /// The format, which decides the program that reads the text in the guest.
    pub format: Format,
    /// The text. Only [`encode`] reads it.
    pub text: Secret<Vec<u8>>,
    /// How the text was made, and why.
    pub report: Report,
    object: String,
    field: String,
    /// Whether the text contains a token that does not expire.
    static_token: bool,
}

/// Makes the text of one instance.
///
/// Equal inputs give equal bytes.
pub fn render(inputs: &Inputs) -> Result<Rendered, Error> {
    let rendered = match (inputs.distro, inputs.mode) {
        (Distro::None, _) => Ok(as_it_is(inputs)),
        (_, Mode::Replace) => replaced(inputs),
        (_, Mode::Merge) => merged(inputs),
    };
    rendered.map_err(|error| error.of(&inputs.object))
}

/// Whether an instance's text has a token in it, so that one has to be made before [`render`].
pub fn needs_token(distro: Distro, mode: Mode, user: &UserText) -> bool {
    match (distro, mode) {
        (Distro::None, _) => false,
        (_, Mode::Merge) => true,
        (_, Mode::Replace) => {
            replace::asks_for_token(&String::from_utf8_lossy(user.bytes.reveal()))
        }
    }
}

/// Returns the user's text unchanged. It joins the instance by itself.
fn as_it_is(inputs: &Inputs) -> Rendered {
    let format = reader_of(&inputs.user);
    let mut report = Report::new(inputs.distro, format);
    report.notes.push(
        "the user's text joins the instance: its node must be named as its claim, have the taint \
         karpenter.sh/unregistered:NoExecute and carry the instance's provider id"
            .to_owned(),
    );
    finish(inputs, inputs.user.bytes.reveal().clone(), report, false)
}

/// Returns the user's text alone, with the instance's values substituted.
fn replaced(inputs: &Inputs) -> Result<Rendered, Error> {
    check_names(inputs)?;
    let field = &inputs.user.field;
    let text = std::str::from_utf8(inputs.user.bytes.reveal()).map_err(|_| {
        let remedy = "write it without any encoding";
        Error::new(ErrorKind::InvalidUserData, field, "it is no text", remedy)
    })?;
    let mut report = Report::new(inputs.distro, reader_of(&inputs.user));
    let mut warnings = Vec::new();
    let text = replace::substituted(text, inputs, &mut warnings)?;
    for warning in warnings {
        report.warn("token", warning);
    }
    report.notes.push("mode replace: nothing is added to the user's text".to_owned());
    let asks = needs_token(inputs.distro, inputs.mode, &inputs.user);
    Ok(finish(inputs, text.into_bytes(), report, asks))
}

/// Merges the generated text with the user's text.
fn merged(inputs: &Inputs) -> Result<Rendered, Error> {
    check_names(inputs)?;
    let found = detect(&inputs.user)?;
    let format = output_format(inputs, found.format)?;
    refuse_what_does_not_meet(format, &found, inputs)?;
    let mut report = Report::new(inputs.distro, format);
    let ready = ready(inputs, &mut report)?;
    let text = match format {
        Format::Talos => with_talos(&ready, &found, &mut report)?.into_bytes(),
        Format::Ignition => {
            let join = generated(&ready, format, &mut report)?;
            with_ignition(inputs, &join, &found, &mut report)?.into_bytes()
        }
        Format::CloudInit | Format::Unknown => {
            let join = generated(&ready, format, &mut report)?;
            with_cloud_init(inputs, &join, &found, &mut report)?
        }
    };
    Ok(finish(inputs, text, report, true))
}

fn ready<'i>(inputs: &'i Inputs, report: &mut Report) -> Result<Ready<'i>, Error> {
    let distro = inputs.distro;
    let version = KubeVersion::of_cluster(inputs.version.as_deref(), distro)?;
    let token = token::ready(inputs.token.as_ref(), distro, inputs.ca.as_ref(), inputs.pin_ca)?;
    for warning in token.warnings {
        report.warn("token", warning);
    }
    let labels = NodeLabels::of(&inputs.labels)?;
    report.held_back_labels.clone_from(&labels.held_back);
    Ok(Ready {
        inputs,
        endpoint: Endpoint::read(inputs.endpoint.as_deref(), distro)?,
        token: token.text,
        version,
        labels,
        taints: kubelet::taints(inputs)?,
    })
}

fn generated(ready: &Ready<'_>, format: Format, report: &mut Report) -> Result<Join, Error> {
    let join = distro::join(ready, format)?;
    let files = join.files.iter();
    report.files.extend(files.map(|file| (file.path.clone(), Some(file.mode), Origin::Joiner)));
    Ok(join)
}

fn with_talos(ready: &Ready<'_>, found: &Detected, report: &mut Report) -> Result<String, Error> {
    let field = &ready.inputs.user.field;
    let users = talos::Source { field, text: &found.text };
    let base = ready.inputs.talos_base.as_ref();
    let base = base.map(|text| talos::Source { field: "the Talos Secret", text: text.reveal() });
    let (base, patch) = match base {
        Some(base) if found.format == UserFormat::Empty => (base, None),
        Some(base) => (base, Some(users)),
        None => (users, None),
    };
    if matches!(ready.inputs.provider_id, ProviderId::Guest(_)) {
        report.notes.push("Talos runs no scripts: the Node's provider id is set later".to_owned());
    }
    let (text, warnings) = talos::configuration(ready, &base, patch.as_ref())?;
    report.warnings.extend(warnings);
    report.keys.push(("machine configuration".to_owned(), Origin::Both));
    Ok(text)
}

fn with_ignition(
    inputs: &Inputs,
    join: &Join,
    found: &Detected,
    report: &mut Report,
) -> Result<String, Error> {
    let ours = ignition::print(ignition::config(join));
    report.files.push(("/etc/hostname".to_owned(), Some(0o644), Origin::Joiner));
    report.keys.extend(["storage", "systemd"].map(|key| (key.to_owned(), Origin::Joiner)));
    if found.format == UserFormat::Empty {
        return Ok(ours);
    }
    let field = &inputs.user.field;
    ignition::merged(&ours, join, found.format, &found.text, field, report)
}

fn with_cloud_init(
    inputs: &Inputs,
    join: &Join,
    found: &Detected,
    report: &mut Report,
) -> Result<Vec<u8>, Error> {
    let field = &inputs.user.field;
    if let UserFormat::Empty | UserFormat::CloudConfig = found.format {
        return cloud_config::merged(join, &found.text, field, report).map(String::into_bytes);
    }
    let ours = cloud_config::document(join, Vec::new());
    report.keys.push(("joiner.cfg".to_owned(), Origin::Joiner));
    let users = mime::users_parts(found, &ours, field, report)?;
    let ours = cloud_config::print(ours);
    let ours = mime::Part::new("text/cloud-config", "joiner.cfg", false, &ours);
    Ok(mime::multipart(&[vec![ours], users].concat()))
}

/// Seals the text and completes the report.
fn finish(inputs: &Inputs, text: Vec<u8>, mut report: Report, has_token: bool) -> Rendered {
    warn_about_secrets(&inputs.user, &mut report);
    report.fingerprint = hex(&sha256(&text)[..4]);
    report.raw_len = text.len();
    Rendered {
        format: report.format,
        text: Secret::new(text),
        report,
        object: inputs.object.clone(),
        field: inputs.user.field.clone(),
        static_token: has_token && matches!(inputs.token, Some(Token::Given(_))),
    }
}

/// The format that the instance's first-boot program reads.
fn output_format(inputs: &Inputs, found: UserFormat) -> Result<Format, Error> {
    let talos = inputs.distro == Distro::Talos;
    match inputs.format.filter(|format| *format != Format::Unknown) {
        Some(format) if (format == Format::Talos) != talos => Err(Error::new(
            ErrorKind::InvalidUserData,
            "userData.type",
            format!("{} does not join by {format}", inputs.distro),
            if talos { "write talos" } else { "write cloud-config or ignition" },
        )),
        Some(format) => Ok(format),
        None if talos => Ok(Format::Talos),
        None if found.reader() == Format::Ignition => Ok(Format::Ignition),
        None => Ok(Format::CloudInit),
    }
}

/// Refuses a user's text that cannot be merged into the instance's format.
fn refuse_what_does_not_meet(
    format: Format,
    found: &Detected,
    inputs: &Inputs,
) -> Result<(), Error> {
    let meets = match found.format {
        UserFormat::Empty => format != Format::Talos || inputs.talos_base.is_some(),
        UserFormat::Unknown => false,
        known => known.reader() == format,
    };
    if meets {
        return Ok(());
    }
    let (accepted, example) = match format {
        Format::Ignition if found.format == UserFormat::Script => (
            "there are no scripts in Ignition: use a unit or a file",
            "{\"ignition\":{\"version\":\"3.4.0\"},\"systemd\":{\"units\":[…]}}",
        ),
        Format::Ignition => (
            "write an Ignition config of version 3, or Butane",
            "{\"ignition\":{\"version\":\"3.4.0\"}}",
        ),
        Format::Talos => {
            ("write a worker's machine configuration, or keep it in a Secret", "version: v1alpha1")
        }
        Format::CloudInit | Format::Unknown => {
            ("write a cloud-config, a script, or another text for cloud-init", "#cloud-config")
        }
    };
    let beginning = match beginning(&found.text) {
        Some(line) => format!(" (it begins with {line:?})"),
        None => String::new(),
    };
    Err(Error::new(
        ErrorKind::InvalidUserData,
        &inputs.user.field,
        format!("it is {}{beginning}, and the instance's format is {format}", found.format.noun()),
        format!("{accepted}, which begins with, for example, {example}"),
    ))
}

/// The start of a header, for messages. The rest may contain a secret.
fn beginning(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim_end();
    line.starts_with('#').then(|| line.chars().take(24).collect())
}

fn reader_of(user: &UserText) -> Format {
    detect(user).map_or(Format::Unknown, |found| found.format.reader())
}

/// Names and settings that end up in files and scripts.
fn check_names(inputs: &Inputs) -> Result<(), Error> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$").expect("the pattern is well formed")
    });
    let name = &inputs.node_name;
    let refuse = |field: &str, problem: String, remedy: &str| {
        Err(Error::new(ErrorKind::InvalidInput, field, problem, remedy))
    };
    if !NAME.is_match(name.as_bytes()) {
        let remedy = "use small letters, digits and '-', at most 63";
        return refuse("nodeName", format!("{name:?} is no name of a node"), remedy);
    }
    let known_id = match &inputs.provider_id {
        ProviderId::Known(id) => Some(id),
        ProviderId::Guest(_) | ProviderId::Cloud => None,
    };
    for (field, value) in [
        ("providerID", known_id),
        ("criSocket", inputs.cri_socket.as_ref()),
        ("install.url", inputs.install.url.as_ref()),
        ("install.script", inputs.install.script.as_ref()),
        ("install.artifacts", inputs.install.artifacts.as_ref()),
    ] {
        let wrong = |c: char| c.is_control() || c.is_whitespace();
        if value.is_some_and(|value| value.is_empty() || value.contains(wrong)) {
            let problem = "it is empty, or has white space or a control character in it";
            return refuse(field, problem.to_owned(), "write it without");
        }
    }
    Ok(())
}

/// Warns about secrets in a text that is readable without access to Secrets.
fn warn_about_secrets(user: &UserText, report: &mut Report) {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"K10[0-9a-f]{64}::|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----",
        )
        .expect("the pattern is well formed")
    });
    if user.readable && PATTERN.is_match(user.bytes.reveal()) {
        report.warn(
            &user.field,
            "there seems to be a token or a private key in it, for everybody to see who may read \
             the class; move it to a Secret (secretRef, tokenSecretRef)",
        );
    }
}
