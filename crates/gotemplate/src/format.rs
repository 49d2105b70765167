//! Go's `fmt`: how values print.

mod printer;
mod scan;
mod verbs;

use crate::{
    budget::{Budget, Writer},
    value::Value,
};
use printer::Printer;

/// `fmt.Sprint`: spaces stand between arguments that are not texts.
pub(crate) fn print(budget: &Budget, values: &[Value]) -> Writer {
    let mut printer = Printer::new(budget.writer());
    let mut after_text = true;
    for value in values {
        let is_text = matches!(value, Value::Text(_));
        if !is_text && !after_text {
            printer.push(" ");
        }
        printer.argument(value, 'v');
        after_text = is_text;
    }
    printer.finish()
}

/// `fmt.Sprintln`: spaces stand between all arguments, and a line break behind them.
pub(crate) fn println(budget: &Budget, values: &[Value]) -> Writer {
    let mut printer = Printer::new(budget.writer());
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            printer.push(" ");
        }
        printer.argument(value, 'v');
    }
    printer.push("\n");
    printer.finish()
}

/// `fmt.Sprintf`.
pub(crate) fn printf(budget: &Budget, format: &[u8], values: &[Value]) -> Writer {
    let mut printer = Printer::new(budget.writer());
    scan::run(&mut printer, format, values);
    printer.finish()
}
