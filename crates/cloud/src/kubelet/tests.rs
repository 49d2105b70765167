use serde_json::json;

use super::*;

#[test]
fn the_reserved_share_shrinks_with_the_number_of_cpus() {
    let reserved = |cpus| reserved_cpu(cpus).to_string();
    assert_eq!(
        [1, 2, 3, 4, 5, 8, 64].map(reserved),
        ["60m", "70m", "75m", "80m", "83m", "90m", "230m"]
    );
}

#[test]
fn settings_that_pods_do_not_notice_become_arguments() {
    let kubelet: Kubelet = serde_json::from_value(json!({
        "evictionSoft": {"memory.available": "500Mi", "nodefs.available": "15%"},
        "evictionSoftGracePeriod": {"memory.available": "90s"},
        "evictionMaxPodGracePeriod": 60,
        "imageGCHighThresholdPercent": 70,
        "imageGCLowThresholdPercent": 60,
        "cpuCFSQuota": false,
        "clusterDNS": ["10.96.0.10", "fd00::a"],
    }))
    .unwrap();
    let told: Vec<String> = extra_arguments(&kubelet)
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        told,
        [
            "cluster-dns=10.96.0.10,fd00::a",
            "cpu-cfs-quota=false",
            "eviction-max-pod-grace-period=60",
            "eviction-soft=memory.available<500Mi,nodefs.available<15%",
            "eviction-soft-grace-period=memory.available=90s,nodefs.available=2m",
            "image-gc-high-threshold=70",
            "image-gc-low-threshold=60",
        ]
    );
    assert_eq!(extra_arguments(&Kubelet::default()), BTreeMap::new());
}

#[test]
fn settings_that_no_kubelet_starts_with_are_refused() {
    let kubelet: Kubelet = serde_json::from_value(json!({
        "evictionSoft": {"memory.available": "500Mi"},
        "evictionSoftGracePeriod": {"memory.available": "soon", "nodefs.available": "1m"},
        "evictionMaxPodGracePeriod": -1,
        "imageGCHighThresholdPercent": 70,
        "clusterDNS": ["kube-dns"],
    }))
    .unwrap();
    let mut problems = Vec::new();
    check(&kubelet, &mut problems);
    let told: Vec<String> =
        problems.iter().map(|own| format!("{}: {}", own.field, own.text)).collect();
    assert_eq!(
        told,
        [
            "spec.kubelet.evictionSoftGracePeriod[\"memory.available\"]: \"soon\" is not a duration; \
             write one such as 90s or 2m",
            "spec.kubelet.evictionSoftGracePeriod[\"nodefs.available\"]: has no threshold in \
             evictionSoft; write one, or leave the period out",
            "spec.kubelet.evictionMaxPodGracePeriod: -1 is not a duration; write seconds, 0 or more",
            "spec.kubelet.imageGCLowThresholdPercent: is 80, which is not below \
             imageGCHighThresholdPercent, 70; the kubelet does not start like that, so write \
             less",
            "spec.kubelet.clusterDNS[0]: \"kube-dns\" is not an IP address; write one such as \
             10.96.0.10",
        ]
    );
}

#[test]
fn thresholds_are_amounts_or_percentages() {
    let of = |text: &str, capacity: &str| {
        let threshold = Threshold::parse(text)?;
        Some(threshold.of(capacity.parse().unwrap()).to_string())
    };
    assert_eq!(of("5%", "16Gi").as_deref(), Some("858993460"));
    assert_eq!(of("7.5%", "1000").as_deref(), Some("75"));
    assert_eq!(of("100%", "16Gi").as_deref(), Some("0"));
    assert_eq!(of("1Gi", "16Gi").as_deref(), Some("1Gi"));
    assert_eq!(of("10%", "9223372036854775807").as_deref(), Some("922337203685477581"));
    for bad in ["", "%", "lots", "101%", "-1%", "-1Gi"] {
        assert_eq!(of(bad, "1"), None, "{bad}");
    }
}
