//! Functions that templates can call.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    budget::{Budget, LimitReached},
    builtin::{self, Builtin},
    value::{Type, Value},
};

/// Why a call gave no value.
#[derive(Debug)]
pub enum CallError {
    /// What is wrong with the arguments, in words that name no values of them.
    Refused(String),
    /// The execution may not do more.
    Limit(LimitReached),
}

impl From<LimitReached> for CallError {
    fn from(limit: LimitReached) -> Self {
        Self::Limit(limit)
    }
}

impl From<String> for CallError {
    fn from(problem: String) -> Self {
        Self::Refused(problem)
    }
}

impl From<&str> for CallError {
    fn from(problem: &str) -> Self {
        Self::Refused(problem.to_owned())
    }
}

/// What a function does. It gets as many arguments as its signature says, of those types.
pub type Body = dyn Fn(&mut Budget, &[Value]) -> Result<Value, CallError> + Send + Sync;

/// A function with its Go signature.
pub struct Function {
    pub(crate) parameters: Vec<Type>,
    /// The type of further arguments, where there may be any number.
    pub(crate) rest: Option<Type>,
    pub(crate) returns: Type,
    pub(crate) body: Arc<Body>,
}

impl Function {
    /// A function of fixed parameters.
    pub fn new(
        parameters: Vec<Type>,
        returns: Type,
        body: impl Fn(&mut Budget, &[Value]) -> Result<Value, CallError> + Send + Sync + 'static,
    ) -> Self {
        Self { parameters, rest: None, returns, body: Arc::new(body) }
    }

    /// Lets any number of arguments of a type follow the parameters.
    pub fn and_more(mut self, rest: Type) -> Self {
        self.rest = Some(rest);
        self
    }

    /// The type as Go writes it: `func(string, ...interface {}) string`.
    pub(crate) fn signature(&self) -> String {
        let mut parameters: Vec<String> = self.parameters.iter().map(Type::to_string).collect();
        parameters.extend(self.rest.iter().map(|rest| format!("...{rest}")));
        format!("func({}) {}", parameters.join(", "), self.returns)
    }

    /// The type of the argument of a place.
    pub(crate) fn parameter(&self, index: usize) -> Option<&Type> {
        self.parameters.get(index).or(self.rest.as_ref())
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.signature())
    }
}

/// What a name that templates call stands for.
#[derive(Clone)]
pub(crate) enum Callable {
    Builtin(Builtin),
    Host(Arc<Function>),
}

/// The functions that templates can call: Go's own and those that were added.
#[derive(Clone)]
pub struct Functions {
    by_name: BTreeMap<String, Callable>,
}

impl Functions {
    /// Go's own functions: `and`, `call`, `eq`, `html`, `index`, `printf` and so on.
    pub fn builtin() -> Self {
        let by_name = builtin::ALL
            .iter()
            .map(|(name, builtin)| ((*name).to_owned(), Callable::Builtin(*builtin)))
            .collect();
        Self { by_name }
    }

    /// Adds functions; one of a name that there is takes its place.
    pub fn with(mut self, functions: impl IntoIterator<Item = (&'static str, Function)>) -> Self {
        for (name, function) in functions {
            self.by_name.insert(name.to_owned(), Callable::Host(Arc::new(function)));
        }
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Callable> {
        self.by_name.get(name)
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.by_name.keys()).finish()
    }
}
