//! The types that Kubernetes' objects are made of, read from `facts/types.txt`.

use std::sync::{Arc, LazyLock, OnceLock};

use joiner_schema::Schema;
use rustc_hash::FxHashMap;

/// All types.
pub(crate) struct Types {
    structs: Vec<Struct>,
    by_name: FxHashMap<&'static str, usize>,
}

/// A struct of Go: an object with known fields.
pub(crate) struct Struct {
    /// Package, version and name, such as `core.v1.PodSpec`.
    pub(crate) name: &'static str,
    /// Whether merges replace it as a whole.
    pub(crate) atomic: bool,
    /// Its fields, sorted by name.
    pub(crate) fields: Vec<Field>,
    /// Where in that list a field is.
    places: FxHashMap<&'static str, usize>,
    /// Its schema, made when first asked for.
    pub(crate) schema: OnceLock<Arc<Schema>>,
}

/// A field of a struct.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Which field of the struct it is in Go.
    pub(crate) place: usize,
    pub(crate) held: Held,
    /// Whether it is written even when it is empty.
    pub(crate) keep: bool,
    pub(crate) required: bool,
    /// Whether it belongs to a feature that is off by default: what is written into it is dropped.
    pub(crate) off: bool,
    /// The embedded structs that Go names on the way to the field.
    pub(crate) inside: Option<&'static str>,
    /// What OpenAPI says about merging and defaults, as written in the facts.
    pub(crate) merging: Vec<&'static str>,
}

/// How Go holds a value.
pub(crate) struct Held {
    /// Whether it is a pointer: "not given" is then another value than "empty".
    pub(crate) pointer: bool,
    /// The name of its type, where it is a named type and no struct.
    pub(crate) alias: Option<&'static str>,
    pub(crate) shape: Shape,
}

/// What a value looks like in JSON.
pub(crate) enum Shape {
    Bool,
    /// An integer, with the number of its bits.
    Integer(u8),
    Float,
    String,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Any JSON: it is stored as it comes.
    Any,
    List(Box<Held>),
    /// A map, with the name of its keys' type.
    Map(&'static str, Box<Held>),
    Struct(usize),
}

static TYPES: LazyLock<Types> = LazyLock::new(|| {
    let mut types = Types::parse(include_str!("../facts/types.txt"));
    for line in include_str!("../facts/off.txt").lines() {
        types.switch_off(line);
    }
    types
});

/// All types.
pub(crate) fn types() -> &'static Types {
    &TYPES
}

impl Types {
    /// A type by its name.
    pub(crate) fn named(&self, name: &str) -> Option<&Struct> {
        self.index_of(name).map(|index| &self.structs[index])
    }

    /// The number of a type by its name.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// All types, in the order of the numbers that [`Shape::Struct`] holds.
    pub(crate) fn all(&self) -> &[Struct] {
        &self.structs
    }

    /// A type by the number that [`Shape::Struct`] holds.
    pub(crate) fn at(&self, index: usize) -> &Struct {
        &self.structs[index]
    }

    fn switch_off(&mut self, line: &str) {
        let (type_name, name) = line.split_once(' ').expect("type and field");
        let index = self.index_of(type_name).expect("a type of the facts");
        let fields = &mut self.structs[index].fields;
        let field = fields.iter_mut().find(|field| field.name == name);
        field.expect("a field of the type").off = true;
    }

    fn parse(text: &'static str) -> Self {
        let mut aliases = FxHashMap::default();
        let mut by_name = FxHashMap::default();
        for line in text.lines() {
            if let Some(alias) = line.strip_prefix("= ") {
                aliases.extend(alias.split_once(' '));
            } else if !line.starts_with(' ') {
                by_name.insert(line.split(' ').next().unwrap_or(line), by_name.len());
            }
        }
        let reader = Reader { aliases, by_name };
        let mut structs: Vec<Struct> = Vec::with_capacity(reader.by_name.len());
        for line in text.lines().filter(|line| !line.starts_with('=')) {
            if let Some(field) = line.strip_prefix(' ') {
                let owner = structs.last_mut().expect("a field follows its struct");
                let place = owner.fields.len();
                owner.fields.push(Field { place, ..reader.field(field) });
            } else {
                let (name, flag) = line.split_once(' ').unwrap_or((line, ""));
                let atomic = flag == "atomic";
                structs.push(Struct {
                    name,
                    atomic,
                    fields: Vec::new(),
                    places: FxHashMap::default(),
                    schema: OnceLock::new(),
                });
            }
        }
        for one in &mut structs {
            one.fields.sort_by_key(|field| field.name);
            one.places = one.fields.iter().enumerate().map(|(at, one)| (one.name, at)).collect();
        }
        Self { structs, by_name: reader.by_name }
    }
}

impl Struct {
    /// One of its fields.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.places.get(name).map(|place| &self.fields[*place])
    }

    /// The name that Go's errors use, without the package.
    pub(crate) fn go_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

impl Held {
    /// The name of the type in Go's errors; of what a pointer points at.
    pub(crate) fn go_name(&self) -> String {
        if let Some(alias) = self.alias {
            return qualified(alias);
        }
        match &self.shape {
            Shape::Bool => "bool".to_owned(),
            Shape::Integer(bits) => format!("int{bits}"),
            Shape::Float => "float64".to_owned(),
            Shape::Bytes => "[]uint8".to_owned(),
            Shape::List(entry) => format!("[]{}", entry.go_pointer_name()),
            Shape::Map(key, value) => format!("map[{}]{}", qualified(key), value.go_pointer_name()),
            Shape::Struct(index) => qualified(types().at(*index).name),
            Shape::IntOrString => "intstr.IntOrString".to_owned(),
            Shape::Quantity => "resource.Quantity".to_owned(),
            Shape::Time => "v1.Time".to_owned(),
            Shape::MicroTime => "v1.MicroTime".to_owned(),
            Shape::String | Shape::Any => "string".to_owned(),
        }
    }

    fn go_pointer_name(&self) -> String {
        if self.pointer { format!("*{}", self.go_name()) } else { self.go_name() }
    }
}

/// The last two parts of a name: Go names the last part of a package's path only.
fn qualified(name: &str) -> String {
    let from = name.match_indices('.').rev().nth(1).map_or(0, |(at, _)| at + 1);
    name[from..].to_owned()
}

/// What is known while types are read.
struct Reader {
    aliases: FxHashMap<&'static str, &'static str>,
    by_name: FxHashMap<&'static str, usize>,
}

impl Reader {
    fn field(&self, line: &'static str) -> Field {
        let mut words = line.splitn(3, ' ');
        let name = words.next().unwrap_or_default();
        let held = self.held(words.next().unwrap_or_default());
        let mut field = Field {
            name,
            place: 0,
            held,
            keep: false,
            required: false,
            off: false,
            inside: None,
            merging: Vec::new(),
        };
        let mut zero = false;
        for flag in words.next().unwrap_or_default().split(' ').filter(|flag| !flag.is_empty()) {
            match flag {
                "keep" => field.keep = true,
                "zero" => zero = true,
                "required" => field.required = true,
                flag => match flag.strip_prefix("in=") {
                    Some(inside) => field.inside = Some(inside),
                    None => field.merging.push(flag),
                },
            }
        }
        // Go never finds a struct empty, unless its tag asks for the zero value.
        field.keep |= !zero && !field.held.pointer && field.held.shape.is_struct();
        field
    }

    fn held(&self, notation: &'static str) -> Held {
        if let Some(target) = notation.strip_prefix('*') {
            return Held { pointer: true, ..self.held(target) };
        }
        if let Some(target) = self.aliases.get(notation) {
            return Held { alias: Some(notation), ..self.held(target) };
        }
        Held { pointer: false, alias: None, shape: self.shape(notation) }
    }

    fn shape(&self, notation: &'static str) -> Shape {
        match notation {
            "bool" => Shape::Bool,
            "int32" => Shape::Integer(32),
            "int64" => Shape::Integer(64),
            "float64" => Shape::Float,
            "string" => Shape::String,
            "[]byte" => Shape::Bytes,
            "meta.v1.Time" => Shape::Time,
            "meta.v1.MicroTime" => Shape::MicroTime,
            "api.resource.Quantity" => Shape::Quantity,
            "util.intstr.IntOrString" => Shape::IntOrString,
            "runtime.RawExtension"
            | "meta.v1.FieldsV1"
            | "apiextensions.v1.JSON"
            | "apiextensions.v1.JSONSchemaProps" => Shape::Any,
            _ => {
                if let Some(entry) = notation.strip_prefix("[]") {
                    Shape::List(Box::new(self.held(entry)))
                } else if let Some((key, value)) =
                    notation.strip_prefix("map[").and_then(|map| map.split_once(']'))
                {
                    Shape::Map(key, Box::new(self.held(value)))
                } else {
                    let index = self.by_name.get(notation);
                    Shape::Struct(*index.unwrap_or_else(|| unreachable!("no type {notation}")))
                }
            }
        }
    }
}

impl Shape {
    /// Whether Go holds it as a struct.
    fn is_struct(&self) -> bool {
        matches!(
            self,
            Self::Struct(_)
                | Self::Time
                | Self::MicroTime
                | Self::Quantity
                | Self::IntOrString
                | Self::Any
        )
    }
}
