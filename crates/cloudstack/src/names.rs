//! What instances and the jobs that make them are called.

use std::fmt::Write;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

/// How names of instances begin where nobody says otherwise.
pub const DEFAULT_PREFIX: &str = "karpenter-";

/// The longest name: it is the guest's host name.
const NAME_MAX: usize = 63;
/// What is kept of a name that had to be changed, before a hyphen and six digits of a hash.
const KEPT: usize = 56;
/// Digits of the hash that tells changed names apart.
const DIGITS: usize = 6;
/// What a name begins with whose first character is no letter.
const FIRST_LETTER: &str = "k";
/// The namespace of the ids that jobs get. It is ours, and stays: a job is found by it again.
const JOB_NAMESPACE: u128 = 0x5c1e_7f0a_92d4_4b38_a6e1_0d3b_8f52_c947;

/// The name of the instance of a claim: of the virtual machine, its guest and its node. `attempt`
/// counts the instances of one claim whose name another instance held; the first one is 0.
///
/// CloudStack takes letters, digits and hyphens, with a letter in front and no hyphen at the end.
pub fn instance(prefix: &str, claim_name: &str, claim_uid: &str, attempt: u32) -> String {
    let whole = format!("{prefix}{claim_name}");
    let legal = legal(&whole);
    let retry = if attempt == 0 { String::new() } else { format!("-r{attempt}") };
    let mut name = legal;
    if name != whole || name.len() > NAME_MAX {
        let hash = hex(digest(&SHA256, claim_uid.as_bytes()).as_ref());
        name.truncate(KEPT);
        name = format!("{}-{}", name.trim_end_matches('-'), &hash[..DIGITS]);
    }
    name.truncate(NAME_MAX - retry.len());
    format!("{}{retry}", name.trim_end_matches('-'))
}

/// A text with hyphens instead of what a host name cannot have.
fn legal(text: &str) -> String {
    let mut legal = String::new();
    for char in text.to_lowercase().chars() {
        match char {
            'a'..='z' | '0'..='9' => legal.push(char),
            _ if legal.is_empty() || legal.ends_with('-') => {}
            _ => legal.push('-'),
        }
    }
    let legal = legal.trim_end_matches('-');
    if legal.starts_with(|char: char| char.is_ascii_lowercase()) {
        return legal.to_owned();
    }
    format!("{FIRST_LETTER}{legal}")
}

/// The id of the job that makes an instance. It is worked out of the claim, so that a program that
/// was killed finds the job again.
pub fn deploy_job(claim_uid: &str, attempt: u32) -> String {
    let name = format!("{claim_uid}/{attempt}");
    let mut hashed = JOB_NAMESPACE.to_be_bytes().to_vec();
    hashed.extend_from_slice(name.as_bytes());
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &hashed);
    let mut bytes: [u8; 16] = *hash.as_ref().first_chunk().expect("a digest has 20 bytes");
    // Version 5, and the variant of RFC 9562.
    bytes[6] = (bytes[6] & 0x0f) | 0x50;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("memory takes everything");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider_id::is_uuid;

    fn name(claim: &str) -> String {
        instance(DEFAULT_PREFIX, claim, "uid-1", 0)
    }

    #[test]
    fn an_ordinary_claim_names_its_instance_as_upstream_does() {
        assert_eq!(name("default-x7k2p"), "karpenter-default-x7k2p");
    }

    /// Defect 47 of upstream: such names are refused by CloudStack.
    #[test]
    fn names_that_no_guest_can_have_are_changed_and_stay_different() {
        let hash = &name("a.b")["karpenter-a-b-".len()..];
        assert_eq!(hash.len(), DIGITS);
        for (claim, expected) in [
            ("a.b", format!("karpenter-a-b-{hash}")),
            ("Pool", format!("karpenter-pool-{hash}")),
            ("a..b", format!("karpenter-a-b-{hash}")),
            ("a-", format!("karpenter-a-{hash}")),
        ] {
            assert_eq!(name(claim), expected, "{claim}");
        }
        let long = name(&"a".repeat(60));
        assert_eq!(long.len(), 63);
        assert_ne!(long, instance(DEFAULT_PREFIX, &"a".repeat(60), "uid-2", 0));
        assert_eq!(name(&"a".repeat(53)).len(), 63, "just long enough");
    }

    #[test]
    fn every_name_is_a_host_name() {
        for prefix in ["karpenter-", "", "9-", "-", "ä", "K8S_"] {
            for claim in ["default-x7k2p", "9", "a.b.", &"a.".repeat(60), &"9".repeat(80)] {
                for attempt in [0, 1, 12] {
                    let name = instance(prefix, claim, "uid", attempt);
                    let is_legal = name.len() <= 63
                        && name.starts_with(|char: char| char.is_ascii_lowercase())
                        && !name.ends_with('-')
                        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
                    assert!(is_legal, "{prefix} {claim}: {name}");
                }
            }
        }
    }

    #[test]
    fn a_name_that_is_held_by_another_instance_gets_a_number() {
        assert_eq!(instance(DEFAULT_PREFIX, "a", "uid", 2), "karpenter-a-r2");
        let long = instance(DEFAULT_PREFIX, &"a".repeat(60), "uid", 2);
        assert!(long.len() == 63 && long.ends_with("-r2"), "{long}");
    }

    #[test]
    fn a_job_has_the_same_id_in_every_version() {
        let job = deploy_job("2d1f0c5e-7a0b-4a55-9d5f-1f5d3c2b1a00", 0);
        assert!(is_uuid(&job) && job.as_bytes()[14] == b'5', "{job}");
        assert_eq!(job, "0f308cd8-a551-5a35-bf4d-3f827b927d0d");
        assert_ne!(job, deploy_job("2d1f0c5e-7a0b-4a55-9d5f-1f5d3c2b1a00", 1));
    }
}
