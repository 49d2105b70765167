//! Ignition: ours, and the user's with it.

use base64::{Engine, engine::general_purpose::STANDARD};
use semver::Version;
use serde_json::{Value, json};

use super::{butane, detect::UserFormat};
use crate::bootstrap::{
    error::{Error, ErrorKind},
    join::Join,
    report::{Origin, Report},
    yaml::documents,
};

/// The version that our own config is written in.
const VERSION: Version = Version::new(3, 4, 0);
/// The newest version that a user's config may have.
const VERSION_MAX: Version = Version::new(3, 5, 0);

const UNIT: &str = "joiner-join.service";

/// Our config.
pub(crate) fn config(join: &Join) -> Value {
    let mut files: Vec<Value> = join
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.path,
                "mode": file.mode,
                "overwrite": true,
                "contents": {"source": data_url(file.content.reveal())},
            })
        })
        .collect();
    files.push(json!({
        "path": "/etc/hostname",
        "mode": 0o644,
        "overwrite": true,
        // A host name has nothing in it that an address would have to escape.
        "contents": {"source": format!("data:,{}", join.node_name)},
    }));
    json!({
        "ignition": {"version": VERSION.to_string()},
        "storage": {"files": files},
        "systemd": {"units": [{"name": UNIT, "enabled": true, "contents": unit(join)}]},
    })
}

fn unit(join: &Join) -> String {
    let first = join.first.iter().map(|path| format!("ExecStartPre=/bin/sh {path}\n"));
    format!(
        "[Unit]\n\
         Description=Join this instance to its cluster\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         ConditionPathExists=!/var/lib/joiner/joined\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         {}ExecStart=/bin/sh {}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        first.collect::<String>(),
        join.last
    )
}

/// Keys in order, no spaces: equal configs are equal texts.
pub(crate) fn print(mut config: Value) -> String {
    config.sort_all_objects();
    config.to_string()
}

pub(crate) fn data_url(content: &str) -> String {
    format!("data:;base64,{}", STANDARD.encode(content))
}

/// Ours and the user's, for Ignition to merge: it knows its own rules best.
pub(crate) fn merged(
    ours: &str,
    join: &Join,
    format: UserFormat,
    text: &str,
    field: &str,
    report: &mut Report,
) -> Result<String, Error> {
    let users = match format {
        UserFormat::Butane => {
            let found = documents(text).map_err(|error| {
                let problem = format!("line {}: {}", error.line, error.problem);
                invalid(field, problem, "correct the YAML")
            })?;
            let config = found.first().and_then(|document| document.as_map()).ok_or_else(|| {
                invalid(field, "it is no map".to_owned(), "write variant and version first")
            })?;
            print(butane::ignition(config, field)?)
        }
        _ => text.to_owned(),
    };
    let config: Value = serde_json::from_str(&users)
        .map_err(|error| invalid(field, format!("it is no JSON: {error}"), "correct it"))?;
    let version = version(&config, field)?;
    if version > VERSION {
        report.notes.push(format!("the instance's Ignition must read version {version}"));
    }
    note_users(&config, join, field, report);
    Ok(wrapped(ours, &users, &version.max(VERSION)))
}

fn wrapped(ours: &str, users: &str, version: &Version) -> String {
    let sources = [ours, users].map(|config| json!({"source": data_url(config)}));
    print(json!({
        "ignition": {"config": {"merge": sources}, "version": version.to_string()},
    }))
}

fn version(config: &Value, field: &str) -> Result<Version, Error> {
    let text = config["ignition"]["version"].as_str().unwrap_or_default();
    let version = Version::parse(text).ok();
    let suits = |version: &Version| {
        *version >= Version::new(3, 0, 0) && *version <= VERSION_MAX && version.pre.is_empty()
    };
    version.filter(suits).ok_or_else(|| {
        let problem =
            format!("ignition.version is {text:?}, and 3.0.0 to {VERSION_MAX} can be used");
        invalid(field, problem, "translate it: {\"ignition\":{\"version\":\"3.4.0\"}}")
    })
}

/// What the user's config has, and where it meets ours.
fn note_users(config: &Value, join: &Join, field: &str, report: &mut Report) {
    let keys = config.as_object().into_iter().flatten().map(|(key, _)| key);
    report.keys.extend(keys.map(|key| (key.clone(), Origin::User)));
    let entries = |list: &Value, key: &str| -> Vec<String> {
        let entries = list.as_array().into_iter().flatten();
        entries.filter_map(|entry| entry[key].as_str().map(str::to_owned)).collect()
    };
    for path in entries(&config["storage"]["files"], "path") {
        match report.files.iter_mut().find(|(known, ..)| *known == path) {
            Some((_, _, origin)) => {
                *origin = Origin::Both;
                if join.files.iter().any(|file| file.path == path) {
                    report.warn(field, format!("{path} is the user's; ours is not written"));
                }
            }
            None => report.files.push((path, None, Origin::User)),
        }
    }
    if entries(&config["systemd"]["units"], "name").iter().any(|name| name == UNIT) {
        report.warn(field, format!("{UNIT} is changed by the user's; see that it still joins"));
    }
}

fn invalid(field: &str, problem: String, remedy: &str) -> Error {
    Error::new(ErrorKind::InvalidUserData, field, problem, remedy)
}

#[cfg(test)]
mod tests;
