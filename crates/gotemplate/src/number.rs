//! Numbers as Go's `strconv` reads and writes them.

/// A whole number of any base with its prefix: `12`, `0x1f`, `0b1`, `0o7`, `017`, `1_000`.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    if digits.contains('_') && !underscores_separate(&lower) {
        return None;
    }
    let digits: String = digits.chars().filter(|digit| *digit != '_').collect();
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(&digits, base).ok()
}

/// The same with a sign before it.
pub(crate) fn signed(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = i128::from(whole(digits)?);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// A decimal or hexadecimal fraction; nothing where it is none or too large.
pub(crate) fn fraction(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    if lower.contains('_') && !underscores_separate(&lower) {
        return None;
    }
    let plain: String = lower.chars().filter(|digit| *digit != '_').collect();
    let (negative, magnitude) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain.as_str()),
    };
    let value = match magnitude.strip_prefix("0x") {
        Some(digits) => hexadecimal_fraction(digits)?,
        None if magnitude.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
            magnitude.parse().ok()?
        }
        None => return None,
    };
    value.is_finite().then_some(if negative { -value } else { value })
}

/// Underscores have to stand between digits, or between a prefix and a digit.
fn underscores_separate(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-']);
    let hexadecimal = text.starts_with("0x");
    let (mut after_digit, mut after_underscore) = (false, false);
    let mut rest = text;
    if hexadecimal || text.starts_with("0b") || text.starts_with("0o") {
        (after_digit, rest) = (true, &text[2..]);
    }
    for c in rest.chars() {
        let digit = c.is_ascii_digit() || hexadecimal && c.is_ascii_hexdigit();
        match c {
            '_' if !after_digit => return false,
            '_' => (after_digit, after_underscore) = (false, true),
            _ if digit => (after_digit, after_underscore) = (true, false),
            _ if after_underscore => return false,
            _ => after_digit = false,
        }
    }
    !after_underscore
}

/// `1.8p3` after the prefix: the exponent is of two, and has to be there.
fn hexadecimal_fraction(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once('p')?;
    let mut exponent: i64 = exponent.parse().ok()?;
    let (mut bits, mut seen, mut behind_point) = (0_u64, false, false);
    for c in mantissa.chars() {
        if c == '.' && !behind_point {
            behind_point = true;
            continue;
        }
        let digit = u64::from(c.to_digit(16)?);
        seen = true;
        if bits >> 60 == 0 {
            bits = bits << 4 | digit;
            exponent -= if behind_point { 4 } else { 0 };
        } else {
            // What is beyond 64 bits only decides which way is rounded.
            bits |= u64::from(digit != 0);
            exponent += if behind_point { 0 } else { 4 };
        }
    }
    if !seen {
        return None;
    }
    let mut value = bits as f64;
    let mut exponent = exponent.clamp(-4000, 4000) as i32;
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-1000, 1000);
        value *= 2_f64.powi(step);
        exponent -= step;
    }
    Some(value)
}

/// How a fraction is written: the letter of the verb.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// `1e+06`
    Exponent,
    /// `1000000`
    Plain,
    /// Whichever of the two is shorter.
    Shorter,
}

/// No number has more digits than this behind its point; further ones are zeros.
const DIGITS_MAX: usize = 1100;

/// Digits without leading and trailing zeros, and where the point stands among them.
struct Decimal {
    digits: Vec<u8>,
    point: i32,
}

impl Decimal {
    /// Reads what Rust writes as `{:e}`.
    fn read(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Self { digits, point: 0 };
        }
        Self { digits, point: exponent.parse::<i32>().unwrap_or_default() + 1 }
    }

    fn digit(&self, index: i32) -> u8 {
        usize::try_from(index).ok().and_then(|index| self.digits.get(index)).map_or(b'0', |d| *d)
    }

    fn len(&self) -> i32 {
        self.digits.len() as i32
    }
}

/// A fraction in lower case, as Go's `strconv.FormatFloat`. Without a precision there are as many
/// digits as it takes to read the same number back.
pub(crate) fn written(value: f64, notation: Notation, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let magnitude = value.abs();
    let decimal = match (notation, precision) {
        (_, None) => Decimal::read(&format!("{magnitude:e}")),
        (Notation::Exponent, Some(digits)) => {
            Decimal::read(&format!("{magnitude:.*e}", digits.min(DIGITS_MAX)))
        }
        (Notation::Shorter, Some(digits)) => {
            Decimal::read(&format!("{magnitude:.*e}", digits.clamp(1, DIGITS_MAX) - 1))
        }
        (Notation::Plain, Some(digits)) => {
            let shown = format!("{magnitude:.*}", digits.min(DIGITS_MAX));
            let mut text = format!("{sign}{shown}");
            let missing = digits.saturating_sub(DIGITS_MAX);
            text.extend(std::iter::repeat_n('0', missing));
            return text;
        }
    };
    let written = match notation {
        Notation::Exponent => {
            let digits = precision.map_or(decimal.len() - 1, |digits| digits as i32);
            with_exponent(&decimal, digits)
        }
        Notation::Plain => plain(&decimal, (decimal.len() - decimal.point).max(0)),
        Notation::Shorter => shorter(&decimal, precision.map(|digits| digits.max(1) as i32)),
    };
    format!("{sign}{written}")
}

fn shorter(decimal: &Decimal, precision: Option<i32>) -> String {
    let mut digits = precision.unwrap_or(decimal.len());
    let mut limit = digits;
    if limit > decimal.len() && decimal.len() >= decimal.point {
        limit = decimal.len();
    }
    // For shortest digits, Go decides as for six.
    if precision.is_none() {
        limit = 6;
    }
    let exponent = decimal.point - 1;
    if exponent < -4 || exponent >= limit {
        return with_exponent(decimal, digits.min(decimal.len()) - 1);
    }
    if digits > decimal.point {
        digits = decimal.len();
    }
    plain(decimal, (digits - decimal.point).max(0))
}

fn with_exponent(decimal: &Decimal, digits: i32) -> String {
    let mut text = String::new();
    text.push(char::from(decimal.digit(0)));
    if digits > 0 {
        text.push('.');
        text.extend((1..=digits).map(|index| char::from(decimal.digit(index))));
    }
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.point - 1 };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{text}e{sign}{:02}", exponent.abs())
}

fn plain(decimal: &Decimal, digits: i32) -> String {
    let mut text = String::new();
    if decimal.point > 0 {
        text.extend((0..decimal.point).map(|index| char::from(decimal.digit(index))));
    } else {
        text.push('0');
    }
    if digits > 0 {
        text.push('.');
        text.extend((0..digits).map(|index| char::from(decimal.digit(decimal.point + index))));
    }
    text
}

/// The bits of a number: `4503599627370496p-52`.
pub(crate) fn written_in_bits(value: f64) -> String {
    let (negative, mantissa, exponent) = parts(value);
    let sign = if negative { "-" } else { "" };
    format!("{sign}{mantissa}p{:+}", exponent - 52)
}

/// A number in hexadecimal digits: `0x1.8p+01`.
pub(crate) fn written_in_hexadecimal(value: f64, precision: Option<usize>) -> String {
    let (negative, mut mantissa, mut exponent) = parts(value);
    if mantissa == 0 {
        exponent = 0;
    }
    // The leading one comes to bit 60.
    mantissa <<= 8;
    while mantissa != 0 && mantissa & 1 << 60 == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(digits) = precision.filter(|digits| *digits < 15) {
        let shift = digits as u32 * 4;
        let extra = mantissa << shift & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | mantissa & 1 > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & 1 << 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut text = format!("{}0x{}", if negative { "-" } else { "" }, mantissa >> 60 & 1);
    mantissa <<= 4;
    if precision.map_or(mantissa != 0, |digits| digits > 0) {
        text.push('.');
    }
    let mut left = precision.unwrap_or(usize::MAX);
    while left > 0 && (precision.is_some() || mantissa != 0) {
        text.push(char::from_digit((mantissa >> 60) as u32, 16).unwrap_or('0'));
        mantissa <<= 4;
        left -= 1;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{text}p{sign}{:02}", exponent.abs())
}

/// Sign, mantissa of 53 bits and the exponent of its first bit.
fn parts(value: f64) -> (bool, u64, i32) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1);
    let negative = value.is_sign_negative();
    if exponent == 0 {
        return (negative, mantissa, -1022);
    }
    (negative, mantissa | 1 << 52, exponent - 1023)
}
