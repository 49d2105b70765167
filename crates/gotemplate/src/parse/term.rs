//! Terms: constants, fields, variables, functions, parentheses.

use std::sync::Arc;

use super::{ParseError, Parser};
use crate::{
    lex::{Item, Keyword, Kind},
    number, quote,
    tree::{Number, Term, TermKind},
};

/// The first number that is too large for an `int64`, and for a `uint64`.
const INT_END: f64 = 9_223_372_036_854_775_808.0;
const UINT_END: f64 = 18_446_744_073_709_551_616.0;

fn names(text: &[u8]) -> Vec<Arc<str>> {
    String::from_utf8_lossy(text).split('.').map(Arc::from).collect()
}

impl Parser<'_> {
    /// A term, and fields of it; nothing where there is no term.
    pub(super) fn operand(&mut self) -> Result<Option<Term>, ParseError> {
        let Some(term) = self.term()? else { return Ok(None) };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(term));
        }
        let position = first.position;
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            let field = self.next();
            fields.extend(names(&field.text[1..]));
        }
        if term.is_constant() {
            let shown = quote::shown(term.to_string().as_bytes());
            return Err(self.error(format!("unexpected . after term {shown}")));
        }
        let kind = match term.kind {
            TermKind::Field(mut names) => {
                names.extend(fields);
                TermKind::Field(names)
            }
            TermKind::Variable(mut names) => {
                names.extend(fields);
                TermKind::Variable(names)
            }
            kind => TermKind::Chain(Box::new(Term { position: term.position, kind }), fields),
        };
        Ok(Some(Term { position, kind }))
    }

    fn term(&mut self) -> Result<Option<Term>, ParseError> {
        let item = self.next_non_space();
        let kind = match item.kind {
            Kind::Identifier => {
                let name = String::from_utf8_lossy(item.text);
                if self.functions.get(&name).is_none() {
                    let shown = quote::shown(item.text);
                    return Err(self.error(format!("function {shown} not defined")));
                }
                TermKind::Identifier(name.into())
            }
            Kind::Keyword(Keyword::Dot) => TermKind::Dot,
            Kind::Keyword(Keyword::Nil) => TermKind::Nil,
            Kind::Variable => TermKind::Variable(vec![self.variable(&item)?]),
            Kind::Field => TermKind::Field(names(&item.text[1..])),
            Kind::Bool => TermKind::Bool(item.text == b"true"),
            Kind::CharacterConstant | Kind::Complex | Kind::Number => {
                TermKind::Number(self.number(&item)?)
            }
            Kind::LeftParenthesis => {
                let pipe = self.nested(|parser| {
                    parser.pipeline("parenthesized pipeline", &Kind::RightParenthesis)
                })?;
                return Ok(Some(Term {
                    position: pipe.position,
                    kind: TermKind::Pipe(Box::new(pipe)),
                }));
            }
            Kind::String | Kind::RawString => {
                TermKind::Text { source: item.text.to_vec(), text: self.unquoted(&item)? }
            }
            _ => {
                self.put_back(item);
                return Ok(None);
            }
        };
        Ok(Some(Term { position: item.position, kind }))
    }

    fn variable(&self, item: &Item<'_>) -> Result<Arc<str>, ParseError> {
        let name = String::from_utf8_lossy(item.text);
        if self.scope.variables.iter().any(|known| **known == *name) {
            return Ok(name.into());
        }
        Err(self.error(format!("undefined variable {}", quote::shown(item.text))))
    }

    fn number(&self, item: &Item<'_>) -> Result<Number, ParseError> {
        let source = String::from_utf8_lossy(item.text).into_owned();
        if item.kind == Kind::CharacterConstant {
            return self.character(item, source);
        }
        if item.kind == Kind::Complex || source.ends_with('i') {
            return Err(self.error(format!("complex numbers are not supported: {source}")));
        }
        let mut number = Number {
            int: number::signed(&source),
            uint: number::whole(&source),
            ..Number::default()
        };
        if number.int == Some(0) {
            // In case of -0.
            number.uint = Some(0);
        }
        number.float = match (number.int, number.uint) {
            (Some(int), _) => Some(int as f64),
            (None, Some(uint)) => Some(uint as f64),
            (None, None) => number::fraction(&source),
        };
        if number.int.is_none() && number.uint.is_none() {
            let quoted = quote::shown(item.text);
            let Some(float) = number.float else {
                return Err(self.error(format!("illegal number syntax: {quoted}")));
            };
            if !source.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(self.error(format!("integer overflow: {quoted}")));
            }
            // A fraction that is a whole number can be one.
            let is_whole = float.fract() == 0.0;
            number.int = (is_whole && (-INT_END..INT_END).contains(&float)).then_some(float as i64);
            number.uint = (is_whole && (0.0..UINT_END).contains(&float)).then_some(float as u64);
        }
        number.source = source;
        Ok(number)
    }

    fn character(&self, item: &Item<'_>, source: String) -> Result<Number, ParseError> {
        let Some((character, tail)) = quote::unquoted_character(&item.text[1..], b'\'') else {
            return Err(self.error("invalid syntax".to_owned()));
        };
        if tail != b"'" {
            return Err(self.error(format!("malformed character constant: {source}")));
        }
        let code = character.code();
        Ok(Number {
            source,
            int: Some(code.into()),
            uint: Some(code.into()),
            float: Some(code.into()),
        })
    }
}
