//! Simulated instances.
//!
//! [`Instances`] is what providers and tests hold: it boots instances, switches them off, and breaks
//! them in every way that the rest of the program has to live with. What happens on an instance is
//! its kubelet's business, see [`kubelet`](super::kubelet).

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::SignedDuration;
use joiner_apiserver::{Key, Server};
use joiner_core::{
    label::Labels,
    quantity::Quantity,
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
    taint::Taint,
};

use super::{Controller, Wake, kubelet::Kubelets};
use crate::chance::Chance;

/// Everything about an instance that is decided before it boots.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceSpec {
    /// Its name, and the name of its node.
    pub name: String,
    /// What its kubelet puts into `spec.providerID`; empty for none.
    pub provider_id: String,
    /// Labels that its kubelet registers with, besides host name, architecture and system.
    pub labels: Labels,
    /// Annotations that its kubelet registers with.
    pub annotations: Labels,
    /// Taints that its kubelet registers with.
    pub taints: Vec<Taint>,
    /// What the instance has.
    pub capacity: Resources,
    /// What of it pods may use.
    pub allocatable: Resources,
    /// Drivers that attach volumes.
    pub volume_drivers: Vec<VolumeDriver>,
    /// From being switched on to the start of the kubelet.
    pub boot_delay: SignedDuration,
    /// From the start of the kubelet to the registration of the node.
    pub join_delay: SignedDuration,
    /// From the registration to being ready.
    pub ready_delay: SignedDuration,
    /// The bootstrap token that the kubelet presents; none where it needs none.
    pub join_token: Option<String>,
    /// The version that the kubelet says it has.
    pub kubelet_version: String,
    /// What is wrong with it from the start.
    pub fate: Fate,
}

/// A driver for volumes on an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeDriver {
    /// Its name, which is the provisioner of its storage classes.
    pub name: String,
    /// How many volumes it can attach; none for no limit.
    pub limit: Option<u32>,
    /// The labels of nodes that say from where volumes can be reached.
    pub topology_keys: Vec<String>,
}

/// What becomes of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It joins and gets ready.
    #[default]
    Joins,
    /// It boots but never joins.
    NeverJoins,
    /// It joins but never gets ready.
    NeverReady,
    /// It joins under another instance's provider id.
    WrongProviderId(String),
    /// It joins without a provider id, which follows after this time.
    LateProviderId(SignedDuration),
}

impl InstanceSpec {
    /// A healthy instance with 4 CPUs and 16 GiB that joins half a minute after it was switched on.
    pub fn new(name: &str) -> Self {
        let capacity: Resources = [
            (CPU, Quantity::whole(4)),
            (MEMORY, Quantity::bytes(16 << 30)),
            (EPHEMERAL_STORAGE, Quantity::bytes(100 << 30)),
            (PODS, Quantity::whole(110)),
        ]
        .into_iter()
        .collect();
        Self {
            name: name.to_owned(),
            provider_id: format!("lab://{name}"),
            labels: Labels::new(),
            annotations: Labels::new(),
            taints: Vec::new(),
            allocatable: capacity.clone(),
            capacity,
            volume_drivers: Vec::new(),
            boot_delay: SignedDuration::from_secs(20),
            join_delay: SignedDuration::from_secs(10),
            ready_delay: SignedDuration::from_secs(5),
            join_token: None,
            kubelet_version: "v1.36.3".to_owned(),
            fate: Fate::Joins,
        }
    }
}

/// An instance as its hypervisor sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceView {
    /// What it was made from.
    pub spec: InstanceSpec,
    /// Whether it is switched on.
    pub running: bool,
    /// Whether its kubelet has registered its node since it was last switched on.
    pub joined: bool,
}

/// A request that no instance can meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceError {
    /// There is an instance of this name.
    Exists(String),
    /// There is no instance of this name.
    Unknown(String),
}

impl fmt::Display for InstanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(name) => {
                write!(f, "instance {name:?} exists: destroy it first or choose another name")
            }
            Self::Unknown(name) => {
                write!(f, "there is no instance {name:?}: boot it first or look at the list")
            }
        }
    }
}

impl std::error::Error for InstanceError {}

/// Something that goes wrong on an instance, until it is [healed](Instances::heal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The kubelet stops; containers run on, but their status is not reported.
    KubeletStopped,
    /// Nothing gets through between the instance and the API server.
    Partitioned,
    /// Pods that are deleted never stop.
    PodsHang,
    /// The kubelet says that it is ready, and that it is not, in turns of this length.
    Flapping(SignedDuration),
}

/// A condition that a node reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCondition {
    /// Its type, such as `DiskPressure` or one of a node problem detector.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The machine-readable reason.
    pub reason: String,
    /// The sentence for people.
    pub message: String,
}

/// How long nodes take that KWOK simulates, in seconds from the first number up to the second. Each
/// node draws its own times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedBoot {
    /// From the Node object to the start of its kubelet.
    pub boot_seconds: RangeInclusive<u32>,
    /// From there to being ready.
    pub ready_seconds: RangeInclusive<u32>,
}

/// What kubelets are told by the world around them.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Boot(Box<InstanceSpec>),
    PowerOn(String),
    PowerOff(String),
    Destroy(String),
    Fault(String, Fault),
    Heal(String),
    Condition(String, NodeCondition),
    EvictPod(Key, String),
    RestartsPerHour(f64),
}

#[derive(Debug, Default)]
struct Yard {
    instances: BTreeMap<String, InstanceView>,
    orders: VecDeque<Order>,
    wake: Option<Wake>,
    /// How long simulated nodes take; none for no time.
    simulated_boot: Option<SimulatedBoot>,
}

/// All instances of a laboratory; clones are the same instances.
#[derive(Clone, Debug, Default)]
pub struct Instances(Arc<Mutex<Yard>>);

/// The instances of a server's cluster, and the controllers that bring them to life.
pub fn controllers(server: &Server, chance: &Chance) -> (Instances, Vec<Box<dyn Controller>>) {
    let instances = Instances::default();
    let kubelets = Kubelets::new(server, instances.clone(), chance.fork("kubelets"));
    (instances, vec![Box::new(kubelets)])
}

impl Instances {
    /// Makes an instance and switches it on.
    pub fn boot(&self, spec: InstanceSpec) -> Result<(), InstanceError> {
        let mut yard = self.yard();
        if yard.instances.contains_key(&spec.name) {
            return Err(InstanceError::Exists(spec.name));
        }
        let view = InstanceView { spec: spec.clone(), running: true, joined: false };
        yard.instances.insert(spec.name.clone(), view);
        yard.order(Order::Boot(Box::new(spec)));
        Ok(())
    }

    /// Switches an instance off, without warning. Its node stays behind.
    pub fn power_off(&self, name: &str) -> Result<(), InstanceError> {
        let mut yard = self.yard();
        let instance = yard.instance(name)?;
        instance.running = false;
        instance.joined = false;
        yard.order(Order::PowerOff(name.to_owned()));
        Ok(())
    }

    /// Switches an instance on; one that is on starts anew.
    pub fn reboot(&self, name: &str) -> Result<(), InstanceError> {
        let mut yard = self.yard();
        let instance = yard.instance(name)?;
        instance.running = true;
        instance.joined = false;
        yard.order(Order::PowerOn(name.to_owned()));
        Ok(())
    }

    /// Removes an instance. Its node stays behind.
    pub fn destroy(&self, name: &str) -> Result<(), InstanceError> {
        let mut yard = self.yard();
        yard.instance(name)?;
        yard.instances.remove(name);
        yard.order(Order::Destroy(name.to_owned()));
        Ok(())
    }

    /// An instance by its name.
    pub fn get(&self, name: &str) -> Option<InstanceView> {
        self.yard().instances.get(name).cloned()
    }

    /// All instances, by name.
    pub fn list(&self) -> Vec<InstanceView> {
        self.yard().instances.values().cloned().collect()
    }

    /// Lets something go wrong on a node that has a kubelet, simulated by KWOK or on an instance.
    pub fn break_node(&self, node: &str, fault: Fault) {
        self.yard().order(Order::Fault(node.to_owned(), fault));
    }

    /// Ends everything that goes wrong on a node, conditions included.
    pub fn heal(&self, node: &str) {
        self.yard().order(Order::Heal(node.to_owned()));
    }

    /// Lets a node report a condition, until it is healed.
    pub fn report(&self, node: &str, condition: NodeCondition) {
        self.yard().order(Order::Condition(node.to_owned(), condition));
    }

    /// Lets the kubelet of a pod's node evict it because the node is low on a resource.
    pub fn evict_under_pressure(&self, namespace: &str, pod: &str, resource: &str) {
        let key = Key::new(namespace, pod);
        self.yard().order(Order::EvictPod(key, resource.to_owned()));
    }

    /// Lets containers end by chance: of a hundred pods, a rate of 0.01 restarts one per hour.
    pub fn restarts_per_hour(&self, rate: f64) {
        self.yard().order(Order::RestartsPerHour(rate));
    }

    /// Lets nodes that KWOK simulates take as long as instances do. Without it, they are ready at once.
    pub fn simulated_nodes_take(&self, boot: SimulatedBoot) {
        self.yard().simulated_boot = Some(boot);
    }

    pub(super) fn simulated_boot(&self) -> Option<SimulatedBoot> {
        self.yard().simulated_boot.clone()
    }

    pub(super) fn attach(&self, wake: &Wake) {
        self.yard().wake = Some(wake.clone());
    }

    pub(super) fn next_order(&self) -> Option<Order> {
        self.yard().orders.pop_front()
    }

    pub(super) fn set_joined(&self, name: &str) {
        if let Some(instance) = self.yard().instances.get_mut(name) {
            instance.joined = true;
        }
    }

    fn yard(&self) -> MutexGuard<'_, Yard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Yard {
    fn instance(&mut self, name: &str) -> Result<&mut InstanceView, InstanceError> {
        self.instances.get_mut(name).ok_or_else(|| InstanceError::Unknown(name.to_owned()))
    }

    fn order(&mut self, order: Order) {
        self.orders.push_back(order);
        if let Some(wake) = &self.wake {
            wake.wake();
        }
    }
}
