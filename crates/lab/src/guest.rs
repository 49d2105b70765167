//! What a fresh instance makes of the text that its cloud gives it.
//!
//! As far as a node needs it: the text is decoded as cloud-init does it, the file that `kubeadm join`
//! is given is looked up in it, and what stands there becomes the instance that [boots]. So a field
//! that a provider omits is missing on the node.
//!
//! [boots]: crate::cluster::instances::Instances::boot

use std::{fmt, io::Read};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use joiner_core::{
    label::Labels,
    quantity::Quantity,
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
    taint::{Effect, Taint},
};
use serde_json::Value;

use crate::cluster::instances::InstanceSpec;

/// Stands where the guest puts the id that its firmware tells.
const OWN_ID: &str = "@JOINER_PROVIDER_ID@";
/// The taint of a kubelet that waits for a cloud controller.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// The default maximum of pods.
const PODS_MAX: i64 = 110;
/// Of an instance's memory, what firmware and kernel keep from the system: one part in so many.
const KERNELS_PART: u64 = 25;

/// What an instance is given by its cloud.
#[derive(Clone, Debug, Default)]
pub struct Given<'g> {
    /// The text for cloud-init.
    pub user_data: &'g str,
    /// How it is encoded: `base64`, `gzip+base64`, or not at all.
    pub encoding: &'g str,
    /// The id that the guest finds out by itself.
    pub own_id: &'g str,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory_mib: u64,
    /// The size of the first disk.
    pub disk_gib: u64,
}

/// Why an instance never joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confused(String);

impl fmt::Display for Confused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the guest cannot join: {}", self.0)
    }
}

impl std::error::Error for Confused {}

fn confused(why: impl Into<String>) -> Confused {
    Confused(why.into())
}

impl Given<'_> {
    /// The instance that boots with this.
    pub fn instance(&self) -> Result<InstanceSpec, Confused> {
        let config = yaml("the user data", &self.decoded()?)?;
        let files = config["write_files"].as_array();
        let is_join = |file: &&Value| {
            file["path"].as_str().is_some_and(|path| path.ends_with("/kubeadm-join.yaml"))
        };
        let file = files.into_iter().flatten().find(is_join);
        let text = file.and_then(|file| file["content"].as_str());
        let text = text.ok_or_else(|| confused("kubeadm is given no kubeadm-join.yaml"))?;
        let join = yaml("kubeadm-join.yaml", text)?;
        self.joining(&join)
    }

    fn decoded(&self) -> Result<String, Confused> {
        let bytes = match self.encoding {
            "" => self.user_data.as_bytes().to_vec(),
            "base64" | "gzip+base64" => STANDARD
                .decode(self.user_data)
                .map_err(|error| confused(format!("the user data is no base64: {error}")))?,
            other => return Err(confused(format!("cloud-init knows no encoding {other:?}"))),
        };
        let mut text = String::new();
        let read = if self.encoding.starts_with("gzip") {
            GzDecoder::new(&bytes[..]).read_to_string(&mut text)
        } else {
            (&bytes[..]).read_to_string(&mut text)
        };
        read.map_err(|error| confused(format!("the user data is no text: {error}")))?;
        Ok(text)
    }

    /// The instance that a `JoinConfiguration` makes.
    fn joining(&self, join: &Value) -> Result<InstanceSpec, Confused> {
        let registration = &join["nodeRegistration"];
        let name = registration["name"].as_str().ok_or_else(|| confused("the node has no name"))?;
        let arguments = &registration["kubeletExtraArgs"];
        let argument = |name: &str| {
            let named = arguments.as_array().into_iter().flatten();
            let mut named = named.filter(|own| own["name"] == name);
            named.next().and_then(|own| own["value"].as_str())
        };
        let mut taints = Vec::new();
        for taint in registration["taints"].as_array().into_iter().flatten() {
            let taint: Taint = serde_json::from_value(taint.clone())
                .map_err(|error| confused(format!("a taint cannot be read: {error}")))?;
            taints.push(taint);
        }
        if argument("cloud-provider") == Some("external") {
            taints.push(Taint {
                key: UNINITIALIZED.to_owned(),
                value: "true".to_owned(),
                effect: Effect::NoSchedule,
            });
        }
        let labels = argument("node-labels").unwrap_or_default().split(',');
        let labels: Labels = labels
            .filter_map(|label| label.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let provider_id = match argument("provider-id") {
            Some(OWN_ID) => self.own_id,
            Some(id) => id,
            None => "",
        };
        let capacity = self.capacity(argument("max-pods"))?;
        let mut allocatable = capacity.clone();
        for name in ["kube-reserved", "system-reserved"] {
            allocatable = allocatable.minus(&amounts(argument(name), '=')?.into_iter().collect());
        }
        let evictions = amounts(argument("eviction-hard"), '<')?.into_iter();
        let of_memory = evictions.filter(|(signal, _)| *signal == "memory.available");
        let evictions: Resources = of_memory.map(|(_, amount)| (MEMORY, amount)).collect();
        let token = join["discovery"]["bootstrapToken"]["token"].as_str();
        Ok(InstanceSpec {
            provider_id: provider_id.to_owned(),
            labels,
            taints,
            allocatable: allocatable.minus(&evictions),
            capacity,
            join_token: token.map(str::to_owned),
            ..InstanceSpec::new(name)
        })
    }

    fn capacity(&self, pods: Option<&str>) -> Result<Resources, Confused> {
        let pods = pods.map_or(Ok(PODS_MAX), str::parse);
        let pods = pods.map_err(|error| confused(format!("max-pods is no number: {error}")))?;
        let seen = self.memory_mib - self.memory_mib / KERNELS_PART;
        let bytes = |amount: u64| Quantity::bytes(i64::try_from(amount).unwrap_or(i64::MAX));
        Ok(Resources::from_iter([
            (CPU, Quantity::whole(self.cpus.into())),
            (MEMORY, bytes(seen << 20)),
            (EPHEMERAL_STORAGE, bytes(self.disk_gib << 30)),
            (PODS, Quantity::whole(pods)),
        ]))
    }
}

fn yaml(what: &str, text: &str) -> Result<Value, Confused> {
    serde_saphyr::from_str(text).map_err(|error| confused(format!("{what} is no YAML: {error}")))
}

/// Amounts in an argument such as `cpu=80m,memory=1Gi`, by name. Percentages are skipped, because
/// disks are not simulated here.
fn amounts(argument: Option<&str>, by: char) -> Result<Vec<(&str, Quantity)>, Confused> {
    let pairs = argument.unwrap_or_default().split(',').filter_map(|pair| pair.split_once(by));
    let amounts = pairs.filter(|(_, amount)| !amount.ends_with('%')).map(|(name, amount)| {
        let read: Quantity = amount
            .parse()
            .map_err(|error| confused(format!("{name}{by}{amount} is no amount: {error}")))?;
        Ok((name, read))
    });
    amounts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER_DATA: &str = r#"#cloud-config
write_files:
- path: /run/joiner/kubeadm-join.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    discovery:
      bootstrapToken: {token: abcdef.0123456789abcdef}
    nodeRegistration:
      name: prod-karp-general-1
      taints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
      kubeletExtraArgs:
      - {name: provider-id, value: "@JOINER_PROVIDER_ID@"}
      - {name: node-labels, value: "karpenter.sh/nodepool=general,team=a"}
      - {name: max-pods, value: "50"}
      - {name: kube-reserved, value: "cpu=80m,memory=1Gi"}
      - {name: eviction-hard, value: "memory.available<100Mi,nodefs.available<10%"}
"#;

    fn given(user_data: &str) -> Given<'_> {
        Given {
            user_data,
            encoding: "",
            own_id: "vsphere://42",
            cpus: 4,
            memory_mib: 10_000,
            disk_gib: 20,
        }
    }

    #[test]
    fn an_instance_is_what_its_text_says() {
        let instance = given(USER_DATA).instance().unwrap();
        assert_eq!(instance.name, "prod-karp-general-1");
        assert_eq!(instance.provider_id, "vsphere://42");
        assert_eq!(instance.join_token.as_deref(), Some("abcdef.0123456789abcdef"));
        assert_eq!(instance.taints, [Taint::unregistered()]);
        assert_eq!(instance.labels["team"], "a");
        assert_eq!(
            instance.capacity.to_string(),
            "cpu 4, ephemeral-storage 20Gi, memory 9600Mi, pods 50"
        );
        assert_eq!(
            instance.allocatable.to_string(),
            "cpu 3920m, ephemeral-storage 20Gi, memory 8476Mi, pods 50"
        );
    }

    #[test]
    fn a_kubelet_that_waits_for_a_cloud_controller_has_no_id_and_says_so() {
        let text = USER_DATA
            .replace("name: provider-id", "name: cloud-provider")
            .replace("\"@JOINER_PROVIDER_ID@\"", "external");
        let instance = given(&text).instance().unwrap();
        assert_eq!(instance.provider_id, "");
        assert_eq!(instance.taints[1].key, UNINITIALIZED);
    }

    #[test]
    fn a_text_may_be_encoded_as_cloud_init_knows_it() {
        let text = STANDARD.encode(USER_DATA);
        let instance = Given { encoding: "base64", ..given(&text) }.instance().unwrap();
        assert_eq!(instance.name, "prod-karp-general-1");
        let refused = Given { encoding: "rot13", ..given(&text) }.instance().unwrap_err();
        assert!(refused.to_string().contains("\"rot13\""), "{refused}");
    }

    #[test]
    fn a_text_without_a_join_makes_no_node() {
        let refused = given("#cloud-config\npackages: [jq]\n").instance().unwrap_err();
        assert!(refused.to_string().contains("kubeadm-join.yaml"), "{refused}");
    }
}
