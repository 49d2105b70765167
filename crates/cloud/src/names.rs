//! Names of instances.

use crate::bootstrap::digest;

/// The longest name: an instance's name is its guest's host name, a label of DNS (RFC 1123).
const NAME_MAX: usize = 63;
/// The length of the kept prefix of a longer name. A hyphen and eight digits of its hash follow.
const KEPT: usize = 54;

/// Shortens a name that is too long for a guest's host name.
///
/// Equal names give equal results, so that every attempt to make an instance uses the same name.
pub fn host_name(whole: &str) -> String {
    if whole.len() <= NAME_MAX {
        return whole.to_owned();
    }
    let hash = digest::sha256(whole.as_bytes());
    let first = hash.first_chunk().expect("a digest has 32 bytes");
    let kept = whole.char_indices().take_while(|(at, char)| at + char.len_utf8() <= KEPT);
    let kept: String = kept.map(|(_, char)| char).collect();
    format!("{kept}-{:08x}", u32::from_be_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn names_longer_than_63_are_shortened_and_stay_different() {
        let (one, other) = (host_name(&"a".repeat(70)), host_name(&"a".repeat(71)));
        assert_eq!(one.len(), 63);
        assert_eq!(one[..55], format!("{}-", "a".repeat(54)));
        assert_ne!(one, other);
        assert_eq!(one, host_name(&"a".repeat(70)));
        assert_eq!(host_name(&"a".repeat(63)), "a".repeat(63));
    }
}
