//! Go's text/template: the language in which users of clouds' Karpenter providers write the data of
//! their nodes.
//!
//! ```text
//! text ──► lexer ──► parser ──► trees ──► execution on a value ──► bytes
//!          lex       parse      tree      exec, builtin, format
//! ```
//!
//! Output and messages are those of Go 1.26, with these differences:
//! * what a template may cost has [`Limits`],
//! * messages never contain values, which may be secrets; errors of parsing have a column,
//! * pointers print what they point to where Go prints addresses,
//! * there are no complex numbers, and values have no methods.
//!
//! [`library`] has the functions that templates of nodes use besides Go's own.

mod budget;
mod builtin;
mod exec;
mod format;
mod function;
mod lex;
pub mod library;
mod number;
mod operand;
mod parse;
mod quote;
mod runes;
mod tree;
pub mod value;

pub use budget::{BYTES_PER_UNIT, Budget, LimitReached, Limits, Writer};
pub use exec::ExecutionError;
pub use function::{Body, CallError, Function, Functions};
pub use parse::ParseError;
pub use value::{ShapeError, Value};

use parse::Trees;

/// What a key that a map lacks is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// Nothing, which prints as `<no value>`: Go's `missingkey=default`.
    #[default]
    NoValue,
    /// The zero value of the map's type: Go's `missingkey=zero`.
    Zero,
    /// The execution ends: Go's `missingkey=error`.
    Error,
}

/// How templates are executed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What a key that a map lacks is worth.
    pub missing_key: MissingKey,
    /// What the execution may cost.
    pub limits: Limits,
}

/// A parsed template.
#[derive(Debug)]
pub struct Template {
    name: String,
    source: Vec<u8>,
    trees: Trees,
    functions: Functions,
}

impl Template {
    /// Parses a text. The name is what messages call it.
    pub fn parse(
        name: &str,
        source: impl AsRef<[u8]>,
        functions: &Functions,
        limits: &Limits,
    ) -> Result<Self, ParseError> {
        let source = source.as_ref();
        let trees = parse::parse(name, source, functions, limits)?;
        Ok(Self {
            name: name.to_owned(),
            source: source.to_vec(),
            trees,
            functions: functions.clone(),
        })
    }

    /// Executes the template on a value.
    pub fn execute(&self, data: &Value, options: &Options) -> Result<Vec<u8>, ExecutionError> {
        exec::execute(self, data, options)
    }
}
