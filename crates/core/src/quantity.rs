//! Kubernetes quantities, exact.

mod parse;
#[cfg(test)]
mod tests;

use std::{
    cmp::Ordering,
    fmt::{self, Display, Formatter},
    hash::{Hash, Hasher},
    ops::{Add, Sub},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use parse::InvalidQuantity;

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

/// An amount, in billionths. Equality and order compare the amount alone; the format only decides how it is
/// printed.
///
/// COMPAT: in Kubernetes an amount may have any number of digits. Here amounts above 10^29 are reduced to 10^29, so
/// that every amount fits one number and sums do not overflow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// Billionths in one.
const NANOS: i128 = 1_000_000_000;

/// The largest amount. It is a power of ten, so its text is short.
const MAX_NANOS: i128 = 10_i128.pow(29) * NANOS;

impl Quantity {
    /// Zero.
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

    /// `nanos` billionths, at most the largest amount.
    pub const fn from_nanos(nanos: i128, format: Format) -> Self {
        let nanos = if nanos > MAX_NANOS {
            MAX_NANOS
        } else if nanos < -MAX_NANOS {
            -MAX_NANOS
        } else {
            nanos
        };
        Self { nanos, format }
    }

    /// The amount in billionths.
    pub const fn nanos(self) -> i128 {
        self.nanos
    }

    /// The format in which it is printed.
    pub const fn format(self) -> Format {
        self.format
    }

    /// The whole units, rounded down.
    pub fn floor(self) -> i64 {
        let units = self.nanos.div_euclid(NANOS);
        i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX })
    }

    /// The amount as a float, for shares and bars that are displayed; never for decisions.
    pub fn as_f64(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// The format of a sum or difference with this left side: its format, unless it is zero.
    const fn format_with(self, right: Self) -> Format {
        if self.nanos == 0 { right.format } else { self.format }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::from_nanos(self.nanos.saturating_add(other.nanos), self.format_with(other))
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::from_nanos(self.nanos.saturating_sub(other.nanos), self.format_with(other))
    }
}

/// From units up.
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// From billionths up.
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

impl Display for Quantity {
    /// Kubernetes' canonical form, which is what it prints for a computed amount.
    ///
    /// An API server echoes some texts the way they were written (`+1`, `01`, `1.500`), because it
    /// keeps the text next to the amount until something is computed with it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        if let Some(units) = self.binary_units() {
            let (amount, power) = shortened(units, 1024, BINARY_SUFFIXES.len() - 1);
            return write!(f, "{amount}{}", BINARY_SUFFIXES[power]);
        }
        if self.format == Format::DecimalExponent {
            let (amount, power) = shortened(self.nanos, 1000, usize::MAX);
            return match power as i64 * 3 - 9 {
                0 => write!(f, "{amount}"),
                exponent => write!(f, "{amount}e{exponent}"),
            };
        }
        // COMPAT: Kubernetes has no suffix above `E` and then prints none: its `1000E` is printed as `1`.
        let (amount, power) = shortened(self.nanos, 1000, DECIMAL_SUFFIXES.len() - 1);
        write!(f, "{amount}{}", DECIMAL_SUFFIXES[power])
    }
}

impl Quantity {
    /// Whole units, if the amount is printed with a binary suffix. Small and fractional amounts are not.
    ///
    /// COMPAT: nor are amounts that Kubernetes would reduce when it parses them.
    fn binary_units(self) -> Option<i128> {
        let units = self.nanos / NANOS;
        let printable = self.format == Format::BinarySi
            && self.nanos % NANOS == 0
            && (1024..=i128::from(i64::MAX)).contains(&units.abs());
        printable.then_some(units)
    }
}

/// Divides `amount`, which is not zero, by `base` while there is no remainder, at most `max` times. Returns the
/// result and the number of divisions.
fn shortened(mut amount: i128, base: i128, max: usize) -> (i128, usize) {
    let mut times = 0;
    while times < max && amount % base == 0 {
        amount /= base;
        times += 1;
    }
    (amount, times)
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// Parses a text or a number. As in Kubernetes, null is zero and space around a text is ignored.
    ///
    /// COMPAT: Kubernetes keeps the notation of a number and prints `1e3` as such. Here it is 1000 and printed as
    /// `1k`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 500m, 2 or 1.5Gi")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.trim().parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity::whole(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
                Ok(Quantity::from_nanos(i128::from(number) * NANOS, Format::DecimalSi))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_unit<E: de::Error>(self) -> Result<Quantity, E> {
                Ok(Quantity::ZERO)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
