//! Loops.

use super::{Execution, Flow, Outcome};
use crate::{operand::Operand, tree::Branch, value::Value};

impl<'t> Execution<'t> {
    pub(super) fn range(&mut self, dot: &Operand, branch: &'t Branch) -> Outcome<Flow> {
        let known = self.variables.len();
        let value = self.pipe(dot, &branch.pipe)?;
        let turned = self.turns(&value, branch)?;
        let mut flow = Flow::Next;
        if let (false, Some(otherwise)) = (turned, &branch.otherwise) {
            flow = self.sequence(dot, otherwise)?;
        }
        self.variables.truncate(known);
        // In Go a `break` ends the loop to whose `else` it belongs, a `continue` the one around it.
        Ok(if flow == Flow::Break { Flow::Next } else { flow })
    }

    /// Takes all turns; says whether there was one.
    fn turns(&mut self, value: &Operand, branch: &'t Branch) -> Outcome<bool> {
        let Some(value) = value.value() else { return Ok(false) };
        match value.behind_pointers() {
            Value::Int(kind, end) => {
                self.refuse_two_variables(branch, end)?;
                let items = (0..*end).map(|item| (Operand::Missing, Value::Int(*kind, item)));
                self.each(branch, items.map(|(index, item)| (index, Operand::Plain(item))))
            }
            Value::Uint(kind, end) => {
                self.refuse_two_variables(branch, end)?;
                let items = (0..*end).map(|item| Operand::Plain(Value::Uint(*kind, item)));
                self.each(branch, items.map(|item| (Operand::Missing, item)))
            }
            Value::List(list) => {
                let items = list.items().iter().enumerate().map(|(index, item)| {
                    let index = Operand::Plain(Value::int(index as i64));
                    (index, Operand::from_place(&list.of, item.clone()))
                });
                self.each(branch, items)
            }
            Value::Map(map) => {
                let items = map.iter().map(|(key, item)| {
                    let key = Operand::Plain(Value::Text(key.clone()));
                    (key, Operand::from_place(&map.of, item.clone()))
                });
                self.each(branch, items)
            }
            // Go prints the value, which may be a secret.
            other => {
                let of = other.type_of();
                Err(self.error(format!("range can't iterate over a value of type {of}")))
            }
        }
    }

    fn refuse_two_variables(
        &mut self,
        branch: &Branch,
        value: &impl std::fmt::Display,
    ) -> Outcome<()> {
        if branch.pipe.variables.len() < 2 {
            return Ok(());
        }
        Err(self.error(format!("can't use {value} to iterate over more than one variable")))
    }

    fn each(
        &mut self,
        branch: &'t Branch,
        items: impl Iterator<Item = (Operand, Operand)>,
    ) -> Outcome<bool> {
        let mark = self.variables.len();
        let mut turned = false;
        for (index, item) in items {
            turned = true;
            self.step()?;
            self.set_loop_variables(branch, index, &item, mark)?;
            let flow = self.sequence(&item, &branch.then)?;
            self.variables.truncate(mark);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(turned)
    }

    fn set_loop_variables(
        &mut self,
        branch: &Branch,
        index: Operand,
        item: &Operand,
        mark: usize,
    ) -> Outcome<()> {
        match branch.pipe.variables.as_slice() {
            [] => {}
            [only] if branch.pipe.assigns => self.assign(only, item.clone())?,
            [first, second, ..] if branch.pipe.assigns => {
                self.assign(first, index)?;
                self.assign(second, item.clone())?;
            }
            // What is declared was added last, in the order of the names.
            [_] => self.variables[mark - 1].1 = item.clone(),
            [..] => {
                self.variables[mark - 1].1 = item.clone();
                self.variables[mark - 2].1 = index;
            }
        }
        Ok(())
    }
}
