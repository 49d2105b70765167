//! Kubernetes quantities, exact.

use std::{
    fmt::{self, Display, Formatter},
    ops::{Add, Sub},
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How a quantity is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `1500m`, `2G`.
    #[default]
    DecimalSi,
    /// `2Gi`.
    BinarySi,
    /// `2e9`.
    DecimalExponent,
}

/// An amount, in billionths. Equality and order look at the amount only; the format is how it prints.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// Billionths in one.
const NANOS: i128 = 1_000_000_000;

/// The largest amount Kubernetes represents; larger ones are cut to it.
const MAX_NANOS: i128 = i64::MAX as i128 * NANOS;

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, format: Format::DecimalSi };

    /// `n` units.
    pub const fn whole(n: i64) -> Self {
        Self { nanos: n as i128 * NANOS, format: Format::DecimalSi }
    }

    /// `n` thousandths.
    pub const fn milli(n: i64) -> Self {
        Self { nanos: n as i128 * (NANOS / 1000), format: Format::DecimalSi }
    }

    /// `n` bytes, printed with binary suffixes.
    pub const fn bytes(n: i64) -> Self {
        Self { nanos: n as i128 * NANOS, format: Format::BinarySi }
    }

    /// `n` billionths.
    pub const fn from_nanos(nanos: i128, format: Format) -> Self {
        Self { nanos, format }
    }

    /// The amount in billionths.
    pub const fn nanos(self) -> i128 {
        self.nanos
    }

    /// How it prints.
    pub const fn format(self) -> Format {
        self.format
    }

    /// The amount as a float, for shares and bars that people look at; never for decisions.
    pub fn as_f64(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl std::hash::Hash for Quantity {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl Add for Quantity {
    type Output = Self;

    /// The sum, printed like the left side unless that is zero.
    fn add(self, other: Self) -> Self {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_sub(other.nanos), format }
    }
}

/// A text that is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3")]
pub struct InvalidQuantity(pub String);

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidQuantity(text.chars().take(64).collect());
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let split = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(split);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if text.is_empty() || fraction.contains('.') || number.is_empty() || number == "." {
            return Err(invalid());
        }
        let (base, exponent, format) = suffix_scale(suffix).ok_or_else(invalid)?;
        let nanos = scaled_nanos(whole, fraction, base, exponent).min(MAX_NANOS);
        // A binary amount below one could not be printed exactly.
        let format = if format == Format::BinarySi && nanos > 0 && nanos < NANOS { Format::DecimalSi } else { format };
        Ok(Self { nanos: if text.starts_with('-') { -nanos } else { nanos }, format })
    }
}

/// Base, exponent and print format of a suffix.
fn suffix_scale(suffix: &str) -> Option<(u32, i32, Format)> {
    const DECIMAL: [(&str, i32); 10] =
        [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
    const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((10, *exponent, Format::DecimalSi));
    }
    if let Some((_, exponent)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((2, *exponent, Format::BinarySi));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((10, exponent, Format::DecimalExponent))
}

/// `whole.fraction × base^exponent` in billionths, rounded up, saturating.
fn scaled_nanos(whole: &str, fraction: &str, base: u32, exponent: i32) -> i128 {
    // Digits of the decimal number; the point moves instead of the digits.
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
    let shift = if base == 10 { i64::from(exponent) } else { 0 };
    let mut point = whole.len() as i64 + 9 + shift;
    let mut value: i128 = 0;
    let mut rest = false;
    for digit in digits {
        if point > 0 {
            value = value.saturating_mul(10).saturating_add(i128::from(digit));
            if value > 0 {
                point -= 1;
            } else {
                point -= 1;
            }
        } else {
            rest |= digit != 0;
        }
    }
    while point > 0 && value != 0 && value < MAX_NANOS {
        value = value.saturating_mul(10);
        point -= 1;
    }
    if base == 2 {
        value = value.saturating_mul(1i128 << exponent);
    }
    if rest { value.saturating_add(1) } else { value }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let whole = self.nanos / NANOS;
        if self.format == Format::BinarySi && self.nanos % NANOS == 0 && whole.abs() >= 1024 {
            let (mut amount, mut power) = (whole, 0);
            while amount % 1024 == 0 && power < 6 {
                amount /= 1024;
                power += 1;
            }
            return write!(f, "{amount}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]);
        }
        let (mut amount, mut exponent) = (self.nanos, -9);
        while amount % 1000 == 0 {
            amount /= 1000;
            exponent += 3;
        }
        if self.format == Format::DecimalExponent {
            return if exponent == 0 { write!(f, "{amount}") } else { write!(f, "{amount}e{exponent}") };
        }
        const SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        let index = usize::try_from((exponent + 9) / 3).unwrap_or_default();
        write!(f, "{amount}{}", SUFFIXES.get(index).copied().unwrap_or("E"))
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// From a string or a number, as Kubernetes does.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 500m, 2 or 1.5Gi")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity::whole(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
