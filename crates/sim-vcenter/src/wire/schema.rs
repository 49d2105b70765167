//! The schema that requests keep: which elements, in which order, and what they hold.
//!
//! A real vCenter reads requests as sequences: an element that comes too late, or that it does not
//! know, makes it refuse the whole call. So does this one.

use std::collections::BTreeMap;

use super::element::Element;

/// Types and methods, one per line: `Name < Base: field=type …`, in the order of the schema. `!`
/// marks a field that must be there, `[]` one that may repeat, and `*` a type whose inside is not
/// looked at.
const SCHEMA: &str = include_str!("schema.txt");

/// What a request must look like.
#[derive(Debug)]
pub(crate) struct Schema {
    types: BTreeMap<&'static str, Type>,
}

#[derive(Debug)]
struct Type {
    base: Option<&'static str>,
    fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    name: &'static str,
    of: &'static str,
    required: bool,
    many: bool,
}

impl Schema {
    pub(crate) fn new() -> Self {
        let lines = SCHEMA.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let types = lines.filter_map(|line| {
            let (head, fields) = line.split_once(':')?;
            let (name, base) = match head.split_once(" < ") {
                Some((name, base)) => (name, Some(base)),
                None => (head, None),
            };
            let fields = fields.split_whitespace().filter_map(Field::read).collect();
            Some((name, Type { base, fields }))
        });
        Self { types: types.collect() }
    }

    /// Whether there is a method of this name.
    pub(crate) fn has(&self, method: &str) -> bool {
        self.types.get(method).is_some_and(|known| known.fields.first().is_some_and(Field::is_this))
    }

    /// The problem of a call, as a message for developers.
    pub(crate) fn check_call(&self, call: &Element) -> Result<(), String> {
        self.check_fields(call, &call.name)
            .map_err(|problem| format!("{problem}\nwhile parsing call of method {}", call.name))
    }

    fn check_fields(&self, element: &Element, name: &str) -> Result<(), String> {
        let fields = self.fields(name);
        let mut next = 0;
        let mut seen = vec![false; fields.len()];
        for child in &element.children {
            let place = fields[next..].iter().position(|field| field.name == child.name);
            let Some(place) = place.map(|ahead| next + ahead) else {
                let early = fields.iter().any(|field| field.name == child.name);
                let hint = if early {
                    "; it is out of order, or there is one too many"
                } else {
                    "; the type has no such field"
                };
                let tag = &child.name;
                return Err(format!("Unexpected element tag \"{tag}\" seen in {name}{hint}"));
            };
            let field = fields[place];
            seen[place] = true;
            next = if field.many { place } else { place + 1 };
            self.check_value(child, field).map_err(|problem| {
                format!("{problem}\nwhile parsing property \"{}\" of {name}", field.name)
            })?;
        }
        for (field, seen) in fields.iter().zip(seen) {
            if field.required && !seen {
                return Err(format!("Required property {} is missing from {name}", field.name));
            }
        }
        Ok(())
    }

    fn check_value(&self, element: &Element, field: Field) -> Result<(), String> {
        let text = element.text.trim();
        let wrong = |what: &str| Err(format!("\"{text}\" is not {what}"));
        match field.of {
            "*" | "string" => Ok(()),
            "bool" if matches!(text, "true" | "false" | "0" | "1") => Ok(()),
            "bool" => wrong("a boolean"),
            "int" if text.parse::<i32>().is_ok() => Ok(()),
            "int" => wrong("a 32-bit number"),
            "long" if text.parse::<i64>().is_ok() => Ok(()),
            "long" => wrong("a 64-bit number"),
            "any" if element.instance_type.is_some() => Ok(()),
            "any" => Err("a value of any type needs xsi:type".to_owned()),
            "ref" if element.object_type.is_some() && !text.is_empty() => Ok(()),
            "ref" => Err("the name of an object needs its type and its id".to_owned()),
            declared => {
                let given = element.instance_type.as_deref().unwrap_or(declared);
                if !self.descends(given, declared) {
                    return Err(format!("\"{given}\" is no {declared}"));
                }
                self.check_fields(element, given)
            }
        }
    }

    fn descends(&self, name: &str, from: &str) -> bool {
        name == from
            || self
                .types
                .get(name)
                .and_then(|known| known.base)
                .is_some_and(|base| self.descends(base, from))
    }

    fn fields(&self, name: &str) -> Vec<Field> {
        let Some(known) = self.types.get(name) else { return Vec::new() };
        let mut fields = known.base.map(|base| self.fields(base)).unwrap_or_default();
        fields.extend(&known.fields);
        fields
    }
}

impl Field {
    fn read(text: &'static str) -> Option<Self> {
        let (name, of) = text.split_once('=')?;
        let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        let (name, many) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
        Some(Self { name, of, required, many })
    }

    fn is_this(&self) -> bool {
        self.name == "_this"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(call: &str) -> Result<(), String> {
        Schema::new().check_call(&Element::read(call).unwrap())
    }

    const THIS: &str = r#"<_this type="VirtualMachine">vm-1</_this>"#;

    #[test]
    fn every_type_that_is_named_is_there() {
        let schema = Schema::new();
        for (name, known) in &schema.types {
            let bases = known.base.into_iter();
            let plain = ["*", "string", "bool", "int", "long", "any", "ref"];
            let fields = known.fields.iter().map(|field| field.of).filter(|of| !plain.contains(of));
            for used in bases.chain(fields) {
                assert!(schema.types.contains_key(used), "{name} speaks of {used}");
            }
        }
    }

    #[test]
    fn the_order_of_elements_is_kept() {
        let spec = |inside: &str| {
            check(&format!("<ReconfigVM_Task>{THIS}<spec>{inside}</spec></ReconfigVM_Task>"))
        };
        assert_eq!(spec("<numCPUs>4</numCPUs><memoryMB>8192</memoryMB>"), Ok(()));
        let late = spec("<memoryMB>8192</memoryMB><numCPUs>4</numCPUs>").unwrap_err();
        assert!(late.starts_with("Unexpected element tag \"numCPUs\" seen in VirtualMachineConfigSpec; it is out of order"), "{late}");
        let twice = spec("<numCPUs>4</numCPUs><numCPUs>4</numCPUs>").unwrap_err();
        assert!(twice.contains("one too many"), "{twice}");
        let unknown = spec("<cpus>4</cpus>").unwrap_err();
        assert!(unknown.contains("no such field"), "{unknown}");
        let word = spec("<numCPUs>four</numCPUs>").unwrap_err();
        assert!(word.starts_with("\"four\" is not a 32-bit number"), "{word}");
    }

    #[test]
    fn a_subtype_has_its_bases_fields_first() {
        let device = |inside: &str| {
            check(&format!(
                r#"<ReconfigVM_Task>{THIS}<spec><deviceChange><operation>edit</operation>
                <device xmlns:x="i" x:type="VirtualDisk">{inside}</device></deviceChange></spec></ReconfigVM_Task>"#
            ))
        };
        assert_eq!(device("<key>2000</key><capacityInKB>1</capacityInKB>"), Ok(()));
        assert!(device("<capacityInKB>1</capacityInKB><key>2000</key>").is_err());
        assert!(device("<key>2000</key>").unwrap_err().contains("Required property capacityInKB"));
    }

    #[test]
    fn what_must_be_there_is_missed() {
        let problem = check(&format!("<ReconfigVM_Task>{THIS}</ReconfigVM_Task>")).unwrap_err();
        assert!(problem.starts_with("Required property spec is missing"), "{problem}");
        let problem = check("<PowerOffVM_Task/>").unwrap_err();
        assert!(problem.starts_with("Required property _this is missing"), "{problem}");
    }
}
