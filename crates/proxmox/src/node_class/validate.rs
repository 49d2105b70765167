//! What keeps a class from being used, beyond what its schema refuses.

use super::Spec;
use crate::{
    object::{Object, Problem},
    property_string::tags,
};

/// Lengths of a security group's name that Proxmox VE accepts.
const GROUP_NAME: std::ops::RangeInclusive<usize> = 2..=18;

/// Lengths of `cpuCFSQuotaPeriod` that the kernel accepts: from a millisecond to a second.
const QUOTA_PERIOD: std::ops::RangeInclusive<i64> = 1_000_000..=1_000_000_000;

impl Object<Spec> {
    /// Everything that keeps the class from being used, as far as the object itself shows it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let spec = &self.spec;
        if spec.instance_template_ref.is_none() {
            let text = "is missing; name a ProxmoxTemplate or a ProxmoxUnmanagedTemplate";
            problems.push(Problem::new("spec.instanceTemplateRef", text));
        }
        for (i, tag) in spec.tags.iter().flatten().enumerate() {
            if !tags::is_valid(tag) {
                problems.push(Problem::new(format!("spec.tags[{i}]"), tags::not_a_tag(tag)));
            }
        }
        for (i, group) in spec.security_groups.iter().flatten().enumerate() {
            let at = format!("spec.securityGroups[{i}]");
            if !is_group(&group.name) {
                let text = format!(
                    "{:?} is no name of a security group; write 2 to 18 letters, digits, - and _ \
                     that begin with a letter",
                    group.name
                );
                problems.push(Problem::new(format!("{at}.name"), text));
            }
            if !is_interface(group.interface()) {
                let text = format!("{:?} is no interface; write net0 to net31", group.interface());
                problems.push(Problem::new(format!("{at}.interface"), text));
            }
        }
        self.check_metadata(&mut problems);
        self.check_kubelet(&mut problems);
        problems
    }

    fn check_metadata(&self, problems: &mut Vec<Problem>) {
        let Some(options) = &self.spec.metadata_options else { return };
        let is_cdrom = options.type_.as_deref() == Some("cdrom");
        let templates = options.templates_ref.as_ref().map(|secret| ("templatesRef", secret));
        let values = options.values_ref.as_ref().map(|secret| ("valuesRef", secret));
        if is_cdrom && templates.is_none() {
            let text = "is missing, and spec.metadataOptions.type is cdrom; name the Secret with \
                        the templates, or use type none";
            problems.push(Problem::new("spec.metadataOptions.templatesRef", text));
        }
        for (field, secret) in templates.into_iter().chain(values).filter(|_| is_cdrom) {
            for (part, text) in [("name", &secret.name), ("namespace", &secret.namespace)] {
                if text.as_deref().unwrap_or_default().is_empty() {
                    let at = format!("spec.metadataOptions.{field}.{part}");
                    problems.push(Problem::new(at, "is missing; name the Secret in full"));
                }
            }
        }
    }

    fn check_kubelet(&self, problems: &mut Vec<Problem>) {
        let Some(kubelet) = &self.spec.kubelet_configuration else { return };
        if let Some(period) = &kubelet.cpu_cfs_quota_period
            && !QUOTA_PERIOD.contains(&period.nanos())
        {
            let text = format!("{period} is out of bounds; write 1ms to 1s");
            let at = "spec.kubeletConfiguration.cpuCFSQuotaPeriod";
            problems.push(Problem::new(at, text));
        }
        let shares =
            kubelet.image_gc_high_threshold_percent.zip(kubelet.image_gc_low_threshold_percent);
        if let Some((high, low)) = shares
            && high <= low
        {
            let text = format!("{high} is not above imageGCLowThresholdPercent, {low}; raise it");
            let at = "spec.kubeletConfiguration.imageGCHighThresholdPercent";
            problems.push(Problem::new(at, text));
        }
    }
}

fn is_group(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    GROUP_NAME.contains(&name.len())
        && name.bytes().all(inner)
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
}

/// Proxmox VE has 32 adapters at most. The schema's pattern, which is upstream's, has no bounds.
fn is_interface(name: &str) -> bool {
    let index = name.strip_prefix("net").and_then(|index| index.parse::<u8>().ok());
    index.is_some_and(|index| index < 32 && format!("net{index}") == name)
}
