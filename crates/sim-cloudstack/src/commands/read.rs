//! Reading the parameters of a call by the command's table.

use std::collections::BTreeMap;

use super::{
    call::{Given, Value},
    table::{Command, Parameter, Type},
};
use crate::{
    cloud::Complaint,
    estate::{Kind, is_uuid},
    refusal::{Refusal, code},
    request::Asked,
    world::World,
};

/// Parameters of every request.
const COMMON: [&str; 6] =
    ["command", "apikey", "signature", "signatureversion", "expires", "response"];

impl World {
    /// Reads the values of a call. What a client should not have sent is kept as a complaint.
    pub(crate) fn read(&mut self, command: &Command, asked: &Asked) -> Result<Given, Refusal> {
        self.read_all(command, asked).map_err(|wrong| {
            if wrong.is_mistake {
                self.complain(command, &wrong.parameter, &wrong.refusal.text);
            }
            wrong.refusal
        })
    }

    fn read_all(&mut self, command: &Command, asked: &Asked) -> Result<Given, Wrong> {
        for name in &asked.repeated {
            self.complain(command, name, "is sent more than once");
        }
        let mut values = BTreeMap::new();
        for sent in &asked.sent {
            let fail = |refusal| Wrong { parameter: sent.name.clone(), refusal, is_mistake: true };
            if has_control_characters(&sent.value) {
                return Err(fail(Refusal::plain(
                    code::PARAMETER,
                    format!("The value of parameter {} has control characters", sent.name),
                )));
            }
            if COMMON.iter().any(|common| common.eq_ignore_ascii_case(&sent.name)) {
                continue;
            }
            let place = place(&sent.name).map_err(fail)?;
            let Some(parameter) = command.parameter(place.base) else {
                let problem = format!("{} has no parameter {}", command.name, sent.name);
                if self.behaviour.strict {
                    return Err(fail(Refusal::plain(code::PARAMETER, problem)));
                }
                self.complain(command, &sent.name, &problem);
                continue;
            };
            let name = parameter.name.clone();
            if let Some((index, field)) = place.entry {
                if parameter.kind != Type::Map {
                    return Err(fail(malformed(&sent.name)));
                }
                let map = values.entry(name).or_insert_with(|| Value::Map(BTreeMap::new()));
                if let Value::Map(entries) = map {
                    let entry = entries.entry(index).or_default();
                    entry.insert(field.to_owned(), sent.value.clone());
                }
            } else if let Some(value) =
                self.value(command, parameter, &sent.value).map_err(|refusal| Wrong {
                    is_mistake: !is_of_ids(parameter, &sent.value),
                    ..fail(refusal)
                })?
            {
                values.insert(name, value);
            }
        }
        let missing = command
            .parameters
            .iter()
            .find(|parameter| parameter.required && !values.contains_key(&parameter.name));
        if let Some(missing) = missing {
            let text = format!(
                "Unable to execute API command {} due to missing parameter {}",
                command.name.to_ascii_lowercase(),
                missing.name
            );
            let refusal = Refusal::plain(code::PARAMETER, text);
            return Err(Wrong { parameter: missing.name.clone(), refusal, is_mistake: true });
        }
        Ok(Given(values))
    }

    fn value(
        &self,
        command: &Command,
        parameter: &Parameter,
        text: &str,
    ) -> Result<Option<Value>, Refusal> {
        let invalid = || {
            Refusal::plain(
                code::PARAMETER,
                format!(
                    "Unable to execute API command {} due to invalid value {text} for parameter {}",
                    command.name.to_ascii_lowercase(),
                    parameter.name
                ),
            )
        };
        let listed = || text.split(',').map(str::trim);
        Ok(Some(match parameter.kind {
            Type::Text { .. } if text.is_empty() && parameter.required => return Ok(None),
            Type::Text { max } if text.len() > max => {
                return Err(Refusal::value(format!(
                    "Value greater than max allowed length {max} for param: {}",
                    parameter.name
                )));
            }
            Type::Text { .. } | Type::Date => Value::Text(text.to_owned()),
            Type::Int => Value::Number(text.parse::<i32>().map_err(|_| invalid())?.into()),
            Type::Long => Value::Number(text.parse().map_err(|_| invalid())?),
            Type::Flag if text.eq_ignore_ascii_case("true") => Value::Flag(true),
            Type::Flag if text.eq_ignore_ascii_case("false") || !self.behaviour.strict => {
                Value::Flag(false)
            }
            Type::Flag => return Err(invalid()),
            Type::Map => return Err(malformed(&parameter.name)),
            Type::List => Value::Texts(listed().map(str::to_owned).collect()),
            Type::Entity(Kind::Project) if text == "-1" => Value::AllProjects,
            Type::Entity(_) if parameter.lenient && !is_uuid(text) => return Ok(None),
            Type::Entity(kind) => {
                let found = self.estate.resolve(kind, text);
                Value::Entity(found.ok_or_else(|| Refusal::no_such_entity(&parameter.name, text))?)
            }
            Type::Entities(kind) => {
                let find = |text| {
                    let found = self.estate.resolve(kind, text);
                    found.ok_or_else(|| Refusal::no_such_entity(&parameter.name, text))
                };
                Value::Entities(listed().map(find).collect::<Result<_, _>>()?)
            }
        }))
    }

    fn complain(&mut self, command: &Command, parameter: &str, problem: &str) {
        let (command, parameter) = (command.name.clone(), parameter.to_owned());
        self.complaints.push(Complaint { command, parameter, problem: problem.to_owned() });
    }
}

/// A parameter that is refused.
struct Wrong {
    parameter: String,
    refusal: Refusal,
    /// Whether a client should not have sent it. It may well ask for an object that is gone.
    is_mistake: bool,
}

/// Whether a value is ids, whatever they name.
fn is_of_ids(parameter: &Parameter, value: &str) -> bool {
    matches!(parameter.kind, Type::Entity(_) | Type::Entities(_))
        && value.split(',').all(|id| is_uuid(id.trim()))
}

/// Where a value belongs: a parameter, or a field of an entry of a map.
struct Place<'n> {
    base: &'n str,
    entry: Option<(u32, &'n str)>,
}

/// Reads `name`, or `name[index].field`.
fn place(name: &str) -> Result<Place<'_>, Refusal> {
    let brackets = name.matches(['[', ']']).count();
    if brackets == 0 {
        return Ok(Place { base: name, entry: None });
    }
    let split = || {
        let (base, rest) = name.split_once('[')?;
        let (index, rest) = rest.split_once(']')?;
        let field = rest.strip_prefix('.').filter(|field| !field.is_empty())?;
        let index = index.parse().ok()?;
        (brackets == 2).then_some(Place { base, entry: Some((index, field)) })
    };
    split().ok_or_else(|| malformed(name))
}

fn malformed(name: &str) -> Refusal {
    Refusal::plain(code::MALFORMED, format!("Invalid parameter name {name}: not name[index].field"))
}

/// Whether a text has ASCII control characters other than line ends.
fn has_control_characters(text: &str) -> bool {
    text.chars().any(|letter| letter.is_ascii_control() && letter != '\n' && letter != '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_maps_have_an_index_and_a_field() {
        let read = |name| place(name).ok().map(|place| (place.base, place.entry));
        assert_eq!(read("zoneid"), Some(("zoneid", None)));
        let field = "karpenter.sh/nodeclaim";
        assert_eq!(
            read("details[12].karpenter.sh/nodeclaim"),
            Some(("details", Some((12, field))))
        );
        for wrong in
            ["tags[0]", "tags[0]key", "tags[x].key", "tags[0][1].key", "tags]0[.key", "tags[0]."]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
