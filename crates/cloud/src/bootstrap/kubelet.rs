//! The settings that every distribution passes to the kubelet.

use joiner_core::{
    label::{self, Labels},
    quantity::Quantity,
    resources::Resources,
    taint::{Effect, Taint},
};

use super::{
    error::{Error, ErrorKind},
    inputs::{Inputs, Kubelet, ProviderId},
    yaml::Yaml,
};

/// Stands in kubeadm's file where the guest puts its provider id.
pub(crate) const PROVIDER_ID_PLACEHOLDER: &str = "@JOINER_PROVIDER_ID@";

/// Labels of a claim: those that the kubelet may set on its own node, and the others, which the
/// node gets when it registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeLabels {
    pub(crate) passed: Labels,
    pub(crate) held_back: Vec<String>,
}

impl NodeLabels {
    pub(crate) fn of(labels: &Labels) -> Result<Self, Error> {
        let (mut passed, mut held_back) = (Labels::new(), Vec::new());
        for (key, value) in labels {
            if !label::is_valid_key(key) || !label::is_valid_value(value) {
                let remedy = "write letters, digits, '-', '_' and '.', at most 63";
                let problem = format!("{value:?} under this key is no label");
                return Err(invalid(format!("labels[{key:?}]"), problem, remedy));
            }
            if kubelet_may_set(key) {
                passed.insert(key.clone(), value.clone());
            } else {
                held_back.push(key.clone());
            }
        }
        Ok(Self { passed, held_back })
    }

    /// `key=value`, in order of key.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.passed.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }
}

fn kubelet_may_set(key: &str) -> bool {
    const OWN: [&str; 5] =
        [label::REGISTERED, label::INITIALIZED, label::HOSTNAME, label::ARCH, label::OS];
    const ALLOWED: [&str; 8] = [
        label::ZONE,
        label::REGION,
        label::INSTANCE_TYPE,
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    ];
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let within = |parent: &str| {
        domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let kubernetes_own = within("kubernetes.io") || within("k8s.io");
    let kubelets_own = within("kubelet.kubernetes.io") || within("node.kubernetes.io");
    !OWN.contains(&key) && (!kubernetes_own || ALLOWED.contains(&key) || kubelets_own)
}

/// The taints that a node begins with, each once.
pub(crate) fn taints(inputs: &Inputs) -> Result<Vec<Taint>, Error> {
    let mut all = vec![Taint::unregistered()];
    for (field, taints) in [("taints", &inputs.taints), ("startupTaints", &inputs.startup_taints)] {
        for (i, taint) in taints.iter().enumerate() {
            let spelled = label::is_valid_key(&taint.key) && label::is_valid_value(&taint.value);
            if !spelled || matches!(taint.effect, Effect::Other(_)) {
                let remedy =
                    "write key=value:Effect with NoSchedule, PreferNoSchedule or NoExecute";
                let problem = format!("{:?} is no taint", taint.to_string());
                return Err(invalid(format!("{field}[{i}]"), problem, remedy));
            }
            if !all.iter().any(|known| known.matches(taint)) {
                all.push(taint.clone());
            }
        }
    }
    Ok(all)
}

impl From<&Taint> for Yaml {
    fn from(taint: &Taint) -> Self {
        let parts =
            [("key", &*taint.key), ("value", &taint.value), ("effect", taint.effect.as_str())];
        let said = parts.into_iter().filter(|(_, text)| !text.is_empty());
        said.map(|(key, text)| (key, Self::text(text))).collect()
    }
}

/// An argument of the kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Argument {
    fn new(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }

    /// `name=value`.
    pub(crate) fn text(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// The instance's share of the arguments, in the order in which they are written. `provider_id` and
/// `labels` are for distributions that pass them as arguments.
pub(crate) fn arguments(
    inputs: &Inputs,
    provider_id: Option<&str>,
    labels: Option<&NodeLabels>,
) -> Result<Vec<Argument>, Error> {
    let kubelet = &inputs.kubelet;
    let extra = extra_arguments(kubelet)?;
    let mut all = Vec::new();
    if external_cloud_provider(inputs) {
        all.push(Argument::new(CLOUD_PROVIDER, "external"));
    }
    all.extend(provider_id.map(|id| Argument::new("provider-id", id)));
    let labels = labels.map(|labels| labels.texts().join(",")).filter(|text| !text.is_empty());
    all.extend(labels.map(|labels| Argument::new("node-labels", labels)));
    all.extend(max_pods(kubelet).map(|pods| Argument::new("max-pods", pods.to_string())));
    for (name, amounts) in [
        ("kube-reserved", reserved("kubeReserved", &kubelet.kube_reserved)?),
        ("system-reserved", reserved("systemReserved", &kubelet.system_reserved)?),
    ] {
        all.extend(joined(&amounts, '=').map(|text| Argument::new(name, text)));
    }
    let evictions = eviction_hard(kubelet)?;
    all.extend(joined(&evictions, '<').map(|text| Argument::new("eviction-hard", text)));
    all.extend(extra);
    Ok(all)
}

/// Pods at most, if anything is said about them.
pub(crate) fn max_pods(kubelet: &Kubelet) -> Option<u32> {
    kubelet.max_pods.filter(|pods| *pods > 0)
}

/// What is kept, by resource; amounts of zero say nothing.
pub(crate) fn reserved(field: &str, amounts: &Resources) -> Result<Vec<(String, String)>, Error> {
    let mut all = Vec::new();
    for (name, amount) in amounts.iter() {
        if amount < Quantity::ZERO || !label::is_valid_key(name) {
            let problem = format!("{amount} of {name:?} cannot be kept");
            let remedy = "write a resource's name and an amount of 0 or more";
            return Err(invalid(format!("kubelet.{field}"), problem, remedy));
        }
        if amount != Quantity::ZERO {
            all.push((name.to_owned(), amount.to_string()));
        }
    }
    Ok(all)
}

/// Thresholds by signal. One of zero stays: it is how a signal is turned off.
pub(crate) fn eviction_hard(kubelet: &Kubelet) -> Result<Vec<(String, String)>, Error> {
    let mut all = Vec::new();
    for (signal, threshold) in &kubelet.eviction_hard {
        let wrong = |text: &str| {
            text.is_empty()
                || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".%-".contains(&byte))
        };
        let threshold = threshold.trim();
        if wrong(signal) || (!threshold.is_empty() && wrong(threshold)) {
            let remedy = "write a signal such as memory.available, and 200Mi or 5%";
            let field = format!("kubelet.evictionHard[{signal:?}]");
            return Err(invalid(field, format!("{threshold:?} is no threshold"), remedy));
        }
        if !threshold.is_empty() {
            all.push((signal.clone(), threshold.to_owned()));
        }
    }
    Ok(all)
}

const CLOUD_PROVIDER: &str = "cloud-provider";

/// Whether the kubelet expects a cloud controller. Without a controller, the kubelet's taint stays
/// forever.
pub(crate) fn external_cloud_provider(inputs: &Inputs) -> bool {
    let asked = inputs.kubelet.extra_args.get(CLOUD_PROVIDER);
    inputs.provider_id == ProviderId::Cloud || asked.is_some_and(|value| value == "external")
}

/// The extra arguments of the class, in order of name. Arguments with their own field are refused.
pub(crate) fn extra_arguments(kubelet: &Kubelet) -> Result<Vec<Argument>, Error> {
    const OURS: [&str; 8] = [
        "provider-id",
        "node-labels",
        "max-pods",
        "kube-reserved",
        "system-reserved",
        "eviction-hard",
        "register-with-taints",
        "hostname-override",
    ];
    let mut all = Vec::new();
    for (name, value) in &kubelet.extra_args {
        let field = format!("kubelet.extraArgs[{name:?}]");
        let spelled = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if name.is_empty() || name.starts_with('-') || !spelled {
            let remedy = "write the argument's name without dashes before it";
            return Err(invalid(field, "it is no name of an argument".into(), remedy));
        }
        if value.contains(['\n', '\r', '\0']) {
            let remedy = "write it on one line";
            return Err(invalid(field, "its value has a line end or a NUL in it".into(), remedy));
        }
        if OURS.contains(&name.as_str()) {
            let remedy = "use the field that is there for it";
            return Err(invalid(field, "it is set from other fields".into(), remedy));
        }
        if name == CLOUD_PROVIDER && value != "external" {
            return Err(invalid(field, format!("{value:?} is gone"), "write external, or nothing"));
        }
        if name != CLOUD_PROVIDER {
            all.push(Argument::new(name, value));
        }
    }
    Ok(all)
}

fn joined(pairs: &[(String, String)], by: char) -> Option<String> {
    let texts: Vec<_> = pairs.iter().map(|(key, value)| format!("{key}{by}{value}")).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

fn invalid(field: String, problem: String, remedy: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, field, problem, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelet_sets_only_labels_it_may() {
        for key in [
            "team",
            "karpenter.sh/nodepool",
            "example.com/kubernetes.io",
            "notkubernetes.io/x",
            "topology.kubernetes.io/zone",
            "topology.kubernetes.io/region",
            "failure-domain.beta.kubernetes.io/zone",
            "node.kubernetes.io/instance-type",
            "beta.kubernetes.io/arch",
            "node.kubernetes.io/anything",
            "x.node.kubernetes.io/anything",
            "kubelet.kubernetes.io/anything",
            "x.kubelet.kubernetes.io/anything",
        ] {
            assert!(kubelet_may_set(key), "{key}");
        }
        for key in [
            "karpenter.sh/registered",
            "karpenter.sh/initialized",
            "kubernetes.io/hostname",
            "kubernetes.io/arch",
            "kubernetes.io/os",
            "node-role.kubernetes.io/worker",
            "node-restriction.kubernetes.io/x",
            "x.node-restriction.kubernetes.io/x",
            "topology.kubernetes.io/rack",
            "topology.k8s.io/zone",
            "k8s.io/x",
            "xnode.kubernetes.io/x",
        ] {
            assert!(!kubelet_may_set(key), "{key}");
        }
    }
}
