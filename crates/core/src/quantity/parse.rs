//! Parsing of quantities, as leniently as Kubernetes.

use std::str::FromStr;

use super::{Format, MAX_NANOS, NANOS, Quantity};

/// The largest amount that Kubernetes parses with a binary suffix. Larger amounts are reduced to it.
const MAX_BINARY_NANOS: i128 = i64::MAX as i128 * NANOS;

/// The error for a text that is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"
)]
pub struct InvalidQuantity(pub String);

/// The meaning of the suffix.
#[derive(Debug, Clone, Copy)]
enum Suffix {
    /// Times ten to this power.
    Decimal(i32, Format),
    /// Times two to this power.
    Binary(u32),
}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    /// Accepts the same texts as Kubernetes, in time proportional to the length of `text`.
    ///
    /// Amounts finer than a billionth are rounded away from zero, so that a request never becomes zero.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The text may be any user input; a message needs only its beginning.
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
            // Amounts below one have no binary format.
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
                // Kubernetes keeps the low 32 bits, so for every program in the cluster 1e4294967296 is 1.
                Self::Decimal(exponent as i32, Format::DecimalExponent)
            }
        })
    }

    /// Whether Kubernetes accepts the suffix without any digit, as zero. Its fast path for small numbers does.
    fn stands_alone(self) -> bool {
        match self {
            Self::Decimal(exponent, _) => exponent >= -9,
            Self::Binary(exponent) => exponent <= 40,
        }
    }
}

/// Multiplies the number in `digits` by two to the power of `exponent`, at most 60. Returns the carry beyond the
/// first digit.
fn multiply(digits: &mut [u8], exponent: u32) -> u64 {
    // The carry stays below 2^exponent, so ten times that is the largest number here.
    digits.iter_mut().rev().fold(0, |carry, digit| {
        let product = carry + (u64::from(*digit) << exponent);
        *digit = (product % 10) as u8;
        product / 10
    })
}

/// The number of `leading` followed by `digits`, of which the first `point` are whole billionths. The rest is
/// rounded up, and too large numbers are reduced to the largest amount.
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
