//! Parses templates. The messages are Go's, and have a column besides.

mod pipeline;
mod term;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};

use crate::{
    budget::{DEPTH_MAX, Limits},
    function::Functions,
    lex::{Item, Keyword, Kind, Lexer},
    quote, runes,
    tree::{Branch, Call, Node, Sequence},
};

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The name of the template.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The byte of the line, from 0, as Go counts in errors of execution.
    pub column: usize,
    /// What is wrong, in Go's words.
    pub problem: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, line, column, problem } = self;
        write!(formatter, "template: {name}:{line}:{column}: {problem}")
    }
}

impl std::error::Error for ParseError {}

/// The templates of one text by their names.
pub(crate) type Trees = BTreeMap<Vec<u8>, Arc<Sequence>>;

/// Parses a text.
pub(crate) fn parse(
    name: &str,
    source: &[u8],
    functions: &Functions,
    limits: &Limits,
) -> Result<Trees, ParseError> {
    let lexer =
        Lexer::new(source, functions.get("break").is_none(), functions.get("continue").is_none());
    let mut parser = Parser {
        name,
        source,
        functions,
        lexer,
        ahead: VecDeque::new(),
        last: None,
        trees: Trees::new(),
        scope: Scope::new(),
        action_line: None,
        depth: 0,
    };
    if source.len() > limits.source_bytes {
        let most = limits.source_bytes;
        return Err(parser.error(format!("the template is longer than {most} bytes")));
    }
    let root = parser.root()?;
    parser.add(name.as_bytes().to_vec(), root)?;
    Ok(parser.trees)
}

/// What is known inside of one definition.
struct Scope {
    variables: Vec<Arc<str>>,
    /// How many loops are around.
    loops: usize,
}

impl Scope {
    fn new() -> Self {
        Self { variables: vec!["$".into()], loops: 0 }
    }
}

struct Parser<'s> {
    name: &'s str,
    source: &'s [u8],
    functions: &'s Functions,
    lexer: Lexer<'s>,
    /// Items that were looked at, or taken and put back.
    ahead: VecDeque<Item<'s>>,
    /// Position and line of the item that was taken from the lexer last.
    last: Option<(usize, usize)>,
    trees: Trees,
    scope: Scope,
    /// The line on which the action began that is being parsed.
    action_line: Option<usize>,
    depth: usize,
}

/// What messages call a block.
const BLOCK: &str = "block clause";

/// How a sequence came to its end.
enum Ending {
    End,
    Else,
}

impl Ending {
    fn shown(&self) -> &'static str {
        match self {
            Self::End => "{{end}}",
            Self::Else => "{{else}}",
        }
    }
}

/// A node, or what ends a sequence.
enum Parsed {
    Node(Node),
    Ending(Ending),
}

impl<'s> Parser<'s> {
    fn next(&mut self) -> Item<'s> {
        self.ahead.pop_front().unwrap_or_else(|| {
            let item = self.lexer.next_item();
            self.last = Some((item.position, item.line));
            item
        })
    }

    fn put_back(&mut self, item: Item<'s>) {
        self.ahead.push_front(item);
    }

    fn peek(&mut self) -> Item<'s> {
        let item = self.next();
        self.put_back(item.clone());
        item
    }

    fn next_non_space(&mut self) -> Item<'s> {
        loop {
            let item = self.next();
            if item.kind != Kind::Space {
                return item;
            }
        }
    }

    fn peek_non_space(&mut self) -> Item<'s> {
        let item = self.next_non_space();
        self.put_back(item.clone());
        item
    }

    fn error(&self, problem: String) -> ParseError {
        let (position, line) = self.last.unwrap_or((0, 1));
        let before = &self.source[..position];
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        ParseError { name: self.name.to_owned(), line, column, problem }
    }

    fn unexpected(&self, item: &Item<'_>, context: &str) -> ParseError {
        let Kind::Error(problem) = &item.kind else {
            return self.error(format!("unexpected {} in {context}", shown(item)));
        };
        let mut problem = problem.clone();
        if let Some(line) = self.action_line.filter(|line| *line != item.line) {
            let action = if problem.ends_with(" action") { "" } else { " in action" };
            problem = format!("{problem}{action} started at {}:{line}", self.name);
        }
        self.error(problem)
    }

    fn expect(&mut self, kind: &Kind, context: &str) -> Result<Item<'s>, ParseError> {
        let item = self.next_non_space();
        if item.kind == *kind { Ok(item) } else { Err(self.unexpected(&item, context)) }
    }

    /// Runs a part that may be nested in itself.
    fn nested<T>(
        &mut self,
        part: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == DEPTH_MAX {
            return Err(self.error(format!("actions are nested deeper than {DEPTH_MAX}")));
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }

    /// Everything to the end of the text; definitions are taken out.
    fn root(&mut self) -> Result<Sequence, ParseError> {
        let mut sequence = Sequence::default();
        while self.peek().kind != Kind::End {
            if self.peek().kind == Kind::LeftDelimiter {
                let delimiter = self.next();
                let word = self.next_non_space();
                if word.kind == Kind::Keyword(Keyword::Define) {
                    self.definition()?;
                    continue;
                }
                self.put_back(word);
                self.put_back(delimiter);
            }
            match self.text_or_action()? {
                Parsed::Node(node) => sequence.nodes.push(node),
                Parsed::Ending(ending) => {
                    return Err(self.error(format!("unexpected {}", ending.shown())));
                }
            }
        }
        Ok(sequence)
    }

    fn definition(&mut self) -> Result<(), ParseError> {
        const CONTEXT: &str = "define clause";
        let name = self.next_non_space();
        let name = self.template_name(&name, CONTEXT)?;
        self.expect(&Kind::RightDelimiter, CONTEXT)?;
        let body = self.separate_body(CONTEXT)?;
        self.add(name, body)
    }

    /// The body of a definition, which knows no variables and loops around it.
    fn separate_body(&mut self, context: &str) -> Result<Sequence, ParseError> {
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let outer_line = self.action_line.take();
        let outer_last = self.last;
        let (body, ending) = self.sequence()?;
        if let Ending::Else = ending {
            // As in Go, it is told of a block where its body begins, of a definition where it is.
            self.last = if context == BLOCK { outer_last } else { self.last };
            return Err(self.error(format!("unexpected {} in {context}", ending.shown())));
        }
        self.scope = outer;
        self.action_line = outer_line;
        Ok(body)
    }

    fn add(&mut self, name: Vec<u8>, tree: Sequence) -> Result<(), ParseError> {
        if self.trees.get(&name).is_some_and(|known| !known.is_blank()) {
            if tree.is_blank() {
                return Ok(());
            }
            let name = quote::shown(&name);
            return Err(self.error(format!("template: multiple definition of template {name}")));
        }
        self.trees.insert(name, Arc::new(tree));
        Ok(())
    }

    /// What stands before an `end` or `else`.
    fn sequence(&mut self) -> Result<(Sequence, Ending), ParseError> {
        let mut sequence = Sequence::default();
        while self.peek_non_space().kind != Kind::End {
            match self.text_or_action()? {
                Parsed::Node(node) => sequence.nodes.push(node),
                Parsed::Ending(ending) => return Ok((sequence, ending)),
            }
        }
        Err(self.error("unexpected EOF".to_owned()))
    }

    fn text_or_action(&mut self) -> Result<Parsed, ParseError> {
        let item = self.next_non_space();
        match item.kind {
            Kind::Text => Ok(Parsed::Node(Node::Text(item.text.to_vec()))),
            Kind::LeftDelimiter => {
                self.action_line = Some(item.line);
                let parsed = self.action()?;
                self.action_line = None;
                Ok(parsed)
            }
            _ => Err(self.unexpected(&item, "input")),
        }
    }

    fn action(&mut self) -> Result<Parsed, ParseError> {
        let item = self.next_non_space();
        let Kind::Keyword(keyword) = item.kind else {
            self.put_back(item);
            return Ok(Parsed::Node(Node::Action(self.action_pipe()?)));
        };
        let node = match keyword {
            Keyword::Block => self.nested(Self::block)?,
            Keyword::Break => self.leave_turn("{{break}}", Node::Break)?,
            Keyword::Continue => self.leave_turn("{{continue}}", Node::Continue)?,
            Keyword::Else => return self.otherwise(),
            Keyword::End => {
                self.expect(&Kind::RightDelimiter, "end")?;
                return Ok(Parsed::Ending(Ending::End));
            }
            Keyword::If => Node::If(self.branch("if")?),
            Keyword::Range => Node::Range(self.branch("range")?),
            Keyword::With => Node::With(self.branch("with")?),
            Keyword::Template => self.template()?,
            Keyword::Define | Keyword::Dot | Keyword::Nil => {
                self.put_back(item);
                Node::Action(self.action_pipe()?)
            }
        };
        Ok(Parsed::Node(node))
    }

    fn action_pipe(&mut self) -> Result<crate::tree::Pipe, ParseError> {
        self.pipeline("command", &Kind::RightDelimiter)
    }

    fn leave_turn(&mut self, shown: &str, node: Node) -> Result<Node, ParseError> {
        let item = self.next_non_space();
        if item.kind != Kind::RightDelimiter {
            return Err(self.unexpected(&item, shown));
        }
        if self.scope.loops == 0 {
            return Err(self.error(format!("{shown} outside {{{{range}}}}")));
        }
        Ok(node)
    }

    /// `else`; a following `if` or `with` is left for the branch.
    fn otherwise(&mut self) -> Result<Parsed, ParseError> {
        let item = self.peek_non_space();
        if !matches!(item.kind, Kind::Keyword(Keyword::If | Keyword::With)) {
            self.expect(&Kind::RightDelimiter, "else")?;
        }
        Ok(Parsed::Ending(Ending::Else))
    }

    fn branch(&mut self, context: &str) -> Result<Branch, ParseError> {
        self.nested(|parser| parser.branch_inside(context))
    }

    fn branch_inside(&mut self, context: &str) -> Result<Branch, ParseError> {
        let known = self.scope.variables.len();
        let pipe = self.pipeline(context, &Kind::RightDelimiter)?;
        let is_loop = usize::from(context == "range");
        self.scope.loops += is_loop;
        let (then, ending) = self.sequence()?;
        self.scope.loops -= is_loop;
        let otherwise = match ending {
            Ending::End => None,
            Ending::Else => Some(self.else_part(context)?),
        };
        self.scope.variables.truncate(known);
        Ok(Branch { pipe, then, otherwise })
    }

    fn else_part(&mut self, context: &str) -> Result<Sequence, ParseError> {
        // `else if` is an `if` alone in the other part, and both share the `end`.
        let item = self.peek();
        let node = match (context, &item.kind) {
            ("if", Kind::Keyword(Keyword::If)) => {
                self.next();
                Node::If(self.branch("if")?)
            }
            ("with", Kind::Keyword(Keyword::With)) => {
                self.next();
                Node::With(self.branch("with")?)
            }
            _ => {
                let (sequence, ending) = self.sequence()?;
                return match ending {
                    Ending::End => Ok(sequence),
                    Ending::Else => {
                        Err(self.error(format!("expected end; found {}", ending.shown())))
                    }
                };
            }
        };
        Ok(Sequence { nodes: vec![node] })
    }

    fn block(&mut self) -> Result<Node, ParseError> {
        let item = self.next_non_space();
        let name = self.template_name(&item, BLOCK)?;
        let pipe = self.pipeline(BLOCK, &Kind::RightDelimiter)?;
        let body = self.separate_body(BLOCK)?;
        self.add(name.clone(), body)?;
        Ok(Node::Template(Call { position: item.position, name, pipe: Some(pipe) }))
    }

    fn template(&mut self) -> Result<Node, ParseError> {
        const CONTEXT: &str = "template clause";
        let item = self.next_non_space();
        let name = self.template_name(&item, CONTEXT)?;
        let following = self.next_non_space();
        let pipe = if following.kind == Kind::RightDelimiter {
            None
        } else {
            self.put_back(following);
            Some(self.pipeline(CONTEXT, &Kind::RightDelimiter)?)
        };
        Ok(Node::Template(Call { position: item.position, name, pipe }))
    }

    fn template_name(&mut self, item: &Item<'_>, context: &str) -> Result<Vec<u8>, ParseError> {
        match item.kind {
            Kind::String | Kind::RawString => self.unquoted(item),
            _ => Err(self.unexpected(item, context)),
        }
    }

    fn unquoted(&self, item: &Item<'_>) -> Result<Vec<u8>, ParseError> {
        quote::unquoted(item.text).ok_or_else(|| self.error("invalid syntax".to_owned()))
    }
}

/// An item as messages show it.
fn shown(item: &Item<'_>) -> String {
    match &item.kind {
        Kind::End => "EOF".to_owned(),
        Kind::Error(problem) => problem.clone(),
        Kind::Keyword(_) => format!("<{}>", String::from_utf8_lossy(item.text)),
        _ if item.text.len() > 10 => {
            let head: Vec<u8> =
                runes::each(item.text).take(10).flat_map(|(_, bytes)| bytes.to_vec()).collect();
            format!("{}...", quote::shown(&head))
        }
        _ => quote::shown(item.text),
    }
}
