//! Which format a text is in, as cloud-init would tell it.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::bootstrap::{
    error::{Error, ErrorKind},
    inputs::{Format, UserText},
    yaml::{Map, Yaml, documents},
};

/// How far cloud-init looks for a multipart's header.
const MIME_HEADER_WITHIN: usize = 4096;

/// What a compressed text may grow to. Nothing that a cloud would carry is larger.
const DECOMPRESSED_MAX: u64 = 4 << 20;

/// The format of a user's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserFormat {
    Empty,
    CloudConfig,
    Script,
    /// A template of a cloud-config or a script.
    Jinja,
    Mime,
    /// Another of cloud-init's, with its MIME type.
    Other(&'static str),
    Ignition,
    Butane,
    Talos,
    Unknown,
}

/// cloud-init's other headers, longer ones before those that they begin with.
const OTHERS: [(&str, &str); 6] = [
    ("#cloud-config-archive", "text/cloud-config-archive"),
    ("#cloud-config-jsonp", "text/cloud-config-jsonp"),
    ("#include-once", "text/x-include-once-url"),
    ("#include", "text/x-include-url"),
    ("#cloud-boothook", "text/cloud-boothook"),
    ("#part-handler", "text/part-handler"),
];

impl UserFormat {
    /// The noun for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Empty => "nothing",
            Self::CloudConfig => "a cloud-config",
            Self::Script => "a script",
            Self::Jinja => "a jinja template",
            Self::Mime => "a MIME multipart",
            Self::Other(_) => "a text for cloud-init",
            Self::Ignition => "an Ignition config",
            Self::Butane => "a Butane config",
            Self::Talos => "a Talos machine configuration",
            Self::Unknown => "a text in no known format",
        }
    }

    /// The format whose program reads it.
    pub(crate) fn reader(self) -> Format {
        match self {
            Self::CloudConfig | Self::Script | Self::Jinja | Self::Mime | Self::Other(_) => {
                Format::CloudInit
            }
            Self::Ignition | Self::Butane => Format::Ignition,
            Self::Talos => Format::Talos,
            Self::Empty | Self::Unknown => Format::Unknown,
        }
    }
}

/// A text and its format.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) format: UserFormat,
    /// Without encoding, byte order mark and white space before it.
    pub(crate) text: String,
}

/// Tells the format of a user's text, through one layer of gzip or base64.
pub(crate) fn detect(user: &UserText) -> Result<Detected, Error> {
    let refuse = |problem: &str| {
        let remedy = "write the text itself, or encode it once";
        Error::new(ErrorKind::InvalidUserData, &user.field, problem, remedy)
    };
    let bytes = user.bytes.reveal();
    let plain = std::str::from_utf8(bytes).ok().map(|text| of_text(text, user.headerless));
    if let Some(plain) = plain.as_ref().filter(|plain| plain.format != UserFormat::Unknown) {
        return Ok(plain.clone());
    }
    let Some(once) = decoded(bytes).map_err(refuse)? else {
        return plain.ok_or_else(|| refuse("it is neither UTF-8 nor gzip"));
    };
    let found = std::str::from_utf8(&once).ok().map(|text| of_text(text, user.headerless));
    if let Some(found) = found.filter(|found| found.format != UserFormat::Unknown) {
        return Ok(found);
    }
    let twice = decoded(&once).map_err(refuse)?;
    let twice = twice.as_deref().and_then(|twice| std::str::from_utf8(twice).ok());
    if twice.is_some_and(|text| of_text(text, user.headerless).format != UserFormat::Unknown) {
        return Err(refuse("it is encoded more than once"));
    }
    plain.ok_or_else(|| refuse("what is compressed in it is in no known format"))
}

/// What gzip or base64 had in it.
fn decoded(bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        GzDecoder::new(bytes)
            .take(DECOMPRESSED_MAX + 1)
            .read_to_end(&mut text)
            .map_err(|_| "it begins as gzip but cannot be decompressed")?;
        if text.len() as u64 > DECOMPRESSED_MAX {
            return Err("it is larger than 4 MiB when decompressed");
        }
        return Ok(Some(text));
    }
    let letters: Vec<u8> = bytes.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    Ok(STANDARD.decode(letters).ok())
}

/// The format of a text that is not encoded.
pub(crate) fn of_text(text: &str, headerless: bool) -> Detected {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let format = if text.is_empty() {
        UserFormat::Empty
    } else {
        by_header(text).or_else(|| by_content(text, headerless)).unwrap_or(UserFormat::Unknown)
    };
    Detected { format, text: text.to_owned() }
}

fn by_header(text: &str) -> Option<UserFormat> {
    let head = &text.as_bytes()[..text.len().min(MIME_HEADER_WITHIN)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if head.contains("mime-version:") {
        return Some(UserFormat::Mime);
    }
    if head.starts_with("## template: jinja") {
        let inner = head.lines().nth(1).unwrap_or_default();
        let known = inner.starts_with("#cloud-config") || inner.starts_with("#!");
        return Some(if known { UserFormat::Jinja } else { UserFormat::Unknown });
    }
    let other = OTHERS.iter().find(|(header, _)| head.starts_with(header));
    if let Some((_, mime_type)) = other {
        return Some(UserFormat::Other(mime_type));
    }
    if head.starts_with("#cloud-config") {
        return Some(UserFormat::CloudConfig);
    }
    head.starts_with("#!").then_some(UserFormat::Script)
}

fn by_content(text: &str, headerless: bool) -> Option<UserFormat> {
    if text.starts_with('{') {
        let json: Option<Value> = serde_json::from_str(text).ok();
        if json.is_some_and(|json| json["ignition"]["version"].is_string()) {
            return Some(UserFormat::Ignition);
        }
    }
    let documents = documents(text).ok()?;
    let maps: Vec<_> = documents.iter().filter_map(Yaml::as_map).collect();
    if maps.is_empty() || maps.len() < documents.len() {
        return None;
    }
    let is = |map: &Map, key: &str| map.get(key).and_then(Yaml::as_str) == Some("v1alpha1");
    let main = |map: &&Map| is(map, "version") && map.get("machine").is_some();
    let typed = |map: &&Map| is(map, "apiVersion") && map.get("kind").is_some();
    if maps.iter().any(main) || maps.iter().all(typed) {
        return Some(UserFormat::Talos);
    }
    let [map] = maps[..] else { return None };
    if map.get("variant").is_some() && map.get("version").is_some() {
        return Some(UserFormat::Butane);
    }
    headerless.then_some(UserFormat::CloudConfig)
}
