//! The order of the keys of a map: as people count, `a2` before `a10`.

use std::{cmp::Ordering, collections::VecDeque};

use crate::runes;

fn runes_of(text: &[u8]) -> Vec<char> {
    runes::each(text).map(|(rune, _)| rune).collect()
}

/// Sorts by keys. The order that Go's library has may be inconsistent for unusual keys, which the
/// sorting of the standard library may answer with a panic; this one never does.
pub(super) fn sorted<'k, T>(items: Vec<T>, key: impl Fn(&T) -> &'k [u8]) -> Vec<T> {
    let mut runs: VecDeque<VecDeque<T>> =
        items.into_iter().map(|item| VecDeque::from([item])).collect();
    while runs.len() > 1 {
        let (mut one, mut other) =
            (runs.pop_front().unwrap_or_default(), runs.pop_front().unwrap_or_default());
        let mut merged = VecDeque::with_capacity(one.len() + other.len());
        while let (Some(first), Some(second)) = (one.front(), other.front()) {
            let is_greater = compare(key(first), key(second)) == Ordering::Greater;
            merged.extend(if is_greater { other.pop_front() } else { one.pop_front() });
        }
        merged.extend(one);
        merged.extend(other);
        runs.push_back(merged);
    }
    runs.pop_front().map(Vec::from).unwrap_or_default()
}

fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let (one, other) = (runes_of(one), runes_of(other));
    let Some(at) = one.iter().zip(&other).position(|(one, other)| one != other) else {
        return one.len().cmp(&other.len());
    };
    let (first, second) = (one[at], other[at]);
    match (runes::is_letter(first), runes::is_letter(second)) {
        (true, true) => return first.cmp(&second),
        (false, false) => {}
        (first_is_letter, _) => {
            // After digits, a letter is less than what else there may be; otherwise more.
            let after_digit = at > 0 && runes::is_digit(one[at - 1]);
            return if first_is_letter == after_digit { Ordering::Less } else { Ordering::Greater };
        }
    }
    let begins_with_zero = first == '0' || second == '0';
    let leading = i64::from(begins_with_zero && has_digits_before(&one[..at]));
    let (one_number, one_end) = number(&one, at, leading);
    let (other_number, other_end) = number(&other, at, leading);
    one_number.cmp(&other_number).then(one_end.cmp(&other_end)).then(first.cmp(&second))
}

/// Whether digits stand before, other than zeros.
fn has_digits_before(text: &[char]) -> bool {
    text.iter().rev().take_while(|rune| runes::is_digit(**rune)).any(|rune| *rune != '0')
}

/// The number that begins at a place, and where it ends.
fn number(text: &[char], start: usize, leading: i64) -> (i64, usize) {
    let digits = text[start..].iter().take_while(|rune| runes::is_digit(**rune));
    digits.fold((leading, start), |(number, end), rune| {
        let digit = i64::from(*rune as u32) - i64::from(u32::from(b'0'));
        (number.wrapping_mul(10).wrapping_add(digit), end + 1)
    })
}
