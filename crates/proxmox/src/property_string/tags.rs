//! Tags of virtual machines.

use std::collections::BTreeSet;

/// Whether Proxmox VE accepts a tag.
pub fn is_valid(tag: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_inner = |byte: u8| is_first(byte) || matches!(byte, b'-' | b'+' | b'.');
    tag.bytes().next().is_some_and(is_first) && tag.bytes().all(is_inner)
}

/// What to say of a tag that is not valid.
pub fn not_a_tag(tag: &str) -> String {
    format!("{tag:?} is no tag; write letters, digits, _ and, after the first, - + .")
}

/// The tags of an option's value, in its order. Proxmox VE accepts three separators.
pub fn parse(text: &str) -> Vec<&str> {
    text.split([';', ',', ' ']).filter(|tag| !tag.is_empty()).collect()
}

/// The value of an option with these tags: each once, in order.
pub fn join<'t>(tags: impl IntoIterator<Item = &'t str>) -> String {
    let tags: BTreeSet<&str> = tags.into_iter().collect();
    tags.into_iter().collect::<Vec<_>>().join(";")
}

/// The tags that a virtual machine is to have: those that are wanted, and those that it has and that
/// are not of a former wish. Tags of people and of other programs stay.
///
/// COMPAT: upstream takes all other tags away.
pub fn merged<'t>(has: &[&'t str], applied: &[&'t str], wanted: &[&'t str]) -> BTreeSet<&'t str> {
    let of_others = has.iter().filter(|tag| !applied.contains(tag));
    of_others.chain(wanted).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_others_stay_and_ours_go_when_they_are_no_longer_wanted() {
        let has = parse("backup;karpenter;old");
        let merged = merged(&has, &["karpenter", "old"], &["karpenter", "new"]);
        assert_eq!(join(merged), "backup;karpenter;new");
    }

    #[test]
    fn a_tag_that_was_there_before_stays_when_it_is_no_longer_wanted() {
        assert_eq!(join(merged(&["prod"], &[], &["prod"])), "prod");
        assert_eq!(join(merged(&["prod"], &[], &[])), "prod");
        assert_eq!(join(merged(&["prod"], &["prod"], &[])), "");
    }

    #[test]
    fn tags_are_read_with_any_separator_and_written_in_order_once() {
        assert_eq!(parse("b;a, c"), ["b", "a", "c"]);
        assert_eq!(join(["b", "a", "b"]), "a;b");
    }

    #[test]
    fn a_tag_is_made_of_few_characters() {
        for tag in ["karpenter", "go-proxmox+cloud-init", "_x", "9.0", "Prod"] {
            assert!(is_valid(tag), "{tag}");
        }
        for tag in ["", "-x", "a b", "a;b", "é"] {
            assert!(!is_valid(tag), "{tag}");
        }
    }
}
