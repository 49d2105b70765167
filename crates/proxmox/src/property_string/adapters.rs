//! Network adapters: `net0` and its like.

use super::PropertyString;

/// Queues that an adapter has at most.
const QUEUES_MAX: u32 = 64;

/// The hardware address of an adapter of any model.
///
/// COMPAT: upstream sees only that of virtio.
pub fn mac(adapter: &PropertyString) -> Option<&str> {
    let of_model = adapter.iter().find(|(key, value)| *key != "macaddr" && is_mac(value));
    let given = adapter.get("macaddr").filter(|value| is_mac(value));
    of_model.map(|(_, value)| value).or(given)
}

/// The emulated card. It is a key with the hardware address as its value, or the value of `model`, or
/// a word without a key.
pub fn model(adapter: &PropertyString) -> Option<&str> {
    let of_address = adapter.iter().find(|(key, value)| *key != "macaddr" && is_mac(value));
    of_address.map(|(key, _)| key).or_else(|| adapter.default_value("model"))
}

/// What an instance changes on an adapter of its template: queues for its CPUs where the card has
/// such a thing, and the firewall where a security group is on the adapter. All else stays.
pub fn prepare(adapter: &mut PropertyString, vcpus: u32, is_protected: bool) {
    if model(adapter) == Some("virtio") {
        adapter.set("queues", vcpus.clamp(1, QUEUES_MAX).to_string());
    }
    if is_protected {
        adapter.set("firewall", "1");
    }
}

fn is_mac(text: &str) -> bool {
    let mut bytes = text.split(':');
    let is_byte = |byte: &str| byte.len() == 2 && byte.bytes().all(|own| own.is_ascii_hexdigit());
    bytes.clone().count() == 6 && bytes.all(is_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, vcpus: u32, is_protected: bool, expected: &str) {
        let mut adapter = PropertyString::parse(text);
        prepare(&mut adapter, vcpus, is_protected);
        assert_eq!(adapter.to_string(), expected);
    }

    #[test]
    fn queues_follow_the_cpus_of_virtio_cards() {
        let mac = "BC:24:11:00:00:01";
        check(
            &format!("virtio={mac},bridge=vmbr0,mtu=1500,queues=2,tag=15"),
            8,
            false,
            &format!("virtio={mac},bridge=vmbr0,mtu=1500,queues=8,tag=15"),
        );
        check(
            &format!("virtio={mac},bridge=vmbr0"),
            128,
            false,
            &format!("virtio={mac},bridge=vmbr0,queues=64"),
        );
        check("model=virtio,bridge=vmbr0", 4, false, "model=virtio,bridge=vmbr0,queues=4");
        check("virtio,bridge=vmbr0", 4, false, "virtio,bridge=vmbr0,queues=4");
    }

    #[test]
    fn cards_of_other_models_keep_their_address_and_unknown_keys() {
        check(
            "e1000=BC:24:11:00:00:01,bridge=vmbr0,rate=12.5,trunks=2;3",
            8,
            true,
            "e1000=BC:24:11:00:00:01,bridge=vmbr0,rate=12.5,trunks=2;3,firewall=1",
        );
    }

    #[test]
    fn an_address_is_found_whatever_the_model() {
        for (text, expected, card) in [
            ("virtio=BC:24:11:00:00:01,bridge=b", Some("BC:24:11:00:00:01"), Some("virtio")),
            ("vmxnet3=bc:24:11:00:00:02,bridge=b", Some("bc:24:11:00:00:02"), Some("vmxnet3")),
            ("e1000-82545em=BC:24:11:00:00:03", Some("BC:24:11:00:00:03"), Some("e1000-82545em")),
            (
                "bridge=b,model=e1000e,macaddr=BC:24:11:00:00:04",
                Some("BC:24:11:00:00:04"),
                Some("e1000e"),
            ),
            ("model=virtio,bridge=b", None, Some("virtio")),
            ("bridge=b", None, None),
        ] {
            let adapter = PropertyString::parse(text);
            assert_eq!((mac(&adapter), model(&adapter)), (expected, card), "{text}");
        }
    }
}
