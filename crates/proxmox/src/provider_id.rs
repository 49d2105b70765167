//! Provider ids: region and number of a virtual machine.

/// The scheme of provider ids.
const SCHEME: &str = "proxmox://";

/// The provider id of a virtual machine.
pub fn provider_id(region: &str, vmid: u32) -> String {
    format!("{SCHEME}{region}/{vmid}")
}

/// Region and number of a provider id; none if this provider could not have given it. The region may
/// be empty where another program wrote the id.
pub fn parse(provider_id: &str) -> Option<(&str, u32)> {
    let (region, vmid) = provider_id.strip_prefix(SCHEME)?.split_once('/')?;
    let is_number = !vmid.is_empty() && vmid.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(())?;
    Some((region, vmid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_id_has_a_region_and_a_number() {
        assert_eq!(provider_id("cluster-1", 20001), "proxmox://cluster-1/20001");
        assert_eq!(parse("proxmox://cluster-1/20001"), Some(("cluster-1", 20001)));
        assert_eq!(parse("proxmox:///20001"), Some(("", 20001)));
        for other in [
            "",
            "proxmox://",
            "proxmox://20001",
            "proxmox://a/b/20001",
            "proxmox://a/+1",
            "proxmox://a/20001x",
            "vsphere://a/20001",
            "proxmox://421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
