//! Hashes of a class.

use joiner_api::{
    duration::Duration,
    hash::{fnv, int, set, structure, text, text_if_any},
};
use joiner_cloud::class::hashes_differ;
use joiner_core::{
    label::Labels,
    quantity::{Format, Quantity},
};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::{pointed_bool, text_of, texts};
use crate::{
    NODE_CLASS_HASH, NODE_CLASS_HASH_V2, NODE_CLASS_HASH_VERSION,
    node_class::{BootDevice, KubeletConfiguration, SecurityGroup, Spec},
};

/// How [`class_hash`] is made.
pub const HASH_VERSION: &str = "v1";

/// The predecessor's hash of what an instance is made with.
///
/// It counts whether the disk's size is written in Gi or in G, and not how large it is.
pub fn class_hash(spec: &Spec) -> u64 {
    let strategy = spec.placement_strategy.as_ref().map(|strategy| {
        structure("PlacementStrategy", [("ZoneBalance", text_of(strategy.zone_balance.as_ref()))])
    });
    let template = spec.instance_template_ref.as_ref().map(|reference| {
        structure(
            "InstanceTemplateClassReference",
            [("Kind", text_if_any(&reference.kind)), ("Name", text_if_any(&reference.name))],
        )
    });
    structure(
        "ProxmoxNodeClassSpec",
        [
            ("Region", text_of(spec.region.as_ref())),
            ("PlacementStrategy", strategy),
            ("InstanceTemplateRef", template),
            ("KubeletConfiguration", spec.kubelet_configuration.as_ref().map(kubelet)),
            ("BootDevice", spec.boot_device.as_ref().map(boot_device)),
        ],
    )
}

/// The hash of what is changed on running instances.
pub fn class_in_place_hash(spec: &Spec) -> u64 {
    let group = |group: &SecurityGroup| {
        structure(
            "SecurityGroups",
            [("Interface", text_of(group.interface.as_ref())), ("Name", text_if_any(&group.name))],
        )
    };
    structure(
        "inPlaceUpdateFields",
        [
            (
                "SecurityGroups",
                spec.security_groups.as_ref().map(|groups| set(groups.iter().map(group))),
            ),
            ("Tags", texts(spec.tags.as_ref())),
            ("ResourcePool", text_of(spec.resource_pool.as_ref())),
        ],
    )
}

/// The hash of everything that an instance is made with, the size of its disk among it.
pub fn class_hash_v2(spec: &Spec) -> u64 {
    let digest = digest(&SHA256, canonical(spec).to_string().as_bytes());
    let first = digest.as_ref().first_chunk().expect("a digest has 32 bytes");
    u64::from_be_bytes(*first)
}

/// Whether the instance of a claim was made with another class than the one that is there now, by
/// the annotations of both. The second hash decides where both have it; hashes that are missing or
/// that were made in different ways say nothing.
pub fn class_has_changed(claim: &Labels, class: &Labels) -> bool {
    match claim.get(NODE_CLASS_HASH_V2).zip(class.get(NODE_CLASS_HASH_V2)) {
        Some((own, now)) => own != now,
        None => hashes_differ(NODE_CLASS_HASH, NODE_CLASS_HASH_VERSION, claim, class),
    }
}

fn kubelet(kubelet: &KubeletConfiguration) -> u64 {
    let share = |share: Option<i32>| share.map(|share| fnv(&share.to_le_bytes()));
    structure(
        "KubeletConfiguration",
        [
            ("CPUManagerPolicy", text_of(kubelet.cpu_manager_policy.as_ref())),
            ("CPUCFSQuota", pointed_bool(kubelet.cpu_cfs_quota)),
            ("CPUCFSQuotaPeriod", kubelet.cpu_cfs_quota_period.as_ref().map(duration)),
            ("TopologyManagerPolicy", text_of(kubelet.topology_manager_policy.as_ref())),
            ("TopologyManagerScope", text_of(kubelet.topology_manager_scope.as_ref())),
            ("ImageGCHighThresholdPercent", share(kubelet.image_gc_high_threshold_percent)),
            ("ImageGCLowThresholdPercent", share(kubelet.image_gc_low_threshold_percent)),
            ("ShutdownGracePeriod", kubelet.shutdown_grace_period.as_ref().map(duration)),
            ("AllowedUnsafeSysctls", texts(kubelet.allowed_unsafe_sysctls.as_ref())),
            ("ClusterDNS", texts(kubelet.cluster_dns.as_ref())),
            ("MaxPods", share(kubelet.max_pods)),
            ("FailSwapOn", pointed_bool(kubelet.fail_swap_on)),
        ],
    )
}

fn duration(duration: &Duration) -> u64 {
    let nanos = Some(duration.nanos()).filter(|nanos| *nanos != 0);
    structure("Duration", [("Duration", nanos.map(int))])
}

fn boot_device(device: &BootDevice) -> u64 {
    structure(
        "BlockDevice",
        [("Size", device.size.map(size)), ("Storage", text_of(device.storage.as_ref()))],
    )
}

/// Of a Go quantity only the format can be seen from outside.
fn size(size: Quantity) -> u64 {
    let format = match size.format() {
        Format::BinarySi => "BinarySI",
        Format::DecimalSi => "DecimalSI",
        Format::DecimalExponent => "DecimalExponent",
    };
    structure("Quantity", [("Format", Some(text(format)))])
}

/// What an instance is made with, as JSON whose keys are in order. What is left out is absent, and an
/// empty list is there; amounts are numbers, so that their spelling does not count.
fn canonical(spec: &Spec) -> Value {
    let nanos = |duration: &Option<Duration>| duration.as_ref().map(Duration::nanos);
    let kubelet = spec.kubelet_configuration.as_ref().map(|kubelet| {
        json!({
            "cpuManagerPolicy": kubelet.cpu_manager_policy,
            "cpuCFSQuota": kubelet.cpu_cfs_quota,
            "cpuCFSQuotaPeriod": nanos(&kubelet.cpu_cfs_quota_period),
            "topologyManagerPolicy": kubelet.topology_manager_policy,
            "topologyManagerScope": kubelet.topology_manager_scope,
            "imageGCHighThresholdPercent": kubelet.image_gc_high_threshold_percent,
            "imageGCLowThresholdPercent": kubelet.image_gc_low_threshold_percent,
            "shutdownGracePeriod": nanos(&kubelet.shutdown_grace_period),
            "allowedUnsafeSysctls": kubelet.allowed_unsafe_sysctls,
            "clusterDNS": kubelet.cluster_dns,
            "maxPods": kubelet.max_pods,
            "failSwapOn": kubelet.fail_swap_on,
        })
    });
    let template = spec.instance_template_ref.as_ref();
    without_nulls(json!({
        "region": spec.region,
        "placementStrategy": spec.placement_strategy.as_ref().map(|strategy| {
            json!({"zoneBalance": strategy.zone_balance})
        }),
        "instanceTemplateRef": template.map(|template| {
            json!({"kind": template.kind, "name": template.name})
        }),
        "kubeletConfiguration": kubelet,
        "bootDevice": spec.boot_device.as_ref().map(|device| {
            json!({"size": device.size.map(Quantity::floor), "storage": device.storage})
        }),
    }))
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(key, value)| (key, without_nulls(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}
