//! Reading quantities, as leniently as Kubernetes does.

use std::str::FromStr;

use super::{Format, MAX_NANOS, NANOS, Quantity};

/// The largest amount that Kubernetes reads with a binary suffix; larger ones are cut to it.
const MAX_BINARY_NANOS: i128 = i64::MAX as i128 * NANOS;

/// A text that is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"
)]
pub struct InvalidQuantity(pub String);

/// What the text behind the number says.
#[derive(Debug, Clone, Copy)]
enum Suffix {
    /// Times ten to this power.
    Decimal(i32, Format),
    /// Times two to this power.
    Binary(u32),
}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    /// Accepts what Kubernetes accepts, and takes time in proportion to the length of `text`.
    ///
    /// What is too fine is rounded away from zero to a billionth, so that who asks for something
    /// gets something.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The text may be anything a user can send; a message needs only its beginning.
        parse(text).ok_or_else(|| InvalidQuantity(text.chars().take(64).collect()))
    }
}

fn parse(text: &str) -> Option<Quantity> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = split_digits(unsigned);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    let suffix = Suffix::parse(rest)?;
    if text.is_empty() || (whole.is_empty() && fraction.is_empty() && !suffix.stands_alone()) {
        return None;
    }
    let digits = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0');
    let point = whole.len() as i64 + 9;
    let (nanos, format) = match suffix {
        Suffix::Decimal(exponent, format) => {
            (nanos(0, digits, point + i64::from(exponent)), format)
        }
        Suffix::Binary(exponent) => {
            let mut digits: Vec<u8> = digits.collect();
            let carry = multiply(&mut digits, exponent);
            let nanos = nanos(carry, digits, point).min(MAX_BINARY_NANOS);
            // Below one there is no binary way to write it.
            (nanos, if 0 < nanos && nanos < NANOS { Format::DecimalSi } else { Format::BinarySi })
        }
    };
    Some(Quantity::from_nanos(if text.starts_with('-') { -nanos } else { nanos }, format))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        let decimal = |exponent| Self::Decimal(exponent, Format::DecimalSi);
        Some(match text {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => {
                let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
                // Kubernetes keeps the low 32 bits, so 1e4294967296 is 1 for every other program in
                // the cluster.
                Self::Decimal(exponent as i32, Format::DecimalExponent)
            }
        })
    }

    /// Whether Kubernetes reads the suffix without any digit before it, as zero. It does wherever
    /// its fast path for small numbers applies.
    fn stands_alone(self) -> bool {
        match self {
            Self::Decimal(exponent, _) => exponent >= -9,
            Self::Binary(exponent) => exponent <= 40,
        }
    }
}

/// Multiplies the number that `digits` spell by two to the power of `exponent`, 60 at most. Returns
/// what is carried beyond the first digit.
fn multiply(digits: &mut [u8], exponent: u32) -> u64 {
    // The carry stays below 2^exponent, so ten times that is the largest number here.
    digits.iter_mut().rev().fold(0, |carry, digit| {
        let product = carry + (u64::from(*digit) << exponent);
        *digit = (product % 10) as u8;
        product / 10
    })
}

/// The number spelled by `leading` and then `digits`, of which the first `point` are whole
/// billionths. What is left is rounded up; what is too large is cut to the largest amount.
fn nanos(leading: u64, digits: impl IntoIterator<Item = u8>, point: i64) -> i128 {
    let shifted = |nanos: i128, digit: u8| {
        nanos.saturating_mul(10).saturating_add(i128::from(digit)).min(MAX_NANOS)
    };
    let mut nanos = i128::from(leading);
    let mut missing = point;
    for digit in digits {
        if missing > 0 {
            nanos = shifted(nanos, digit);
            missing -= 1;
        } else if digit != 0 {
            return (nanos + 1).min(MAX_NANOS);
        }
    }
    while missing > 0 && nanos > 0 && nanos < MAX_NANOS {
        nanos = shifted(nanos, 0);
        missing -= 1;
    }
    nanos
}
