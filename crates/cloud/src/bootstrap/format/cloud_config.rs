//! cloud-config: ours, and the user's with it.

use super::mergers::Mergers;
use crate::bootstrap::{
    error::{Error, ErrorKind},
    join::{File, Join},
    report::{Origin, Report},
    yaml::{Map, Yaml, documents},
};

/// Our key for commands that run before the join. It never leaves this program.
pub(crate) const PRE_JOIN_COMMANDS: &str = "preJoinCommands";

pub(crate) const HEADER: &str = "#cloud-config\n";

/// Lists of `config.yaml` that a user's file replaces unless it says `+`.
const OUR_LISTS: [&str; 3] = ["kubelet-arg", "node-label", "node-taint"];

/// Our document, with the user's own commands before the join.
pub(crate) fn document(join: &Join, users_commands: Vec<Yaml>) -> Map {
    let write_files = join.files.iter().map(write_file).collect();
    let runs = |path: &String| Yaml::texts(["/bin/sh", path]);
    let before = join.first.iter().map(runs).chain(users_commands);
    let commands = before.chain([runs(&join.last)]).collect();
    [
        ("hostname", Yaml::text(&join.node_name)),
        ("preserve_hostname", Yaml::bool(false)),
        ("write_files", Yaml::List(write_files)),
        ("runcmd", Yaml::List(commands)),
    ]
    .into_iter()
    .collect()
}

fn write_file(file: &File) -> Yaml {
    [
        ("path", file.path.clone()),
        ("owner", "root:root".to_owned()),
        ("permissions", file.permissions()),
        ("content", file.content.reveal().clone()),
    ]
    .map(|(key, value)| (key, Yaml::text(value)))
    .into_iter()
    .collect()
}

/// The document as cloud-init gets it.
pub(crate) fn print(document: Map) -> String {
    format!("{HEADER}{}", Yaml::Map(document).print())
}

/// The map that a cloud-config is.
pub(crate) fn read(text: &str, field: &str) -> Result<Map, Error> {
    let refuse = |problem: String| {
        let remedy = "write one YAML map, such as\n#cloud-config\nruncmd:\n- [echo, hello]";
        Error::new(ErrorKind::InvalidUserData, field, problem, remedy)
    };
    let found = documents(text)
        .map_err(|error| refuse(format!("line {}: {}", error.line, error.problem)))?;
    match <[Yaml; 1]>::try_from(found) {
        Ok([Yaml::Map(map)]) => Ok(map),
        Ok([other]) if other.is_null() => Ok(Map::default()),
        Ok([other]) => Err(refuse(format!("the cloud-config is {}", other.noun()))),
        Err(found) if found.is_empty() => Ok(Map::default()),
        Err(found) => Err(refuse(format!("there are {} documents in it", found.len()))),
    }
}

/// One document of ours and the user's.
pub(crate) fn merged(
    join: &Join,
    text: &str,
    field: &str,
    report: &mut Report,
) -> Result<String, Error> {
    let mut users = read(text, field)?;
    let commands = pre_join_commands(&mut users, field)?;
    let mergers = Mergers::take(&mut users)
        .map_err(|problem| invalid(&format!("{field}: merge_how"), problem))?
        .unwrap_or_else(Mergers::adding);
    let ours = document(join, commands);
    let mut both = merge(mergers, &ours, &users, field)?;
    warn_about_hostname(&ours, &users, &both, field, report);
    warn_about_lists(&users, field, report);
    give_way(&mut both, &users, join, field, report);
    note_origins(&both, &ours, &users, report);
    Ok(print(both))
}

/// Merges, and makes sure that the instance still joins.
pub(crate) fn merge(mergers: Mergers, ours: &Map, users: &Map, field: &str) -> Result<Map, Error> {
    let both = mergers
        .merge_maps(ours.clone(), users.clone())
        .map_err(|problem| invalid(field, problem))?;
    let list = |map: &Map, key: &str| -> Vec<Yaml> {
        map.get(key).and_then(Yaml::as_list).unwrap_or_default().to_vec()
    };
    let (files, commands) = (list(&both, "write_files"), list(&both, "runcmd"));
    let keeps_file = |file: &Yaml| files.iter().any(|other| path_of(other) == path_of(file));
    let kept = list(ours, "write_files").iter().all(keeps_file)
        && list(ours, "runcmd").iter().all(|command| commands.contains(command));
    if kept {
        Ok(both)
    } else {
        Err(Error::new(
            ErrorKind::InvalidUserData,
            format!("{field}: merge_how"),
            "merge_how drops the join commands",
            format!("leave it out, or write merge_how: \"{}\"", super::mergers::ADDING),
        ))
    }
}

/// Takes the user's commands before the join out of the document.
fn pre_join_commands(users: &mut Map, field: &str) -> Result<Vec<Yaml>, Error> {
    let commands = match users.remove(PRE_JOIN_COMMANDS) {
        None => return Ok(Vec::new()),
        Some(nothing) if nothing.is_null() => return Ok(Vec::new()),
        Some(Yaml::List(commands)) => commands,
        Some(other) => {
            let problem = format!("it is {}; write a list of commands", other.noun());
            return Err(invalid(&format!("{field}: {PRE_JOIN_COMMANDS}"), problem));
        }
    };
    let is_word = |word: &Yaml| word.as_str().is_some_and(|text| !text.contains('\0'));
    for (i, command) in commands.iter().enumerate() {
        let runs = match command {
            Yaml::List(words) => !words.is_empty() && words.iter().all(is_word),
            other => is_word(other),
        };
        if !runs {
            let problem = "it is no command; write a text, or a list of words".to_owned();
            return Err(invalid(&format!("{field}: {PRE_JOIN_COMMANDS}[{i}]"), problem));
        }
    }
    Ok(commands)
}

fn warn_about_hostname(ours: &Map, users: &Map, both: &Map, field: &str, report: &mut Report) {
    for key in ["hostname", "preserve_hostname"] {
        let text = |map: &Map| map.get(key).and_then(Yaml::as_str).map(str::to_owned);
        if users.get(key).is_some() && text(users) != text(ours) {
            let kept = text(both) == text(ours);
            report.warn(
                field,
                if kept {
                    format!("{key} is the instance's own; the user's is not used")
                } else {
                    format!("{key} is the user's; the Node must be named as its claim expects")
                },
            );
        }
    }
}

/// Where both write a file, the user's counts.
fn give_way(both: &mut Map, users: &Map, join: &Join, field: &str, report: &mut Report) {
    let users_files = users.get("write_files").and_then(Yaml::as_list).unwrap_or_default();
    for file in &join.files {
        let same = |other: &&Yaml| path_of(other) == Some(file.path.as_str());
        let Some(theirs) = users_files.iter().find(same) else { continue };
        let appends = theirs.as_map().and_then(|map| map.get("append")?.as_str());
        if appends.is_some_and(|word| ["true", "yes", "on"].contains(&&*word.to_lowercase())) {
            report
                .warn(field, format!("{} is ours, and the user's text is added to it", file.path));
            continue;
        }
        report.warn(field, format!("{} is the user's; ours is not written", file.path));
        let ours = write_file(file);
        if let Some(Yaml::List(files)) = both.get_mut("write_files") {
            files.retain(|other| *other != ours);
        }
    }
}

/// A file that is read after ours and has a list of the same name replaces ours.
fn warn_about_lists(users: &Map, field: &str, report: &mut Report) {
    let files = users.get("write_files").and_then(Yaml::as_list).unwrap_or_default();
    for file in files.iter().filter_map(Yaml::as_map) {
        let text = |key: &str| file.get(key).and_then(Yaml::as_str);
        let (Some(path), Some(content), None) = (text("path"), text("content"), text("encoding"))
        else {
            continue;
        };
        if !path.contains("/etc/rancher/") || !path.contains("/config.yaml.d/") {
            continue;
        }
        let content = documents(content).unwrap_or_default();
        for list in OUR_LISTS {
            if content.iter().filter_map(Yaml::as_map).any(|map| map.get(list).is_some()) {
                let text = format!(
                    "{list} in {path} replaces the generated list; write \"{list}+\" to add to it"
                );
                report.warn(field, text);
            }
        }
    }
}

fn note_origins(both: &Map, ours: &Map, users: &Map, report: &mut Report) {
    for (key, _) in &both.0 {
        let origin = match (ours.get(&key.text).is_some(), users.get(&key.text).is_some()) {
            (true, true) => Origin::Both,
            (true, false) => Origin::Joiner,
            (false, _) => Origin::User,
        };
        report.keys.push((key.text.clone(), origin));
    }
    let paths = |map: &Map| -> Vec<String> {
        let files = map.get("write_files").and_then(Yaml::as_list).unwrap_or_default();
        files.iter().filter_map(path_of).map(str::to_owned).collect()
    };
    let users_paths = paths(users);
    for (path, _, origin) in &mut report.files {
        if users_paths.contains(path) {
            *origin = Origin::Both;
        }
    }
    let of_user = users_paths.into_iter();
    let new: Vec<_> = of_user
        .filter(|path| report.files.iter().all(|(known, ..)| known != path))
        .map(|path| (path, None, Origin::User))
        .collect();
    report.files.extend(new);
}

fn path_of(file: &Yaml) -> Option<&str> {
    file.as_map()?.get("path")?.as_str()
}

fn invalid(field: &str, problem: String) -> Error {
    let remedy = "correct it there; the instance is not made until it can be read";
    Error::new(ErrorKind::InvalidUserData, field, problem, remedy)
}
