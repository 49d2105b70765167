//! How numbers and texts print.

use super::printer::{Flags, Printer};
use crate::{
    number::{self, Notation},
    quote, runes,
    value::Value,
};

impl Printer {
    fn fill(&mut self, missing: usize) {
        // Nothing is filled with zeros to the right.
        let byte = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.repeat(byte, missing);
    }

    /// A text in as many columns as there have to be at least.
    pub(super) fn pad(&mut self, text: &[u8]) {
        let missing = self.flags.width.unwrap_or(0).saturating_sub(runes::count(text));
        if !self.flags.minus {
            self.fill(missing);
        }
        self.push(text);
        if self.flags.minus {
            self.fill(missing);
        }
    }

    fn pad_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        match self.flags.precision {
            Some(most) => {
                let kept: usize = runes::each(text).take(most).map(|(_, bytes)| bytes.len()).sum();
                &text[..kept]
            }
            None => text,
        }
    }

    /// A text as `%s` prints it.
    pub(super) fn text(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        self.pad(text);
    }

    pub(super) fn string(&mut self, text: &[u8], value: &Value, verb: char) {
        match verb {
            'v' if self.flags.as_source => self.quoted(text),
            'v' | 's' => self.text(text),
            'x' => self.hexadecimal(text, false),
            'X' => self.hexadecimal(text, true),
            'q' => self.quoted(text),
            _ => self.bad_verb(Some(value), verb),
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        if self.flags.sharp && quote::can_be_raw(text) {
            return self.pad(&[b"`", text, b"`"].concat());
        }
        let quoted =
            if self.flags.plus { quote::quoted_in_ascii(text) } else { quote::quoted(text) };
        self.pad(&quoted);
    }

    fn hexadecimal(&mut self, text: &[u8], upper: bool) {
        let Flags { space, sharp, .. } = self.flags;
        let length = self.flags.precision.unwrap_or(text.len()).min(text.len());
        let prefix = match (sharp, upper) {
            (false, _) => "",
            (true, false) => "0x",
            (true, true) => "0X",
        };
        let mut out = String::new();
        for (index, byte) in text[..length].iter().enumerate() {
            if index > 0 && space {
                out.push(' ');
            }
            if index == 0 || space {
                out.push_str(prefix);
            }
            let digits = if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
            out.push_str(&digits);
        }
        if length == 0 {
            let width = self.flags.width.unwrap_or(0);
            return self.fill(width);
        }
        self.pad(out.as_bytes());
    }

    pub(super) fn whole(
        &mut self,
        magnitude: u64,
        negative: bool,
        signed: bool,
        value: &Value,
        verb: char,
    ) {
        let bits = if negative { magnitude.wrapping_neg() } else { magnitude };
        match verb {
            'v' if self.flags.as_source && !signed => {
                self.flags.sharp = true;
                self.digits(magnitude, negative, 16, verb);
                self.flags.sharp = false;
            }
            'v' | 'd' => self.digits(magnitude, negative, 10, verb),
            'b' => self.digits(magnitude, negative, 2, verb),
            'o' | 'O' => self.digits(magnitude, negative, 8, verb),
            'x' | 'X' => self.digits(magnitude, negative, 16, verb),
            'c' => self.pad(character(bits).encode_utf8(&mut [0; 4]).as_bytes()),
            'q' => self.pad(&quote::quoted_rune(character(bits), self.flags.plus)),
            'U' => self.code_point(bits),
            _ => self.bad_verb(Some(value), verb),
        }
    }

    fn digits(&mut self, magnitude: u64, negative: bool, base: u32, verb: char) {
        let Flags { width, precision, plus, space, sharp, zero, minus, .. } = self.flags;
        if (precision, magnitude) == (Some(0), 0) {
            let zero = std::mem::take(&mut self.flags.zero);
            self.fill(width.unwrap_or(0));
            self.flags.zero = zero;
            return;
        }
        let least = match (precision, width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if zero && !minus => {
                width.saturating_sub(usize::from(negative || plus || space))
            }
            _ => 0,
        };
        let digits = match base {
            2 => format!("{magnitude:b}"),
            8 => format!("{magnitude:o}"),
            16 if verb == 'X' => format!("{magnitude:X}"),
            16 => format!("{magnitude:x}"),
            _ => magnitude.to_string(),
        };
        let digits = format!("{}{digits}", "0".repeat(least.saturating_sub(digits.len())));
        let prefix = match (sharp, base) {
            (true, 2) => "0b",
            (true, 8) if !digits.starts_with('0') => "0",
            (true, 16) if verb == 'X' => "0X",
            (true, 16) => "0x",
            _ => "",
        };
        let octal = if verb == 'O' { "0o" } else { "" };
        let sign = match (negative, plus, space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (.., true) => " ",
            _ => "",
        };
        self.pad_with_spaces(format!("{sign}{octal}{prefix}{digits}").as_bytes());
    }

    fn code_point(&mut self, bits: u64) {
        let least = self.flags.precision.unwrap_or(0).max(4);
        let mut text = format!("{bits:X}");
        text = format!("U+{}{text}", "0".repeat(least.saturating_sub(text.len())));
        let rune = u32::try_from(bits).ok().and_then(char::from_u32);
        if let Some(rune) = rune.filter(|rune| self.flags.sharp && runes::is_print(*rune)) {
            text.extend([' ', '\'', rune, '\'']);
        }
        self.pad_with_spaces(text.as_bytes());
    }

    pub(super) fn float(&mut self, number: f64, value: &Value, verb: char) {
        let given = self.flags.precision;
        let (precision, text) = match verb {
            'v' | 'g' | 'G' => (given, number::written(number, Notation::Shorter, given)),
            'e' | 'E' => {
                let precision = Some(given.unwrap_or(6));
                (precision, number::written(number, Notation::Exponent, precision))
            }
            'f' | 'F' => {
                let precision = Some(given.unwrap_or(6));
                (precision, number::written(number, Notation::Plain, precision))
            }
            'b' | 'x' | 'X' if !number.is_finite() => {
                (given, number::written(number, Notation::Shorter, None))
            }
            'b' => (given, number::written_in_bits(number)),
            'x' | 'X' => (given, number::written_in_hexadecimal(number, given)),
            _ => return self.bad_verb(Some(value), verb),
        };
        let text = match verb {
            'E' | 'G' | 'X' if number.is_finite() => text.to_uppercase(),
            _ => text,
        };
        let (sign, magnitude) = match text.strip_prefix(['-', '+']) {
            Some(magnitude) if text.starts_with('-') => ('-', magnitude),
            Some(magnitude) => ('+', magnitude),
            None => ('+', text.as_str()),
        };
        self.signed(number, sign, magnitude, precision, verb);
    }

    fn signed(
        &mut self,
        number: f64,
        sign: char,
        magnitude: &str,
        precision: Option<usize>,
        verb: char,
    ) {
        let Flags { plus, space, sharp, zero, minus, width, .. } = self.flags;
        let sign = if space && sign == '+' && !plus { ' ' } else { sign };
        if !number.is_finite() {
            let signless = number.is_nan() && !space && !plus;
            // Infinity has its sign always: Go prints +Inf.
            let text = if signless { magnitude.to_owned() } else { format!("{sign}{magnitude}") };
            return self.pad_with_spaces(text.as_bytes());
        }
        let magnitude = if sharp && verb != 'b' {
            with_point(magnitude, precision, verb)
        } else {
            magnitude.to_owned()
        };
        if !plus && sign == '+' {
            return self.pad(magnitude.as_bytes());
        }
        let length = magnitude.len() + 1;
        match width {
            Some(width) if zero && !minus && width > length => {
                self.push(sign.to_string());
                self.fill(width - length);
                self.push(magnitude);
            }
            _ => self.pad(format!("{sign}{magnitude}").as_bytes()),
        }
    }
}

fn character(bits: u64) -> char {
    u32::try_from(bits).ok().and_then(char::from_u32).unwrap_or(runes::REPLACEMENT)
}

/// With `#`, a number has a point and keeps its zeros.
fn with_point(magnitude: &str, precision: Option<usize>, verb: char) -> String {
    let is_hexadecimal = matches!(verb, 'x' | 'X');
    let mut missing: i64 = match verb {
        'v' | 'g' | 'G' | 'x' => precision.map_or(6, |digits| digits as i64),
        _ => 0,
    };
    let exponent = magnitude.find(|c| match c {
        'p' | 'P' => true,
        'e' | 'E' => !is_hexadecimal,
        _ => false,
    });
    let (head, tail) = magnitude.split_at(exponent.unwrap_or(magnitude.len()));
    let mut seen = false;
    for c in head.chars().filter(|c| *c != '.') {
        seen |= c != '0';
        missing -= i64::from(seen);
    }
    let mut text = head.to_owned();
    if !head.contains('.') {
        missing -= i64::from(head == "0");
        text.push('.');
    }
    text.extend(std::iter::repeat_n('0', missing.max(0) as usize));
    text.push_str(tail);
    text
}
