//! Templates drawn from a seed, over all actions and functions. Most of them suit the data.

use joiner_gotemplate::MissingKey;

/// Draws numbers that depend on the seed only (splitmix64).
struct Lots(u64);

impl Lots {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Whether something happens that happens once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<'c, T: ?Sized>(&mut self, choices: &[&'c T]) -> &'c T {
        choices[self.below(choices.len())]
    }
}

/// Templates, and what a key is worth that a map lacks.
pub(crate) fn templates(seed: u64, count: usize) -> Vec<(String, MissingKey)> {
    let mut lots = Lots(seed);
    (0..count)
        .map(|_| {
            let missing_key = match lots.below(6) {
                0 => MissingKey::Zero,
                1 => MissingKey::Error,
                _ => MissingKey::NoValue,
            };
            (template(&mut Lots(lots.next())), missing_key)
        })
        .collect()
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Int,
    Bool,
    Float,
    Texts,
    List,
    Map,
    /// Structs and pointers, which only documents show alike everywhere.
    Object,
    Any,
}

struct Writer<'l> {
    lots: &'l mut Lots,
    out: String,
    /// Variables that can be seen, with what they are.
    variables: Vec<(String, Kind)>,
    depth: usize,
    loops: usize,
    /// Whether `.` is the data of all.
    at_root: bool,
    definitions: usize,
    blocks: usize,
}

fn template(lots: &mut Lots) -> String {
    let mut writer = Writer {
        lots: &mut *lots,
        out: String::new(),
        variables: Vec::new(),
        depth: 0,
        loops: 0,
        at_root: true,
        definitions: 0,
        blocks: 0,
    };
    if writer.lots.once_in(6) {
        writer.definition();
    }
    let pieces = 1 + writer.lots.below(4);
    writer.pieces(pieces);
    let mut source = writer.out;
    if lots.once_in(25) {
        damage(lots, &mut source);
    }
    source
}

/// Changes a character, so that most templates of this kind cannot be parsed.
fn damage(lots: &mut Lots, source: &mut String) {
    let places: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
    if places.is_empty() {
        return;
    }
    let at = places[lots.below(places.len())];
    match lots.below(3) {
        0 => {
            source.remove(at);
        }
        1 => source
            .insert_str(at, lots.of(&["{{", "}}", "(", ")", "|", "\"", "'", "#", "é", ".", "$y"])),
        _ => source.truncate(at),
    }
}

const TEXTS: [&str; 10] =
    ["a", " b ", "\n", "  \n\t", "key: ", "- x\n", "", "{ }", "ünï", "#cloud-config\n"];

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn open(&mut self) {
        let open = self.lots.of(&["{{", "{{", "{{ ", "{{- "]);
        self.put(open);
    }

    fn close(&mut self) {
        let close = self.lots.of(&["}}", "}}", " }}", " -}}"]);
        self.put(close);
    }

    /// An action of words.
    fn action(&mut self, words: &str) {
        self.open();
        self.put(words);
        self.close();
    }

    fn pieces(&mut self, count: usize) {
        for _ in 0..count {
            self.piece();
        }
    }

    /// What is inside of an action that has an end; its variables are gone then.
    fn body(&mut self) {
        let known = self.variables.len();
        self.depth += 1;
        let pieces = self.lots.below(3);
        self.pieces(pieces);
        self.depth -= 1;
        self.variables.truncate(known);
    }

    fn piece(&mut self) {
        let deep = self.depth >= 3;
        match self.lots.below(if deep { 10 } else { 18 }) {
            0 | 1 => {
                let text = self.lots.of(&TEXTS);
                self.put(text);
            }
            2 => {
                let name = format!("$v{}", self.variables.len());
                let kind = self.kind();
                let value = self.pipeline(kind);
                self.action(&format!("{name} := {value}"));
                self.variables.push((name, kind));
            }
            3 => match self.variable() {
                Some((name, kind)) => {
                    let value = self.pipeline(kind);
                    self.action(&format!("{name} = {value}"));
                }
                None => self.put("-"),
            },
            4 => {
                let comment = self.lots.of(&["{{/* note */}}", "{{- /* two\nlines */ -}}"]);
                self.put(comment);
            }
            5 if self.loops > 0 => {
                let condition = self.pipeline(Kind::Bool);
                let word = self.lots.of(&["break", "continue"]);
                self.put(&format!("{{{{if {condition}}}}}{{{{{word}}}}}{{{{end}}}}"));
            }
            6 if self.definitions > 0 => {
                let which = self.lots.below(self.definitions + 1);
                let kind = self.kind();
                let value = self.pipeline(kind);
                self.action(&format!("template \"part{which}\" {value}"));
            }
            5..=9 => {
                let kind = self.printable();
                let value = self.pipeline(kind);
                self.action(&value);
            }
            10..=12 => self.condition("if"),
            13 | 14 => self.condition("with"),
            15 | 16 => self.turns(),
            _ => self.block(),
        }
    }

    fn condition(&mut self, word: &str) {
        let known = self.variables.len();
        let at_root = self.at_root;
        let kind = self.kind();
        let value = self.pipeline(kind);
        let declared = self.lots.once_in(4).then(|| format!("$w{known}"));
        let declares = declared.as_ref().map(|name| format!("{name} := ")).unwrap_or_default();
        self.action(&format!("{word} {declares}{value}"));
        self.variables.extend(declared.map(|name| (name, kind)));
        self.at_root &= word == "if";
        self.body();
        self.at_root = at_root;
        if self.lots.once_in(4) {
            let condition = self.pipeline(Kind::Any);
            self.action(&format!("else {word} {condition}"));
            self.at_root &= word == "if";
            self.body();
            self.at_root = at_root;
        }
        if self.lots.once_in(2) {
            self.action("else");
            self.body();
        }
        self.action("end");
        self.variables.truncate(known);
    }

    fn turns(&mut self) {
        let known = self.variables.len();
        let kind = [Kind::Texts, Kind::List, Kind::Map, Kind::Int, Kind::Any][self.lots.below(5)];
        let value = match kind {
            // A loop over a number must not be long.
            Kind::Int => self.lots.below(5).to_string(),
            kind => self.pipeline(kind),
        };
        let (first, second) = (format!("$i{known}"), format!("$e{known}"));
        match self.lots.below(4) {
            0 => {
                self.action(&format!("range {first}, {second} := {value}"));
                self.variables.extend([(first, Kind::Any), (second, Kind::Any)]);
            }
            1 => {
                self.action(&format!("range {second} := {value}"));
                self.variables.push((second, Kind::Any));
            }
            2 if known > 0 => {
                let name = self.variables[self.lots.below(known)].0.clone();
                self.action(&format!("range {name} = {value}"));
            }
            _ => self.action(&format!("range {value}")),
        }
        let at_root = std::mem::replace(&mut self.at_root, false);
        self.loops += 1;
        self.body();
        self.loops -= 1;
        self.at_root = at_root;
        if self.lots.once_in(3) {
            self.action("else");
            self.body();
        }
        self.action("end");
        self.variables.truncate(known);
    }

    /// A definition, or a block: it knows nothing of what is around it.
    fn separate(&mut self) {
        let variables = std::mem::take(&mut self.variables);
        let (loops, at_root) = (self.loops, self.at_root);
        (self.loops, self.at_root) = (0, false);
        self.body();
        (self.loops, self.at_root) = (loops, at_root);
        self.variables = variables;
        self.action("end");
    }

    fn definition(&mut self) {
        let name = self.definitions;
        self.action(&format!("define \"part{name}\""));
        self.separate();
        self.definitions += 1;
    }

    fn block(&mut self) {
        let kind = self.kind();
        let value = self.pipeline(kind);
        // Each has a name of its own: one that calls itself would go deeper than here is allowed.
        self.blocks += 1;
        let name = self.blocks;
        self.action(&format!("block \"block{name}\" {value}"));
        self.separate();
    }

    fn variable(&mut self) -> Option<(String, Kind)> {
        if self.variables.is_empty() {
            return None;
        }
        let which = self.lots.below(self.variables.len());
        Some(self.variables[which].clone())
    }

    fn kind(&mut self) -> Kind {
        use Kind::{Any, Bool, Float, Int, List, Map, Text, Texts};
        [Text, Text, Int, Bool, Float, Texts, List, Map, Any][self.lots.below(9)]
    }

    fn printable(&mut self) -> Kind {
        if self.lots.once_in(12) { Kind::Object } else { self.kind() }
    }

    /// Commands with bars between them.
    fn pipeline(&mut self, kind: Kind) -> String {
        // Now and then what does not suit.
        let kind = if self.lots.once_in(40) { self.kind() } else { kind };
        match self.lots.below(5) {
            0 => self.term(kind, 2),
            1 => {
                let value = self.call(kind, 2);
                value.replacen('(', "", 1).strip_suffix(')').map_or(value.clone(), str::to_owned)
            }
            2 => self.piped(kind),
            _ => self.value(kind, 2),
        }
    }

    /// A value that goes through functions.
    fn piped(&mut self, kind: Kind) -> String {
        let (from, functions): (Kind, &[&str]) = match kind {
            Kind::Text => (
                Kind::Text,
                &[
                    "upper",
                    "lower",
                    "trim",
                    "quote",
                    "html",
                    "js",
                    "urlquery",
                    "b64enc",
                    "print",
                    "println",
                    "indent 2",
                    "nindent 3",
                    "printf \"%s|\"",
                    "printf `%q`",
                    "default \"d\"",
                    "trimPrefix \"H\"",
                    "trimSuffix \"o\"",
                    "replace \"o\" \"0\"",
                    "toJson",
                    "toYaml",
                ],
            ),
            Kind::Int => (Kind::Text, &["len"]),
            Kind::Bool => (Kind::Any, &["not", "empty", "eq 42", "ne \"a\""]),
            Kind::Texts => (Kind::Text, &["split \"a,b,c\"", "split . "]),
            Kind::Any => {
                (Kind::Any, &["default 5", "coalesce nil", "and 1", "or 0", "index .list"])
            }
            kind => return self.value(kind, 1),
        };
        let mut text = self.value(from, 1);
        for _ in 0..=self.lots.below(2) {
            let function = self.lots.of(functions);
            text = format!("{text} | {function}");
            if kind != Kind::Text {
                break;
            }
        }
        text
    }

    fn value(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 || self.lots.once_in(2) {
            self.term(kind, depth)
        } else {
            self.call(kind, depth)
        }
    }

    /// A constant, a field or a variable.
    fn term(&mut self, kind: Kind, depth: usize) -> String {
        let suits = |known: Kind| known == kind || kind == Kind::Any && known != Kind::Object;
        let variables: Vec<String> = self
            .variables
            .iter()
            .filter(|(_, known)| suits(*known))
            .map(|(name, _)| name.clone())
            .collect();
        if !variables.is_empty() && self.lots.once_in(2) {
            return variables[self.lots.below(variables.len())].clone();
        }
        if !self.at_root && kind == Kind::Any && self.lots.once_in(2) {
            return ".".to_owned();
        }
        if self.lots.once_in(3)
            && let Some(constant) = self.constant(kind)
        {
            return constant;
        }
        let path = self.path(kind);
        let root = if self.at_root && self.lots.once_in(2) { "" } else { "$" };
        let text = format!("{root}{path}");
        if depth > 0 && self.lots.once_in(10) { format!("({text})") } else { text }
    }

    fn constant(&mut self, kind: Kind) -> Option<String> {
        let text = match kind {
            Kind::Text => self.lots.of(&[
                "\"text\"",
                "`raw \"x\"`",
                "\"a,b\"",
                "\"\\t\\u00e9\\xff\"",
                "\"\"",
                "\"<&>\"",
                "\"yes\"",
                "\"1.5\"",
                "\"0x10\"",
                "\"12:30\"",
                "\"2024-02-29\"",
                "\"- a: b\"",
                "\"null\"",
                "\" x\"",
                "\"a: b # c\"",
                "\"two\\nlines\"",
                "\"\\n x\"",
                "\"~\"",
                "\"k=v;m=n\"",
                "\"1_000\"",
            ]),
            Kind::Int => self.lots.of(&[
                "0", "1", "2", "-3", "0x1F", "0b101", "0o17", "017", "1_0", "'\\n'", "3", "+5",
                "42",
            ]),
            Kind::Float => self
                .lots
                .of(&["1.5", "-0.0", "1e6", "2.5e-7", "0x1p-2", "100.0", ".5", "1e21", "3."]),
            Kind::Bool => self.lots.of(&["true", "false"]),
            Kind::Any => self.lots.of(&["1", "\"x\"", "true", "2.5", "nil"]),
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn path(&mut self, kind: Kind) -> &'static str {
        match kind {
            Kind::Text => self.lots.of(&[
                ".text",
                ".markup",
                ".lines",
                ".raw",
                ".empty",
                ".node.Metadata.Hostname",
                ".map.a",
                ".node.Values.K3sURL",
                ".node.Kubernetes.RootCA",
                ".node.Metadata.InstanceID",
                ".any.Inner.Key",
                ".taint.Key",
            ]),
            Kind::Int => self.lots.of(&[
                ".int",
                ".minus",
                ".zero",
                ".int32",
                ".uint",
                ".nested.deep.key",
                ".node.Resources.CPU",
                ".node.Resources.Hugepages2Mi",
            ]),
            Kind::Bool => self.lots.of(&[".yes", ".no", ".flags.on", ".flags.off"]),
            Kind::Float => self.lots.of(&[".float", ".any.Ratio"]),
            Kind::Texts => self.lots.of(&[
                ".texts",
                ".nilList",
                ".node.Metadata.Tags",
                ".node.Network.NameServers",
                ".node.Network.SearchDomains",
            ]),
            Kind::List => self.lots.of(&[
                ".list",
                ".ints",
                ".floats",
                ".emptyList",
                ".any.Any",
                ".node.Network.Interfaces",
            ]),
            Kind::Map => self.lots.of(&[
                ".map",
                ".flags",
                ".nilMap",
                ".nested",
                ".node.Values",
                ".nested.deep",
            ]),
            Kind::Object => self.lots.of(&[
                ".pointer",
                ".node.Metadata",
                ".node.Network",
                ".node.Resources",
                ".any.Inner",
                ".nilPointer",
            ]),
            Kind::Any => self.lots.of(&[
                ".text",
                ".int",
                ".none",
                ".yes",
                ".float",
                ".list",
                ".map",
                ".nothing",
                ".nothing.more",
                ".none.more",
                ".map.none",
                ".nested.nil",
                ".text.more",
                ".node.Metadata.None",
                ".ints",
                ".nilPointer.Key",
                ".taint.None",
                ".nilMap.x",
            ]),
        }
    }

    /// Arguments of kinds, with spaces between them.
    fn arguments(&mut self, kinds: &[Kind], depth: usize) -> String {
        let values: Vec<String> = kinds
            .iter()
            .map(|kind| {
                // Too few and unsuitable arguments come up as well.
                let kind = if self.lots.once_in(60) { self.kind() } else { *kind };
                self.value(kind, depth)
            })
            .collect();
        values.join(" ")
    }

    /// A call in parentheses.
    fn call(&mut self, kind: Kind, depth: usize) -> String {
        let functions = calls(kind);
        let (name, kinds) = functions[self.lots.below(functions.len())];
        let text = match name {
            "printf" => self.format(depth - 1),
            "slice" if kinds.is_empty() => {
                let text = self.value(Kind::Text, 0);
                let (start, end) = (self.lots.below(4), self.lots.below(6));
                format!("slice {text} {start} {end}")
            }
            name => format!("{name} {}", self.arguments(kinds, depth - 1)),
        };
        format!("({})", text.trim_end())
    }

    /// A call of `printf` with as many arguments as there are verbs, most of the time.
    fn format(&mut self, depth: usize) -> String {
        let (mut format, mut arguments) = (String::new(), String::new());
        for _ in 0..=self.lots.below(3) {
            let kind = match self.lots.below(5) {
                0 => Kind::Text,
                1 => Kind::Int,
                2 => Kind::Float,
                3 => Kind::Bool,
                _ => self.kind(),
            };
            let verbs = match kind {
                Kind::Text => "sqvxXvT",
                Kind::Int => "dvxXobcqUOvT",
                Kind::Float => "feEgGvFxbX",
                Kind::Bool => "tv",
                _ => "vdsTq",
            };
            let verb = if self.lots.once_in(25) { "sdqtxez%w!" } else { verbs };
            let verb = char::from(verb.as_bytes()[self.lots.below(verb.len())]);
            let flags = self.lots.of(&["", "", "", "#", "+", "-", " ", "0", "+0", "#+", "-0"]);
            let width = self.lots.of(&["", "", "", "8", "3", "20"]);
            let precision = self.lots.of(&["", "", "", ".2", ".0", ".5", "."]);
            let text = self.lots.of(&["", " ", "|", "é"]);
            format = format!("{format}{text}%{flags}{width}{precision}{verb}");
            if !self.lots.once_in(30) {
                let value = self.value(kind, depth);
                arguments = format!("{arguments} {value}");
            }
        }
        if self.lots.once_in(12) {
            format.push_str(self.lots.of(&["%[1]v", "%[2]d", "%[9]s", "%*d", "%.*f", "%[1", "%"]));
        }
        format!("printf \"{format}\"{arguments}")
    }
}

/// What calls can begin with, and of what kinds the arguments behind that are.
type Calls = &'static [(&'static str, &'static [Kind])];

/// Calls that give a value of a kind.
fn calls(kind: Kind) -> Calls {
    match kind {
        Kind::Text => TEXT_CALLS,
        Kind::Int => INT_CALLS,
        Kind::Bool => BOOL_CALLS,
        Kind::Float => FLOAT_CALLS,
        Kind::Texts => TEXTS_CALLS,
        Kind::List => LIST_CALLS,
        Kind::Map => MAP_CALLS,
        Kind::Object => OBJECT_CALLS,
        Kind::Any => ANY_CALLS,
    }
}

const TEXT_CALLS: Calls = &[
    ("print", &[Kind::Any, Kind::Any]),
    ("print", &[Kind::Int, Kind::Int, Kind::Text]),
    ("println", &[Kind::Any, Kind::Text]),
    ("print $.big $.any.Small", &[Kind::Int]),
    ("printf `%d|%x|%v|%T` $.big $.big $.big", &[Kind::Int]),
    ("printf", &[]),
    ("html", &[Kind::Any]),
    ("html", &[Kind::Text]),
    ("js", &[Kind::Text]),
    ("urlquery", &[Kind::Text]),
    ("slice", &[]),
    ("indent 2", &[Kind::Text]),
    ("nindent 4", &[Kind::Text]),
    ("quote", &[Kind::Any, Kind::Text]),
    ("quote", &[Kind::Float, Kind::Bool]),
    ("upper", &[Kind::Text]),
    ("lower", &[Kind::Text]),
    ("trim", &[Kind::Text]),
    ("trimSuffix", &[Kind::Text, Kind::Text]),
    ("trimPrefix", &[Kind::Text, Kind::Text]),
    ("getValue", &[Kind::Text, Kind::Text]),
    ("getValue $.node.Values.settings", &[Kind::Text]),
    ("join", &[Kind::Texts, Kind::Text]),
    ("replace", &[Kind::Text, Kind::Text, Kind::Text]),
    ("b64enc", &[Kind::Text]),
    ("b64dec", &[Kind::Text]),
    ("b64dec (b64enc $.raw) | print", &[Kind::Text]),
    ("toJson", &[Kind::Any]),
    ("toJson", &[Kind::Object]),
    ("toPrettyJson", &[Kind::List]),
    ("toPrettyJson", &[Kind::Map]),
    ("toYaml", &[Kind::Any]),
    ("toYaml", &[Kind::Object]),
    ("toYamlPretty", &[Kind::Map]),
    ("toPrettyYaml", &[Kind::List]),
    ("regexFind `[a-z]+`", &[Kind::Text]),
    ("regexFind `(?i)W.*\\d?$`", &[Kind::Text]),
    ("regexFindString `(\\w)(\\W|$)`", &[Kind::Text, Kind::Int]),
    ("regexReplaceAll `(\\w)\\w` `Hello you` ", &[Kind::Text]),
    ("regexReplaceAll `o|l+`", &[Kind::Text, Kind::Text]),
    ("regexReplaceAll `(?P<x>[a-c])` $.text", &[Kind::Text]),
    ("cidrhost `10.1.2.3/20`", &[Kind::Int]),
    ("cidrhost", &[Kind::Text]),
    ("cidrslaac `00:1A:2B:3C:4D:5E` `2001:db8:1::/64` | print", &[Kind::Text]),
    ("get $.node.Values", &[Kind::Text]),
    ("get $.map", &[Kind::Text]),
    ("default", &[Kind::Text, Kind::Text]),
    ("call $.shout", &[Kind::Text, Kind::Int]),
    ("ternary", &[Kind::Text, Kind::Text, Kind::Bool]),
    ("index $.texts", &[Kind::Int]),
    ("index $.map", &[Kind::Text]),
];

const INT_CALLS: Calls = &[
    ("len", &[Kind::Text]),
    ("len", &[Kind::List]),
    ("len", &[Kind::Map]),
    ("len", &[Kind::Any]),
    ("index $.ints", &[Kind::Int]),
    ("index $.text", &[Kind::Int]),
    ("call $.add", &[Kind::Int, Kind::Int]),
    ("ternary", &[Kind::Int, Kind::Int, Kind::Bool]),
    ("default", &[Kind::Int, Kind::Int]),
];

const BOOL_CALLS: Calls = &[
    ("not", &[Kind::Any]),
    ("eq", &[Kind::Int, Kind::Int, Kind::Int]),
    ("eq", &[Kind::Text, Kind::Text]),
    ("eq", &[Kind::Any, Kind::Any]),
    ("eq", &[Kind::Float, Kind::Float]),
    ("ne", &[Kind::Any, Kind::Any]),
    ("eq $.big", &[Kind::Int]),
    ("lt $.big", &[Kind::Int]),
    ("lt", &[Kind::Int, Kind::Int]),
    ("le", &[Kind::Text, Kind::Text]),
    ("gt", &[Kind::Float, Kind::Float]),
    ("ge", &[Kind::Int, Kind::Int]),
    ("lt", &[Kind::Any, Kind::Any]),
    ("eq", &[Kind::Map, Kind::Any]),
    ("empty", &[Kind::Any]),
    ("empty", &[Kind::Texts]),
    ("contains", &[Kind::Text, Kind::Text]),
    ("hasPrefix", &[Kind::Text, Kind::Text]),
    ("hasSuffix", &[Kind::Text, Kind::Text]),
    ("hasKey", &[Kind::Map, Kind::Text]),
    ("hasTag", &[Kind::Texts, Kind::Text]),
];

const FLOAT_CALLS: Calls =
    &[("index $.floats", &[Kind::Int]), ("default", &[Kind::Float, Kind::Float])];

const TEXTS_CALLS: Calls = &[
    ("split", &[Kind::Text, Kind::Text]),
    ("split $.text", &[Kind::Text]),
    ("slice $.texts", &[Kind::Int]),
];

const LIST_CALLS: Calls = &[
    ("slice $.list", &[Kind::Int]),
    ("slice $.ints 0", &[Kind::Int]),
    ("slice $.ints 0 1", &[Kind::Int]),
];

const MAP_CALLS: Calls =
    &[("index $.nested `deep` | default", &[Kind::Map]), ("default", &[Kind::Map, Kind::Map])];

const OBJECT_CALLS: Calls = &[("index $.node.Network.Interfaces", &[Kind::Int])];

const ANY_CALLS: Calls = &[
    ("and", &[Kind::Any, Kind::Any]),
    ("and", &[Kind::Bool, Kind::Any, Kind::Any]),
    ("or", &[Kind::Any, Kind::Any]),
    ("index $.list", &[Kind::Int]),
    ("index $.nested", &[Kind::Text, Kind::Text]),
    ("coalesce", &[Kind::Any, Kind::Any, Kind::Any]),
    ("default", &[Kind::Any, Kind::Any]),
    ("ternary", &[Kind::Any, Kind::Any, Kind::Bool]),
    ("call $.int", &[Kind::Int]),
    ("index", &[Kind::Any, Kind::Int]),
    ("slice", &[Kind::Text, Kind::Int]),
];
