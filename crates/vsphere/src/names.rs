//! The names of instances.

use joiner_cloud::names::host_name;

/// The scheme of provider ids.
const SCHEME: &str = "vsphere://";

/// The name of the instance of a claim: of the virtual machine, its guest and its Node. The same on
/// every attempt, so that vCenter's rule that names are unique in a folder is our lock.
pub(crate) fn instance(cluster: &str, claim: &str) -> String {
    host_name(&format!("{cluster}-karp-{claim}"))
}

/// Whether the predecessor, which did not shorten names, could have called an instance of a cluster so.
pub(crate) fn is_of_predecessor(cluster: &str, name: &str) -> bool {
    name.strip_prefix(cluster).is_some_and(|rest| rest.starts_with("-karp-"))
}

/// The provider id of an instance, by the UUID that its firmware shows.
pub(crate) fn provider_id(uuid: &str) -> String {
    format!("{SCHEME}{}", uuid.to_ascii_lowercase())
}

/// The UUID of a provider id; none if this provider could not have given it.
pub(crate) fn uuid_of(provider_id: &str) -> Option<String> {
    let (scheme, uuid) = provider_id.split_at_checked(SCHEME.len())?;
    let is_uuid = uuid.len() == 36
        && uuid.char_indices().all(|(at, char)| match at {
            8 | 13 | 18 | 23 => char == '-',
            _ => char.is_ascii_hexdigit(),
        });
    (scheme.eq_ignore_ascii_case(SCHEME) && is_uuid).then(|| uuid.to_ascii_lowercase())
}

/// The same UUID with its first three groups in the other order of bytes, as some firmware shows
/// it.
pub(crate) fn swapped(uuid: &str) -> String {
    let swap = |group: &str| -> String {
        let bytes: Vec<&str> = (0..group.len()).step_by(2).map(|at| &group[at..at + 2]).collect();
        bytes.into_iter().rev().collect()
    };
    let groups: Vec<&str> = uuid.split('-').collect();
    let swapped: Vec<String> = groups
        .iter()
        .enumerate()
        .map(|(i, group)| if i < 3 { swap(group) } else { (*group).to_owned() })
        .collect();
    swapped.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_named_after_cluster_and_claim() {
        assert_eq!(instance("prod", "general-x7k2p"), "prod-karp-general-x7k2p");
    }

    #[test]
    fn hostnames_longer_than_63_are_shortened_and_stay_apart() {
        let (one, other) = (instance("prod", &"a".repeat(60)), instance("prod", &"a".repeat(61)));
        assert_eq!(one.len(), 63);
        assert_eq!(&one[..55], format!("prod-karp-{}-", "a".repeat(44)));
        assert_ne!(one, other);
        assert_eq!(one, instance("prod", &"a".repeat(60)));
        let exactly = instance("prod", &"a".repeat(53));
        assert_eq!(exactly, format!("prod-karp-{}", "a".repeat(53)));
    }

    #[test]
    fn provider_ids_are_read_in_any_case_and_nothing_else_is() {
        let uuid = "421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7";
        assert_eq!(provider_id(&uuid.to_uppercase()), format!("vsphere://{uuid}"));
        assert_eq!(uuid_of(&format!("VSPHERE://{}", uuid.to_uppercase())).as_deref(), Some(uuid));
        for other in ["", "vsphere://", uuid, "kwok://x", "vsphere://421d5f2a", "vsphére://x"] {
            assert_eq!(uuid_of(other), None, "{other}");
        }
        assert_eq!(uuid_of(&format!("vsphere://{uuid}-more")), None);
    }

    #[test]
    fn firmware_may_show_three_groups_backwards() {
        let uuid = "421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7";
        assert_eq!(swapped(uuid), "2a5f1d42-0e33-7c4b-9a10-6b2f1e8d44c7");
        assert_eq!(swapped(&swapped(uuid)), uuid);
    }
}
