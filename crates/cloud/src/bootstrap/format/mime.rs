//! MIME multiparts for cloud-init.
//!
//! Two cloud-config parts as they are would not do: cloud-init lets the second replace the first's
//! `runcmd`, and the instance would never join. So parts of the user's say how they are merged.

use base64::{Engine, engine::general_purpose::STANDARD};
use mail_parser::{Message, MessageParser, MessagePart, MimeHeaders, PartType};

use super::{
    cloud_config::{self, PRE_JOIN_COMMANDS},
    detect::{Detected, UserFormat, of_text},
    mergers::{ADDING, Mergers},
};
use crate::bootstrap::{
    digest::{hex, sha256},
    error::{Error, ErrorKind},
    report::{Origin, Report},
    yaml::{Map, Yaml, documents},
};

/// The longest line that mail may have.
const LINE_MAX: usize = 998;
const BASE64_COLUMNS: usize = 76;

/// One part, ready to be written.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Lines, each with its end.
    headers: String,
    body: Vec<u8>,
}

impl Part {
    /// A part with headers of ours.
    pub(crate) fn new(mime_type: &str, name: &str, merges: bool, body: &str) -> Self {
        let seven_bit = body.is_ascii()
            && !body.contains(['\0', '\r'])
            && body.split('\n').all(|line| line.len() <= LINE_MAX);
        let (encoding, body) = if seven_bit {
            ("7bit", body.as_bytes().to_vec())
        } else {
            let letters = STANDARD.encode(body).into_bytes();
            ("base64", letters.chunks(BASE64_COLUMNS).collect::<Vec<_>>().join(&b'\n'))
        };
        let mut headers = format!(
            "Content-Type: {mime_type}; charset=\"utf-8\"\n\
             Content-Transfer-Encoding: {encoding}\n\
             Content-Disposition: attachment; filename=\"{name}\"\n"
        );
        if merges {
            headers.push_str(&merge_header());
        }
        Self { headers, body }
    }
}

fn merge_header() -> String {
    format!("X-Merge-Type: {ADDING}\n")
}

/// The parts as one text. The boundary follows from the bodies.
pub(crate) fn multipart(parts: &[Part]) -> Vec<u8> {
    with_boundary(parts, &boundary(parts))
}

fn boundary(parts: &[Part]) -> String {
    let bodies: Vec<_> = parts.iter().map(|part| part.body.as_slice()).collect();
    let mut hash = sha256(&bodies.join(&0));
    loop {
        let boundary = format!("==joiner-{}==", &hex(&hash)[..16]);
        let mark = format!("--{boundary}");
        let taken = bodies.iter().any(|body| {
            body.split(|byte| *byte == b'\n').any(|line| line.starts_with(mark.as_bytes()))
        });
        if !taken {
            return boundary;
        }
        hash = sha256(&hash);
    }
}

fn with_boundary(parts: &[Part], boundary: &str) -> Vec<u8> {
    let head =
        format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n");
    let mut text = head.into_bytes();
    for part in parts {
        text.extend(format!("--{boundary}\n{}\n", part.headers).bytes());
        text.extend(&part.body);
        text.push(b'\n');
    }
    text.extend(format!("--{boundary}--\n").bytes());
    text
}

/// The parts of a user's text that is no plain cloud-config. `ours` is the document that they must
/// not replace.
pub(crate) fn users_parts(
    found: &Detected,
    ours: &Map,
    field: &str,
    report: &mut Report,
) -> Result<Vec<Part>, Error> {
    let text = &found.text;
    let part = match found.format {
        UserFormat::Script => Part::new("text/x-shellscript", "user-data.sh", false, text),
        UserFormat::Jinja => jinja(text, field)?,
        UserFormat::Other(mime_type) => {
            check_other(mime_type, text, ours, field, report)?;
            Part::new(mime_type, "user-data", false, text)
        }
        UserFormat::Mime => return taken_apart(text, ours, field, report),
        _ => unreachable!("the others are merged or refused before"),
    };
    report.keys.push((found.format.noun().to_owned(), Origin::User));
    Ok(vec![part])
}

fn jinja(text: &str, field: &str) -> Result<Part, Error> {
    refuse_pre_join(text, field)?;
    let script = text.lines().nth(1).is_some_and(|line| line.starts_with("#!"));
    let name = if script { "user-data.sh" } else { "user-data.cfg" };
    Ok(Part::new("text/jinja2", name, !script, text))
}

/// What is known about cloud-init's other formats before they are run.
fn check_other(
    mime_type: &str,
    text: &str,
    ours: &Map,
    field: &str,
    report: &mut Report,
) -> Result<(), Error> {
    match mime_type {
        "text/cloud-config-archive" => {
            let unreadable = |problem| {
                let remedy = "write a YAML list of parts, or a multipart";
                Error::new(ErrorKind::InvalidUserData, field, problem, remedy)
            };
            let archive = documents(text)
                .map_err(|error| unreadable(format!("line {}: {}", error.line, error.problem)))?;
            let entries = archive.first().and_then(Yaml::as_list);
            let entries = entries.ok_or_else(|| unreadable("the archive is no list".to_owned()))?;
            for entry in entries {
                let content = match entry {
                    Yaml::Map(entry) => entry.get("content").and_then(Yaml::as_str),
                    other => other.as_str(),
                };
                let found = of_text(content.unwrap_or_default(), false);
                if found.format == UserFormat::CloudConfig {
                    refuse_pre_join(&found.text, field)?;
                    let mut users = cloud_config::read(&found.text, field)?;
                    let own = directive(&mut users, None, field)?;
                    let mergers = own.unwrap_or_else(Mergers::replacing);
                    cloud_config::merge(mergers, ours, &users, field)?;
                }
            }
        }
        "text/cloud-config-jsonp" => report.warn(
            field,
            "a JSON patch is applied to everything, the join too; see that it only adds",
        ),
        "text/x-include-url" | "text/x-include-once-url" => report.warn(
            field,
            "what is included is not known here; a cloud-config in it that has runcmd or \
             write_files needs merge_how, or the instance does not join",
        ),
        _ => {}
    }
    Ok(())
}

/// How a cloud-config part says that it is merged, if it does.
fn directive(users: &mut Map, header: Option<&str>, field: &str) -> Result<Option<Mergers>, Error> {
    let own = Mergers::take(users);
    let own = own.and_then(|own| match (own, header) {
        (own, None) => Ok(own),
        (own, Some(header)) => Ok(Some(own.unwrap_or_default().or(Mergers::parse(header)?))),
    });
    own.map_err(|problem| {
        let field = format!("{field}: merge_how");
        Error::new(ErrorKind::InvalidUserData, field, problem, "leave it out to add to the join")
    })
}

/// Refuses a key that only a plain cloud-config can have, since parts leave as they are.
fn refuse_pre_join(text: &str, field: &str) -> Result<(), Error> {
    if text.lines().any(|line| line.starts_with(PRE_JOIN_COMMANDS)) {
        return Err(Error::new(
            ErrorKind::InvalidUserData,
            format!("{field}: {PRE_JOIN_COMMANDS}"),
            "it only works in a plain cloud-config",
            "name a script of the multipart 00-…, or write a text that begins with #cloud-config",
        ));
    }
    Ok(())
}

/// The leaves of a user's multipart, with their headers and names.
fn taken_apart(
    text: &str,
    ours: &Map,
    field: &str,
    report: &mut Report,
) -> Result<Vec<Part>, Error> {
    let refuse = |problem: &str| {
        let remedy = "write it with `cloud-init devel make-mime`, or as a plain #cloud-config";
        Error::new(ErrorKind::InvalidUserData, field, problem, remedy)
    };
    let message = MessageParser::new().parse(text).ok_or_else(|| refuse("it is no multipart"))?;
    let mut parts = Vec::new();
    for leaf in &message.parts {
        match &leaf.body {
            PartType::Multipart(_) => {}
            PartType::Message(_) => return Err(refuse("a part of it is a message of its own")),
            _ => parts.push(leaf_part(&message, leaf, ours, field, report)?),
        }
    }
    if parts.is_empty() {
        return Err(refuse("there is no part in it"));
    }
    for (i, leaf) in message.parts.iter().filter(|part| !is_container(part)).enumerate() {
        let name = leaf.attachment_name().map_or_else(|| format!("part {}", i + 1), str::to_owned);
        report.keys.push((name, Origin::User));
    }
    Ok(parts)
}

fn is_container(part: &MessagePart<'_>) -> bool {
    matches!(part.body, PartType::Multipart(_))
}

fn leaf_part(
    message: &Message<'_>,
    leaf: &MessagePart<'_>,
    ours: &Map,
    field: &str,
    report: &mut Report,
) -> Result<Part, Error> {
    let raw = |from: u32, to: u32| &message.raw_message[from as usize..to as usize];
    let text = String::from_utf8_lossy(leaf.contents());
    let written = String::from_utf8_lossy(raw(leaf.offset_header, leaf.offset_body));
    let mut headers = String::new();
    for line in written.lines().filter(|line| !line.trim().is_empty()) {
        // The whole has that one already.
        if !line.to_ascii_lowercase().starts_with("mime-version:") {
            headers.push_str(line);
            headers.push('\n');
        }
    }
    let format = of_text(&text, false).format;
    if let UserFormat::Other(mime_type) = format {
        check_other(mime_type, &text, ours, field, report)?;
    }
    if is_cloud_config(leaf, format, &text) {
        refuse_pre_join(&text, field)?;
        let header =
            ["Merge-Type", "X-Merge-Type"].into_iter().find_map(|name| leaf_header(leaf, name));
        let mut users = if format == UserFormat::Jinja {
            Map::default()
        } else {
            cloud_config::read(&text, field)?
        };
        match directive(&mut users, header.as_deref(), field)? {
            Some(own) => drop(cloud_config::merge(own, ours, &users, field)?),
            None => headers.push_str(&merge_header()),
        }
    }
    Ok(Part { headers, body: raw(leaf.offset_body, leaf.offset_end).to_vec() })
}

fn leaf_header(leaf: &MessagePart<'_>, name: &str) -> Option<String> {
    let header = leaf.headers.iter().find(|header| header.name.as_str().eq_ignore_ascii_case(name));
    header.and_then(|header| header.value.as_text().map(str::to_owned))
}

/// Whether cloud-init reads the part as a cloud-config. It looks into parts that say little about
/// themselves, and into scripts.
fn is_cloud_config(leaf: &MessagePart<'_>, format: UserFormat, text: &str) -> bool {
    let begins = match format {
        UserFormat::Jinja => text.lines().nth(1).is_some_and(|line| !line.starts_with("#!")),
        other => other == UserFormat::CloudConfig,
    };
    match leaf.content_type().and_then(|kind| kind.subtype()) {
        Some("cloud-config") => true,
        Some("jinja2" | "plain" | "x-not-multipart" | "x-shellscript") | None => begins,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests;
