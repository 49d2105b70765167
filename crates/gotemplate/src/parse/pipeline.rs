//! Pipelines: variables, and commands between bars.

use super::{ParseError, Parser};
use crate::{
    lex::{Item, Keyword, Kind},
    tree::{Command, Pipe},
};

/// Whether a command can begin with an item of this kind.
fn begins_command(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Bool
            | Kind::CharacterConstant
            | Kind::Complex
            | Kind::Keyword(Keyword::Dot | Keyword::Nil)
            | Kind::Field
            | Kind::Identifier
            | Kind::Number
            | Kind::RawString
            | Kind::String
            | Kind::Variable
            | Kind::LeftParenthesis
    )
}

impl Parser<'_> {
    /// `declarations? command ('|' command)*` up to an item of the kind.
    pub(super) fn pipeline(&mut self, context: &str, end: &Kind) -> Result<Pipe, ParseError> {
        let position = self.peek_non_space().position;
        let mut pipe =
            Pipe { position, assigns: false, variables: Vec::new(), commands: Vec::new() };
        while self.declaration(context, &mut pipe)? {}
        loop {
            let item = self.next_non_space();
            if item.kind == *end {
                self.check(&pipe, context)?;
                return Ok(pipe);
            }
            if !begins_command(&item.kind) {
                return Err(self.unexpected(&item, context));
            }
            self.put_back(item);
            pipe.commands.push(self.command()?);
        }
    }

    /// Takes a variable that is declared or assigned; says whether another follows.
    fn declaration(&mut self, context: &str, pipe: &mut Pipe) -> Result<bool, ParseError> {
        let variable = self.peek_non_space();
        if variable.kind != Kind::Variable {
            return Ok(false);
        }
        self.next();
        let after = self.peek();
        let next = self.peek_non_space();
        match next.kind {
            Kind::Assign | Kind::Declare => {
                pipe.assigns = next.kind == Kind::Assign;
                self.next_non_space();
                self.declare(&variable, pipe);
                Ok(false)
            }
            Kind::Character if next.text == b"," => {
                self.next_non_space();
                self.declare(&variable, pipe);
                if context != "range" || pipe.variables.len() >= 2 {
                    return Err(self.error(format!("too many declarations in {context}")));
                }
                match self.peek_non_space().kind {
                    Kind::Variable | Kind::RightDelimiter | Kind::RightParenthesis => Ok(true),
                    _ => Err(self.error("range can only initialize variables".to_owned())),
                }
            }
            _ => {
                // An argument. The space after it, which was passed, tells it from `$x.Field`.
                if after.kind == Kind::Space {
                    self.put_back(after);
                }
                self.put_back(variable);
                Ok(false)
            }
        }
    }

    fn declare(&mut self, variable: &Item<'_>, pipe: &mut Pipe) {
        let name: std::sync::Arc<str> = String::from_utf8_lossy(variable.text).into();
        self.scope.variables.push(name.clone());
        pipe.variables.push(name);
    }

    fn check(&self, pipe: &Pipe, context: &str) -> Result<(), ParseError> {
        if pipe.commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        let later = pipe.commands.iter().enumerate().skip(1);
        for (index, command) in later {
            if command.terms.first().is_some_and(crate::tree::Term::is_constant) {
                let stage = index + 1;
                let problem = format!("non executable command in pipeline stage {stage}");
                return Err(self.error(problem));
            }
        }
        Ok(())
    }

    /// Terms between spaces, up to a bar or the end of the pipeline.
    fn command(&mut self) -> Result<Command, ParseError> {
        let position = self.peek_non_space().position;
        let mut terms = Vec::new();
        loop {
            self.peek_non_space();
            if let Some(term) = self.operand()? {
                terms.push(term);
            }
            let item = self.next();
            match item.kind {
                Kind::Space => continue,
                Kind::RightDelimiter | Kind::RightParenthesis => self.put_back(item),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(&item, "operand")),
            }
            break;
        }
        if terms.is_empty() {
            return Err(self.error("empty command".to_owned()));
        }
        Ok(Command { position, terms })
    }
}
