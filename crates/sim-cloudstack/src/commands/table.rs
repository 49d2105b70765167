//! The table of commands, read from `commands.txt`.

use std::collections::BTreeMap;

use crate::estate::Kind;

/// How long a text may be where the table says nothing else.
const TEXT_MAX: usize = 255;

/// Whether a command answers with its result or with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Execution {
    Sync,
    Async,
    /// A job that makes an object whose id is told at once.
    Create,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text { max: usize },
    Int,
    Long,
    Flag,
    Date,
    Map,
    List,
    Entity(Kind),
    Entities(Kind),
}

/// A parameter of a command.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Type,
    pub(crate) required: bool,
    /// Whether a value that is no id counts as none.
    pub(crate) lenient: bool,
}

/// A command.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) execution: Execution,
    /// What objects of the answer are called.
    pub(crate) object: String,
    /// Whether users lack it.
    pub(crate) for_admins: bool,
    pub(crate) parameters: Vec<Parameter>,
}

impl Command {
    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// The name of its answers.
    pub(crate) fn envelope(&self) -> String {
        format!("{}response", self.name.to_ascii_lowercase())
    }
}

/// All commands by their names in lower case.
#[derive(Debug)]
pub(crate) struct Commands(BTreeMap<String, Command>);

impl Commands {
    pub(crate) fn new() -> Self {
        let mut groups = BTreeMap::new();
        let mut commands = BTreeMap::new();
        for line in include_str!("commands.txt").lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((name, members)) = line.split_once(" = ") {
                let members = parameters(members, &groups);
                groups.insert(name.to_owned(), members);
            } else if let Some(command) = command(line, &groups) {
                commands.insert(command.name.to_ascii_lowercase(), command);
            }
        }
        Self(commands)
    }

    /// The command of a name, which is compared without case.
    pub(crate) fn find(&self, name: &str) -> Option<&Command> {
        self.0.get(&name.to_ascii_lowercase())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Command> {
        self.0.values()
    }
}

type Groups = BTreeMap<String, Vec<Parameter>>;

fn command(line: &str, groups: &Groups) -> Option<Command> {
    let (head, rest) = line.split_once(':')?;
    let mut words = head.split_whitespace();
    let (name, execution, object) = (words.next()?, words.next()?, words.next()?);
    let execution = match execution {
        "async" => Execution::Async,
        "create" => Execution::Create,
        _ => Execution::Sync,
    };
    let mut parameters = parameters(rest, groups);
    if execution != Execution::Sync {
        parameters.extend(parameter("customjobid=text"));
    }
    let (name, object) = (name.to_owned(), object.to_owned());
    let for_admins = words.next() == Some("admin");
    Some(Command { name, execution, object, for_admins, parameters })
}

fn parameters(text: &str, groups: &Groups) -> Vec<Parameter> {
    text.split_whitespace()
        .flat_map(|word| match groups.get(word) {
            Some(members) => members.clone(),
            None => parameter(word).into_iter().collect(),
        })
        .collect()
}

fn parameter(word: &str) -> Option<Parameter> {
    let (name, kind) = word.split_once('=')?;
    let bare = kind.trim_end_matches(['!', '~']);
    let kind_of = match bare {
        "text" => Type::Text { max: TEXT_MAX },
        "int" => Type::Int,
        "long" => Type::Long,
        "flag" => Type::Flag,
        "date" => Type::Date,
        "map" => Type::Map,
        "list" => Type::List,
        _ => {
            let max = bare.strip_prefix("text(").and_then(|rest| rest.strip_suffix(')'));
            let listed = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            match (max, listed) {
                (Some(max), _) => Type::Text { max: max.parse().ok()? },
                (_, Some(kind)) => Type::Entities(Kind::read(kind)?),
                _ => Type::Entity(Kind::read(bare)?),
            }
        }
    };
    Some(Parameter {
        name: name.to_owned(),
        kind: kind_of,
        required: kind.ends_with('!'),
        lenient: kind.ends_with('~'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_understood() {
        let text = include_str!("commands.txt");
        let lines = text.lines().filter(|line| !line.starts_with(['#', '@']) && !line.is_empty());
        let commands = Commands::new();
        assert_eq!(commands.all().count(), lines.clone().count());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            for word in line.split_whitespace().filter(|word| word.contains('=') && *word != "=") {
                assert!(parameter(word).is_some(), "{word}");
            }
        }
        for line in lines {
            let (head, rest) = line.split_once(':').unwrap();
            let command = commands.find(head.split_whitespace().next().unwrap()).unwrap();
            assert!(command.parameters.len() >= rest.split_whitespace().count(), "{line}");
            for group in rest.split_whitespace().filter(|word| word.starts_with('@')) {
                assert!(text.contains(&format!("\n{group} = ")), "{group}");
            }
        }
    }

    #[test]
    fn a_row_says_what_a_command_is() {
        let commands = Commands::new();
        let deploy = commands.find("DEPLOYvirtualmachine").unwrap();
        assert_eq!(deploy.execution, Execution::Create);
        assert_eq!(deploy.envelope(), "deployvirtualmachineresponse");
        let zone = deploy.parameter("zoneId").unwrap();
        assert!(zone.required && zone.kind == Type::Entity(Kind::Zone));
        let user_data = deploy.parameter("userdata").unwrap();
        assert_eq!(user_data.kind, Type::Text { max: 1_048_576 });
        assert!(deploy.parameter("customjobid").is_some());
        assert!(
            commands.find("listServiceOfferings").unwrap().parameter("zoneid").unwrap().lenient
        );
        assert!(commands.find("listVirtualMachines").unwrap().parameter("tags").is_some());
        assert!(commands.find("listHosts").unwrap().for_admins);
    }
}
