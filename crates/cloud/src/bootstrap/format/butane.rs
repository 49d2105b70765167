//! The part of Butane that is translated to Ignition; everything else is refused by its key.

use serde_json::{Map as Object, Value, json};

use super::ignition::data_url;
use crate::bootstrap::{
    error::{Error, ErrorKind},
    yaml::{Map, Yaml},
};

/// Variant and version, and the version of Ignition that they are for.
const VERSIONS: [(&str, &str, &str); 8] = [
    ("fcos", "1.0.0", "3.0.0"),
    ("fcos", "1.1.0", "3.1.0"),
    ("fcos", "1.2.0", "3.2.0"),
    ("fcos", "1.3.0", "3.2.0"),
    ("fcos", "1.4.0", "3.3.0"),
    ("fcos", "1.5.0", "3.4.0"),
    ("flatcar", "1.0.0", "3.3.0"),
    ("flatcar", "1.1.0", "3.4.0"),
];

/// What may stand somewhere.
enum Shape {
    Text,
    Number,
    Bool,
    List(&'static Shape),
    Map(&'static [(&'static str, Shape)]),
    /// A file's contents, written there or fetched.
    Contents,
}

use Shape::{Bool, Contents, List, Map as Fields, Number, Text};

const TEXTS: Shape = List(&Text);
const OWNER: Shape = Fields(&[("id", Number), ("name", Text)]);
const VERIFICATION: Shape = Fields(&[("hash", Text)]);
const HEADERS: Shape = List(&Fields(&[("name", Text), ("value", Text)]));
const CONTENTS: [(&str, Shape); 5] = [
    ("inline", Text),
    ("source", Text),
    ("compression", Text),
    ("verification", VERIFICATION),
    ("http_headers", HEADERS),
];
const USER: Shape = Fields(&[
    ("name", Text),
    ("password_hash", Text),
    ("ssh_authorized_keys", TEXTS),
    ("uid", Number),
    ("gecos", Text),
    ("home_dir", Text),
    ("no_create_home", Bool),
    ("primary_group", Text),
    ("groups", TEXTS),
    ("no_user_group", Bool),
    ("no_log_init", Bool),
    ("shell", Text),
    ("should_exist", Bool),
    ("system", Bool),
]);
const GROUP: Shape = Fields(&[
    ("name", Text),
    ("gid", Number),
    ("password_hash", Text),
    ("should_exist", Bool),
    ("system", Bool),
]);
const FILE: Shape = Fields(&[
    ("path", Text),
    ("overwrite", Bool),
    ("contents", Contents),
    ("append", List(&Contents)),
    ("mode", Number),
    ("user", OWNER),
    ("group", OWNER),
]);
const DIRECTORY: Shape = Fields(&[
    ("path", Text),
    ("overwrite", Bool),
    ("mode", Number),
    ("user", OWNER),
    ("group", OWNER),
]);
const LINK: Shape = Fields(&[
    ("path", Text),
    ("overwrite", Bool),
    ("target", Text),
    ("hard", Bool),
    ("user", OWNER),
    ("group", OWNER),
]);
const UNIT: Shape = Fields(&[
    ("name", Text),
    ("enabled", Bool),
    ("mask", Bool),
    ("contents", Text),
    ("dropins", List(&Fields(&[("name", Text), ("contents", Text)]))),
]);
const CONFIG: Shape = Fields(&[
    ("passwd", Fields(&[("users", List(&USER)), ("groups", List(&GROUP))])),
    (
        "storage",
        Fields(&[
            ("files", List(&FILE)),
            ("directories", List(&DIRECTORY)),
            ("links", List(&LINK)),
        ]),
    ),
    ("systemd", Fields(&[("units", List(&UNIT))])),
    ("kernel_arguments", Fields(&[("should_exist", TEXTS), ("should_not_exist", TEXTS)])),
]);

/// The Ignition config of a Butane config.
pub(crate) fn ignition(config: &Map, field: &str) -> Result<Value, Error> {
    let text = |key: &str| config.get(key).and_then(Yaml::as_str).unwrap_or_default();
    let (variant, version) = (text("variant"), text("version"));
    let known = VERSIONS.iter().find(|(v, n, _)| (*v, *n) == (variant, version));
    let (_, _, ignition) = known.ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidUserData,
            field,
            format!("Butane {variant:?} {version:?} is not translated"),
            "use fcos 1.0.0 to 1.5.0 or flatcar 1.0.0 to 1.1.0, or translate it with butane",
        )
    })?;
    let mut rest = config.clone();
    rest.remove("variant");
    rest.remove("version");
    let mut translated = translate(&Yaml::Map(rest), &CONFIG, "").map_err(|(path, problem)| {
        let field = format!("{field}: {path}");
        let remedy = "leave it out, or translate the whole with butane and give the JSON";
        Error::new(ErrorKind::InvalidUserData, field, problem, remedy)
    })?;
    translated["ignition"] = json!({"version": ignition});
    Ok(translated)
}

type Refused = (String, String);

fn translate(value: &Yaml, shape: &Shape, path: &str) -> Result<Value, Refused> {
    let refuse = |needed: &str| {
        Err((path.to_owned(), format!("it is {}, and {needed} is needed", value.noun())))
    };
    match (shape, value) {
        (Fields(fields), Yaml::Map(map)) => object(map, fields, path).map(Value::Object),
        (Contents, Yaml::Map(map)) => contents(map, path),
        (List(shape), Yaml::List(list)) => {
            let items = list.iter().enumerate();
            let items = items.map(|(i, item)| translate(item, shape, &format!("{path}[{i}]")));
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        (Text, Yaml::Scalar(scalar)) if !scalar.is_null() => Ok(json!(scalar.text)),
        (Number, Yaml::Scalar(scalar)) => match number(&scalar.text) {
            Some(number) => Ok(json!(number)),
            None => refuse("a whole number"),
        },
        (Bool, Yaml::Scalar(scalar)) => match scalar.text.to_lowercase().as_str() {
            "true" => Ok(json!(true)),
            "false" => Ok(json!(false)),
            _ => refuse("true or false"),
        },
        (Fields(_) | Contents, _) => refuse("a map"),
        (List(_), _) => refuse("a list"),
        (Text, _) => refuse("a text"),
        (Number | Bool, _) => refuse("a single value"),
    }
}

fn object(
    map: &Map,
    fields: &[(&str, Shape)],
    path: &str,
) -> Result<Object<String, Value>, Refused> {
    let mut object = Object::new();
    for (key, value) in &map.0 {
        let path = if path.is_empty() { key.text.clone() } else { format!("{path}.{}", key.text) };
        let field = fields.iter().find(|(name, _)| *name == key.text);
        let (name, shape) =
            field.ok_or_else(|| (path.clone(), "it is not translated here".to_owned()))?;
        if !value.is_null() {
            object.insert(camel_case(name), translate(value, shape, &path)?);
        }
    }
    Ok(object)
}

fn contents(map: &Map, path: &str) -> Result<Value, Refused> {
    let mut object = object(map, &CONTENTS, path)?;
    if let Some(inline) = object.remove("inline") {
        if object.contains_key("source") {
            return Err((path.to_owned(), "it has inline and source".to_owned()));
        }
        object.insert("source".into(), json!(data_url(inline.as_str().unwrap_or_default())));
    }
    Ok(Value::Object(object))
}

/// Whole numbers as Butane reads them: `0644` and `0o644` are octal.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix("0o").or_else(|| text.strip_prefix('0'));
    match digits {
        Some(octal) if !octal.is_empty() => i64::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// `ssh_authorized_keys` is `sshAuthorizedKeys` in Ignition.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        text + &initial.to_uppercase() + rest
    })
}
