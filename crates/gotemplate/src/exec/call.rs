//! Calls of functions.

use super::{At, Execution, Outcome};
use crate::{
    builtin::{Arguments, Builtin},
    function::{CallError, Callable, Function},
    operand::Operand,
    quote,
    tree::Term,
    value::{Type, Value},
};

impl<'t> Execution<'t> {
    /// Calls a function by name; `last` comes behind the arguments that stand there.
    pub(super) fn call(
        &mut self,
        dot: &Operand,
        name: &str,
        at: At<'t>,
        terms: &'t [Term],
        last: Option<Operand>,
    ) -> Outcome<Operand> {
        self.step()?;
        match self.template.functions.get(name).cloned() {
            Some(Callable::Builtin(builtin)) => {
                self.call_builtin(dot, name, builtin, at, terms, last)
            }
            Some(Callable::Host(function)) => self.call_host(dot, name, &function, at, terms, last),
            None => {
                let quoted = quote::shown(name.as_bytes());
                Err(self.error(format!("{quoted} is not a defined function")))
            }
        }
    }

    /// Refuses a wrong number of arguments.
    fn check_count(
        &mut self,
        name: &str,
        fixed: usize,
        has_rest: bool,
        terms: usize,
        last: usize,
    ) -> Outcome<()> {
        let given = terms + last;
        if has_rest && given < fixed {
            let problem =
                format!("wrong number of args for {name}: want at least {fixed} got {terms}");
            return Err(self.error(problem));
        }
        if !has_rest && given != fixed {
            let problem = format!("wrong number of args for {name}: want {fixed} got {given}");
            return Err(self.error(problem));
        }
        Ok(())
    }

    fn call_builtin(
        &mut self,
        dot: &Operand,
        name: &str,
        builtin: Builtin,
        at: At<'t>,
        terms: &'t [Term],
        last: Option<Operand>,
    ) -> Outcome<Operand> {
        let (fixed, has_rest) = builtin.arity();
        self.check_count(name, fixed, has_rest, terms.len(), usize::from(last.is_some()))?;
        if let Builtin::And | Builtin::Or = builtin {
            return self.first_that_decides(dot, builtin, terms, last);
        }
        let mut operands = Vec::with_capacity(terms.len() + 1);
        for (index, term) in terms.iter().enumerate() {
            let operand = match builtin.parameter(index) {
                Some(of) => self.argument(dot, Some(&of), term)?,
                None => self.argument(dot, None, term)?,
            };
            operands.push(operand);
        }
        if let Some(last) = last {
            operands.push(match builtin.parameter(terms.len()) {
                Some(of) => self.fitting(last, &of)?,
                None => last,
            });
        }
        let read: usize = operands.iter().filter_map(Operand::value).map(Value::size).sum();
        self.budget.take_bytes(read).map_err(|limit| self.limit(limit))?;
        let callee = terms.first().map(Term::to_string);
        let arguments = Arguments { operands, callee };
        let result = builtin.call(&mut self.budget, arguments);
        self.finish_call(name, at, result)
    }

    /// `and` and `or` look at no argument behind the one that decides.
    fn first_that_decides(
        &mut self,
        dot: &Operand,
        builtin: Builtin,
        terms: &'t [Term],
        last: Option<Operand>,
    ) -> Outcome<Operand> {
        let mut value = Operand::Missing;
        for term in terms {
            value = self.argument(dot, None, term)?;
            if value.is_true() == (builtin == Builtin::Or) {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    fn call_host(
        &mut self,
        dot: &Operand,
        name: &str,
        function: &Function,
        at: At<'t>,
        terms: &'t [Term],
        last: Option<Operand>,
    ) -> Outcome<Operand> {
        let (fixed, has_rest) = (function.parameters.len(), function.rest.is_some());
        self.check_count(name, fixed, has_rest, terms.len(), usize::from(last.is_some()))?;
        let any = Type::Any;
        let mut values = Vec::with_capacity(terms.len() + 1);
        for (index, term) in terms.iter().enumerate() {
            let of = function.parameter(index).unwrap_or(&any);
            values.push(self.argument(dot, Some(of), term)?.into_value());
        }
        if let Some(last) = last {
            let of = function.parameter(terms.len()).unwrap_or(&any);
            values.push(self.fitting(last, of)?.into_value());
        }
        let result = invoke(&mut self.budget, function, &values);
        self.finish_call(name, at, result)
    }

    fn finish_call(
        &mut self,
        name: &str,
        at: At<'t>,
        result: Result<Operand, CallError>,
    ) -> Outcome<Operand> {
        result.map_err(|error| {
            self.at = Some(at);
            match error {
                CallError::Refused(problem) => {
                    self.error(format!("error calling {name}: {problem}"))
                }
                CallError::Limit(limit) => self.limit(limit),
            }
        })
    }
}

/// Calls a function with arguments that suit it, and takes off what it costs.
pub(crate) fn invoke(
    budget: &mut crate::budget::Budget,
    function: &Function,
    values: &[Value],
) -> Result<Operand, CallError> {
    budget.take_bytes(values.iter().map(Value::size).sum())?;
    let value = (function.body)(budget, values)?;
    budget.take_bytes(value.size())?;
    Ok(Operand::from_place(&function.returns, value))
}
