//! Prints values by a verb and its flags.

use crate::{
    budget::Writer,
    value::{List, Map, Pointer, Struct, Type, UintKind, Value},
};

/// What stands between the percent sign and the verb.
#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%+v`: fields with their names.
    pub(super) with_names: bool,
    /// `%#v`: the value as Go source.
    pub(super) as_source: bool,
}

pub(super) struct Printer {
    out: Writer,
    pub(super) flags: Flags,
}

impl Printer {
    pub(super) fn new(out: Writer) -> Self {
        Self { out, flags: Flags::default() }
    }

    pub(super) fn finish(self) -> Writer {
        self.out
    }

    pub(super) fn is_full(&self) -> bool {
        self.out.is_full()
    }

    pub(super) fn push(&mut self, text: impl AsRef<[u8]>) {
        self.out.push(text);
    }

    pub(super) fn repeat(&mut self, byte: u8, times: usize) {
        self.out.repeat(byte, times);
    }

    /// Prints an argument of a format. For `%v` two flags have another meaning.
    pub(super) fn verb(&mut self, value: &Value, verb: char) {
        if matches!(verb, 'v' | 'w') {
            self.flags.as_source = std::mem::take(&mut self.flags.sharp);
            self.flags.with_names = std::mem::take(&mut self.flags.plus);
        }
        self.argument(value, verb);
    }

    /// Says which arguments the format has no verbs for.
    pub(super) fn extra(&mut self, values: &[Value]) {
        self.push("%!(EXTRA ");
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            if let Value::Nil = value {
                self.push("<nil>");
            } else {
                self.push(format!("{}=", value.type_of()));
                self.argument(value, 'v');
            }
        }
        self.push(")");
    }

    pub(super) fn argument(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => self.pad(b"<nil>"),
            (Value::Nil, _) => self.bad_verb(None, verb),
            (_, 'T') => self.text(value.type_of().to_string().as_bytes()),
            // Go prints an address, which is another one every time.
            (_, 'p') => self.bad_verb(Some(value), verb),
            _ => self.value(value, verb, 0),
        }
    }

    pub(super) fn bad_verb(&mut self, value: Option<&Value>, verb: char) {
        self.push(format!("%!{verb}("));
        match value {
            None | Some(Value::Nil) => self.push("<nil>"),
            Some(value) => {
                self.push(format!("{}=", value.type_of()));
                self.value(value, 'v', 0);
            }
        }
        self.push(")");
    }

    fn value(&mut self, value: &Value, verb: char, depth: usize) {
        match value {
            Value::Nil if verb == 'v' => self.push("<nil>"),
            Value::Nil => self.bad_verb(None, verb),
            Value::Bool(flag) if matches!(verb, 't' | 'v') => {
                self.pad(if *flag { b"true" } else { b"false" });
            }
            Value::Bool(_) => self.bad_verb(Some(value), verb),
            Value::Int(_, number) => {
                self.whole(number.unsigned_abs(), *number < 0, true, value, verb);
            }
            Value::Uint(_, number) => self.whole(*number, false, false, value, verb),
            Value::Float(number) => self.float(*number, value, verb),
            Value::Text(text) => self.string(text.bytes(), value, verb),
            Value::List(list) => self.list(list, verb, depth),
            Value::Map(map) => self.map(map, verb, depth),
            Value::Struct(structure) => self.structure(structure, verb, depth),
            Value::Pointer(pointer) => self.pointer(pointer, value, verb, depth),
            Value::Function(_) => self.push(value.type_of().to_string()),
        }
    }

    /// A value in a place of a type, where Go's source shows the nil of an interface.
    fn item(&mut self, of: &Type, value: &Value, verb: char, depth: usize) {
        match value {
            Value::Nil if self.flags.as_source => self.push(format!("{of}(nil)")),
            // Whatever the verb is.
            Value::Nil => self.push("<nil>"),
            value => self.value(value, verb, depth + 1),
        }
    }

    fn separator(&mut self, index: usize) {
        match (index, self.flags.as_source) {
            (0, _) => {}
            (_, true) => self.push(", "),
            (_, false) => self.push(" "),
        }
    }

    fn list(&mut self, list: &List, verb: char, depth: usize) {
        let bytes = matches!(verb, 's' | 'q' | 'x' | 'X') && list.of == Type::Uint(UintKind::Uint8);
        if bytes {
            let bytes = list.items().iter().map(|item| match item {
                Value::Uint(_, byte) => *byte as u8,
                _ => 0,
            });
            let bytes: Vec<u8> = bytes.collect();
            return self.string(&bytes, &Value::List(list.clone()), verb);
        }
        if self.flags.as_source {
            self.push(format!("[]{}", list.of));
            if list.is_nil() {
                return self.push("(nil)");
            }
        }
        self.push(if self.flags.as_source { "{" } else { "[" });
        for (index, item) in list.items().iter().enumerate() {
            self.separator(index);
            self.item(&list.of, item, verb, depth);
        }
        self.push(if self.flags.as_source { "}" } else { "]" });
    }

    fn map(&mut self, map: &Map, verb: char, depth: usize) {
        if self.flags.as_source {
            self.push(format!("map[string]{}", map.of));
            if map.is_nil() {
                return self.push("(nil)");
            }
        }
        self.push(if self.flags.as_source { "{" } else { "map[" });
        for (index, (key, item)) in map.iter().enumerate() {
            self.separator(index);
            self.value(&Value::Text(key.clone()), verb, depth + 1);
            self.push(":");
            self.item(&map.of, item, verb, depth);
        }
        self.push(if self.flags.as_source { "}" } else { "]" });
    }

    fn structure(&mut self, structure: &Struct, verb: char, depth: usize) {
        if self.flags.as_source {
            self.push(structure.of.name());
        }
        self.push("{");
        for (index, (field, item)) in structure.fields().enumerate() {
            self.separator(index);
            if self.flags.as_source || self.flags.with_names {
                self.push(format!("{}:", field.name));
            }
            self.item(&field.of, item, verb, depth);
        }
        self.push("}");
    }

    /// Go prints addresses, but for pointers to structs, lists and maps that are not inside of
    /// others. Here what they point to is printed.
    fn pointer(&mut self, pointer: &Pointer, value: &Value, verb: char, depth: usize) {
        let Some(target) = &pointer.value else {
            return match (verb, self.flags.as_source) {
                ('v', true) => self.push(format!("({})(nil)", value.type_of())),
                ('v', false) => self.pad(b"<nil>"),
                ('b' | 'o' | 'd' | 'x' | 'X', _) => self.whole(0, false, false, value, verb),
                _ => self.bad_verb(Some(value), verb),
            };
        };
        let shown = matches!(**target, Value::List(_) | Value::Map(_) | Value::Struct(_));
        if shown && depth == 0 {
            self.push("&");
        }
        self.value(target, verb, depth + 1);
    }
}
