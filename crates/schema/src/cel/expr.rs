//! Expressions, as the evaluator has them.
//!
//! The `cel` crate parses; macros are expanded here rather than there, into loops that the
//! evaluator runs directly.

use cel::common::ast::{CallExpr, EntryExpr, Expr as Parsed, IdedExpr, LiteralValue, SelectExpr};

use super::{
    functions,
    source::{Issue, Source},
};

/// An expression and its place in the source.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) id: u64,
    pub(super) kind: Kind,
}

/// The sorts of expressions.
#[derive(Debug)]
pub(super) enum Kind {
    Literal(Literal),
    Ident(String),
    /// `operand.field`, or `operand.?field`.
    Select {
        operand: Box<Expr>,
        field: String,
        optional: bool,
    },
    /// `has(operand.field)`.
    Has {
        operand: Box<Expr>,
        field: String,
    },
    /// `[a, ?b]`: entries, and whether each is optional.
    List(Vec<(Expr, bool)>),
    /// `{k: v, ?k: v}`.
    Map(Vec<(Expr, Expr, bool)>),
    Call {
        function: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    /// A loop over a list or a map.
    Loop(Box<Loop>),
    /// `target.optMap(variable, body)`, or `optFlatMap` when `flat`.
    OptionalMap {
        target: Box<Expr>,
        variable: String,
        body: Box<Expr>,
        flat: bool,
    },
}

/// A macro over a range.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) what: LoopKind,
    pub(super) range: Expr,
    pub(super) variable: String,
    /// The second variable: values, when the first has indices or keys.
    pub(super) second: Option<String>,
    /// Which entries are looked at.
    pub(super) filter: Option<Expr>,
    /// What is tested or made of each entry.
    pub(super) body: Expr,
}

/// What a loop is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    /// A list of what is made of entries.
    Map,
    /// A list of the entries for which the test is true.
    Filter,
    /// A map from the same keys to what is made of entries.
    TransformMap,
    /// A map of the entries of the maps that are made of entries.
    TransformMapEntry,
    /// The list, ordered by what is made of entries.
    SortBy,
}

#[derive(Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// Parses an expression, or says what is wrong with it in cel-go's words.
pub(super) fn parse(text: &str) -> Result<(Expr, Source), String> {
    let parser = cel::Env::default().with_optional_support(true).parser();
    let (parsed, info) = parser.parse_with_source_info(text).map_err(|errors| {
        let source = Source::new(text, None);
        let issues = errors.errors.iter().map(|error| {
            let (line, column) = error.pos;
            let line = usize::try_from(line).unwrap_or(1).max(1);
            let column = usize::try_from(column).unwrap_or(1).max(1);
            source.show(line, column, &error.msg)
        });
        issues.collect::<Vec<_>>().join("\n")
    })?;
    let source = Source::new(text, Some(info));
    let mut issues = Vec::new();
    let expr = translate(parsed, &mut issues);
    if issues.is_empty() { Ok((expr, source)) } else { Err(source.show_issues(&issues)) }
}

fn translate(parsed: IdedExpr, issues: &mut Vec<Issue>) -> Expr {
    let id = parsed.id;
    let kind = match parsed.expr {
        Parsed::Unspecified => Kind::Literal(Literal::Null),
        Parsed::Literal(literal) => Kind::Literal(translate_literal(literal)),
        Parsed::Ident(name) => Kind::Ident(name),
        Parsed::Select(SelectExpr { operand, field, .. }) => {
            Kind::Select { operand: Box::new(translate(*operand, issues)), field, optional: false }
        }
        Parsed::List(list) => {
            let optional = list.optional_indices;
            let entries = list.elements.into_iter().enumerate();
            Kind::List(
                entries
                    .map(|(i, entry)| (translate(entry, issues), optional.contains(&i)))
                    .collect(),
            )
        }
        Parsed::Map(map) => Kind::Map(
            map.entries
                .into_iter()
                .filter_map(|entry| match entry.expr {
                    EntryExpr::MapEntry(entry) => Some((
                        translate(entry.key, issues),
                        translate(entry.value, issues),
                        entry.optional,
                    )),
                    EntryExpr::StructField(_) => None,
                })
                .collect(),
        ),
        Parsed::Call(call) => return translate_call(id, call, issues),
        Parsed::Struct(message) => {
            let name = message.type_name;
            issues.push(Issue::new(
                id,
                format!("undeclared reference to '{name}' (in container '')"),
            ));
            Kind::Literal(Literal::Null)
        }
        Parsed::Comprehension(_) => {
            issues.push(Issue::new(id, "unexpected comprehension".to_owned()));
            Kind::Literal(Literal::Null)
        }
    };
    Expr { id, kind }
}

fn translate_literal(literal: LiteralValue) -> Literal {
    match literal {
        LiteralValue::Null => Literal::Null,
        LiteralValue::Boolean(flag) => Literal::Bool(*flag.inner()),
        LiteralValue::Int(number) => Literal::Int(*number.inner()),
        LiteralValue::UInt(number) => Literal::Uint(*number.inner()),
        LiteralValue::Double(number) => Literal::Double(*number.inner()),
        LiteralValue::String(text) => Literal::Text(text.inner().to_owned()),
        LiteralValue::Bytes(bytes) => Literal::Bytes(bytes.inner().to_vec()),
    }
}

fn translate_call(id: u64, call: CallExpr, issues: &mut Vec<Issue>) -> Expr {
    let CallExpr { func_name: function, target, args } = call;
    let args: Vec<Expr> = args.into_iter().map(|arg| translate(arg, issues)).collect();
    let target = target.map(|target| Box::new(translate(*target, issues)));
    let (function, target) = match target {
        Some(target) => match namespaced(&target, &function) {
            Some(function) => (function, None),
            None => (function, Some(target)),
        },
        None => (function, None),
    };
    let kind = match (function.as_str(), target, args.len()) {
        ("has", None, 1) => has(args, issues),
        ("_?._", None, 2) => optional_select(function, args),
        ("optMap" | "optFlatMap", Some(target), 2) => {
            optional_map(function == "optFlatMap", target, args, issues)
        }
        (_, Some(target), count) if loop_kind(&function, count).is_some() => {
            translate_loop(&function, *target, args, issues)
        }
        (_, target, _) => Kind::Call { function, target, args },
    };
    Expr { id, kind }
}

/// The full name of a function that is called like a method of its library: `sets.contains`.
fn namespaced(target: &Expr, function: &str) -> Option<String> {
    let Kind::Ident(library) = &target.kind else { return None };
    let name = format!("{library}.{function}");
    functions::overloads(&name).map(|_| name)
}

fn has(mut args: Vec<Expr>, issues: &mut Vec<Issue>) -> Kind {
    match args.pop() {
        Some(Expr { kind: Kind::Select { operand, field, .. }, .. }) => {
            Kind::Has { operand, field }
        }
        other => {
            let id = other.map_or(0, |arg| arg.id);
            issues.push(Issue::new(id, "invalid argument to has() macro".to_owned()));
            Kind::Literal(Literal::Null)
        }
    }
}

fn optional_select(function: String, mut args: Vec<Expr>) -> Kind {
    match (args.pop(), args.pop()) {
        (Some(Expr { kind: Kind::Literal(Literal::Text(field)), .. }), Some(operand)) => {
            Kind::Select { operand: Box::new(operand), field, optional: true }
        }
        (last, first) => {
            let args = first.into_iter().chain(last).collect();
            Kind::Call { function, target: None, args }
        }
    }
}

fn optional_map(
    flat: bool,
    target: Box<Expr>,
    mut args: Vec<Expr>,
    issues: &mut Vec<Issue>,
) -> Kind {
    let body = args.pop().expect("two arguments were counted");
    let variable = variable(args.pop(), issues, || {
        let name = if flat { "optFlatMap" } else { "optMap" };
        format!("{name}() variable name must be a simple identifier")
    });
    Kind::OptionalMap { target, variable, body: Box::new(body), flat }
}

/// The loop that a method with so many arguments is, if it is one.
fn loop_kind(function: &str, count: usize) -> Option<(LoopKind, bool, bool)> {
    // Each with: two variables? a filter?
    Some(match (function, count) {
        ("all", 2) => (LoopKind::All, false, false),
        ("all", 3) => (LoopKind::All, true, false),
        ("exists", 2) => (LoopKind::Exists, false, false),
        ("exists", 3) => (LoopKind::Exists, true, false),
        ("exists_one" | "existsOne", 2) => (LoopKind::ExistsOne, false, false),
        ("exists_one" | "existsOne", 3) => (LoopKind::ExistsOne, true, false),
        ("map", 2) => (LoopKind::Map, false, false),
        ("map", 3) => (LoopKind::Map, false, true),
        ("filter", 2) => (LoopKind::Filter, false, false),
        ("transformList", 3) => (LoopKind::Map, true, false),
        ("transformList", 4) => (LoopKind::Map, true, true),
        ("transformMap", 3) => (LoopKind::TransformMap, true, false),
        ("transformMap", 4) => (LoopKind::TransformMap, true, true),
        ("transformMapEntry", 3) => (LoopKind::TransformMapEntry, true, false),
        ("transformMapEntry", 4) => (LoopKind::TransformMapEntry, true, true),
        ("sortBy", 2) => (LoopKind::SortBy, false, false),
        _ => return None,
    })
}

fn translate_loop(function: &str, range: Expr, args: Vec<Expr>, issues: &mut Vec<Issue>) -> Kind {
    let (what, two, filtered) = loop_kind(function, args.len()).expect("the caller found the loop");
    let mut args = args.into_iter();
    let words = || "argument must be a simple name".to_owned();
    let first = variable(args.next(), issues, words);
    let second = two.then(|| variable(args.next(), issues, words));
    let filter = if filtered { args.next() } else { None };
    let body = args.next().expect("the caller counted the arguments");
    Kind::Loop(Box::new(Loop { what, range, variable: first, second, filter, body }))
}

fn variable(arg: Option<Expr>, issues: &mut Vec<Issue>, words: impl Fn() -> String) -> String {
    match arg {
        Some(Expr { kind: Kind::Ident(name), .. }) => name,
        other => {
            issues.push(Issue::new(other.map_or(0, |arg| arg.id), words()));
            String::new()
        }
    }
}
