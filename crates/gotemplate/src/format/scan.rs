//! Takes a format apart: flags, numbers of arguments, width, precision, verb.

use super::printer::{Flags, Printer};
use crate::{runes, value::Value};

/// Go takes larger widths and precisions for mistakes.
const NUMBER_MAX: i64 = 1_000_000;

struct Scan<'f> {
    format: &'f [u8],
    position: usize,
    values: &'f [Value],
    argument: usize,
    /// The format says itself which arguments it wants.
    reordered: bool,
    good_number: bool,
    after_number: bool,
}

/// Prints values by a format.
pub(super) fn run(printer: &mut Printer, format: &[u8], values: &[Value]) {
    let mut scan = Scan {
        format,
        position: 0,
        values,
        argument: 0,
        reordered: false,
        good_number: true,
        after_number: false,
    };
    while scan.position < format.len() && !printer.is_full() {
        scan.text(printer);
        if scan.position < format.len() && !scan.directive(printer) {
            break;
        }
    }
    if !scan.reordered && scan.argument < values.len() {
        printer.flags = Flags::default();
        printer.extra(&values[scan.argument..]);
    }
}

impl Scan<'_> {
    fn byte(&self) -> Option<u8> {
        self.format.get(self.position).copied()
    }

    fn text(&mut self, printer: &mut Printer) {
        let rest = &self.format[self.position..];
        let length = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
        printer.push(&rest[..length]);
        self.position += length;
    }

    /// Runs what a percent sign begins; says whether the format goes on.
    fn directive(&mut self, printer: &mut Printer) -> bool {
        self.position += 1;
        self.good_number = true;
        printer.flags = Flags::default();
        self.flags(&mut printer.flags);
        let plain = self.byte().filter(u8::is_ascii_lowercase);
        if let (Some(verb), Some(value)) = (plain, self.values.get(self.argument)) {
            self.position += 1;
            self.argument += 1;
            printer.verb(value, char::from(verb));
            return true;
        }
        self.number_of_argument();
        self.width(printer);
        self.precision(printer);
        if !self.after_number {
            self.number_of_argument();
        }
        if self.position >= self.format.len() {
            printer.push("%!(NOVERB)");
            return false;
        }
        let (verb, width) = runes::first(&self.format[self.position..]);
        self.position += width;
        if verb == '%' {
            printer.push("%");
        } else if !self.good_number {
            printer.push(format!("%!{verb}(BADINDEX)"));
        } else if let Some(value) = self.values.get(self.argument) {
            self.argument += 1;
            printer.verb(value, verb);
        } else {
            printer.push(format!("%!{verb}(MISSING)"));
        }
        true
    }

    fn flags(&mut self, flags: &mut Flags) {
        while let Some(byte) = self.byte() {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => return,
            }
            self.position += 1;
        }
    }

    /// `[n]`: the argument that comes next.
    fn number_of_argument(&mut self) {
        self.after_number = false;
        if self.byte() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.position..];
        let end = rest.iter().position(|byte| *byte == b']').filter(|_| rest.len() >= 3);
        let Some(end) = end else {
            self.good_number = false;
            self.position += 1;
            return;
        };
        let number = std::str::from_utf8(&rest[1..end])
            .ok()
            .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse::<i64>().ok())
            .filter(|number| *number <= NUMBER_MAX * 10 + 9);
        self.position += end + 1;
        self.after_number = number.is_some();
        match number.and_then(|number| usize::try_from(number - 1).ok()) {
            Some(index) if index < self.values.len() => self.argument = index,
            _ => self.good_number = false,
        }
    }

    /// Digits that stand here; too large a number is none and ends the format.
    fn digits(&mut self) -> Option<i64> {
        let mut number = None;
        while let Some(digit) = self.byte().filter(u8::is_ascii_digit) {
            if number.unwrap_or(0) > NUMBER_MAX {
                self.position = self.format.len();
                return None;
            }
            number = Some(number.unwrap_or(0) * 10 + i64::from(digit - b'0'));
            self.position += 1;
        }
        number
    }

    /// A width or precision that is an argument.
    fn number_from_argument(&mut self) -> Option<i64> {
        let value = self.values.get(self.argument)?;
        self.argument += 1;
        let number = match value {
            Value::Int(_, number) => *number,
            Value::Uint(_, number) => i64::try_from(*number).ok()?,
            _ => return None,
        };
        (-NUMBER_MAX..=NUMBER_MAX).contains(&number).then_some(number)
    }

    fn width(&mut self, printer: &mut Printer) {
        if self.byte() == Some(b'*') {
            self.position += 1;
            let number = self.number_from_argument();
            if number.is_none() {
                printer.push("%!(BADWIDTH)");
            }
            if number.is_some_and(|number| number < 0) {
                printer.flags.minus = true;
                // Nothing is filled with zeros to the right.
                printer.flags.zero = false;
            }
            printer.flags.width = number.map(|number| number.unsigned_abs() as usize);
            self.after_number = false;
            return;
        }
        printer.flags.width = self.digits().map(|number| number as usize);
        if self.after_number && printer.flags.width.is_some() {
            self.good_number = false;
        }
    }

    fn precision(&mut self, printer: &mut Printer) {
        if self.byte() != Some(b'.') || self.position + 1 >= self.format.len() {
            return;
        }
        self.position += 1;
        if self.after_number {
            self.good_number = false;
        }
        self.number_of_argument();
        if self.byte() == Some(b'*') {
            self.position += 1;
            let number =
                self.number_from_argument().and_then(|number| usize::try_from(number).ok());
            if number.is_none() {
                printer.push("%!(BADPREC)");
            }
            printer.flags.precision = number;
            self.after_number = false;
            return;
        }
        printer.flags.precision = Some(self.digits().unwrap_or(0) as usize);
    }
}
