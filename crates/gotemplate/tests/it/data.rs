//! The data of the tests, which realparts/gotemplate knows under the same names.

use std::sync::{Arc, LazyLock};

use joiner_gotemplate::{
    Function, Value,
    value::{Field, IntKind, List, Map, Pointer, StructType, Text, Type, UintKind},
};

fn texts() -> Type {
    Type::list(Type::Text)
}

pub(crate) static TAINT: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("Key", Type::Text).yaml_unless_empty("key").json("key"),
        Field::new("Value", Type::Text).yaml_unless_empty("value").json_unless_empty("value"),
        Field::new("Effect", Type::Text).yaml_unless_empty("effect").json("effect"),
    ];
    StructType::new("main.Taint", fields)
});

pub(crate) static KUBELET: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("CPUManagerPolicy", Type::Text).yaml_unless_empty("cpuManagerPolicy"),
        Field::new("CPUCFSQuota", Type::pointer(Type::Bool)).yaml_unless_empty("cpuCFSQuota"),
        Field::new("MaxPods", Type::pointer(Type::Int(IntKind::Int32)))
            .yaml_unless_empty("maxPods"),
        Field::new("ClusterDNS", texts()).yaml_unless_empty("clusterDNS"),
        Field::new("KubeReserved", Type::map(Type::Text)).yaml_unless_empty("kubeReserved"),
        Field::new("Taints", Type::list(Type::Struct(TAINT.clone())))
            .yaml_unless_empty("registerWithTaints"),
    ];
    StructType::new("main.KubeletConfiguration", fields)
});

static METADATA: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let names =
        ["Hostname", "InstanceID", "InstanceUUID", "InstanceType", "ProviderID", "Region", "Zone"];
    let mut fields: Vec<Field> = names.iter().map(|name| Field::new(name, Type::Text)).collect();
    fields.push(Field::new("Tags", texts()));
    fields.push(Field::new("NodeClass", Type::Text));
    StructType::new("main.MetaData", fields)
});

static INTERFACE: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("Name", Type::Text).yaml("name"),
        Field::new("MacAddr", Type::Text).yaml_unless_empty("mac_address"),
        Field::new("DHCPv4", Type::Bool).yaml_unless_empty("dhcp4"),
        Field::new("DHCPv6", Type::Bool).yaml_unless_empty("dhcp6"),
        Field::new("Address4", texts()).yaml_unless_empty("addresses4"),
        Field::new("Gateway4", Type::Text).yaml_unless_empty("gateway4"),
        Field::new("MTU", Type::Uint(UintKind::Uint32)).yaml_unless_empty("mtu"),
    ];
    StructType::new("main.InterfaceConfig", fields)
});

static NETWORK: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("Interfaces", Type::list(Type::Struct(INTERFACE.clone()))),
        Field::new("SearchDomains", texts()).yaml_unless_empty("search_domains"),
        Field::new("NameServers", texts()).yaml_unless_empty("name_servers"),
    ];
    StructType::new("main.NetworkConfig", fields)
});

static RESOURCES: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("CPU", Type::Int(IntKind::Int64)),
        Field::new("Memory", Type::Int(IntKind::Int64)),
        Field::new("Hugepages2Mi", Type::INT).yaml("hugepages2Mi"),
    ];
    StructType::new("main.Resources", fields)
});

static KUBERNETES: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("RootCA", Type::Text),
        Field::new("BootstrapToken", Type::Text),
        Field::new("KubeletConfiguration", Type::pointer(Type::Struct(KUBELET.clone()))),
    ];
    StructType::new("main.Kubernetes", fields)
});

static NODE: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("Metadata", Type::Struct(METADATA.clone())),
        Field::new("Network", Type::Struct(NETWORK.clone())),
        Field::new("Resources", Type::Struct(RESOURCES.clone())),
        Field::new("Kubernetes", Type::Struct(KUBERNETES.clone())),
        Field::new("Values", Type::map(Type::Text)),
    ];
    StructType::new("main.NodeData", fields)
});

static ANYTHING: LazyLock<Arc<StructType>> = LazyLock::new(|| {
    let fields = vec![
        Field::new("Any", Type::Any),
        Field::new("Small", Type::Uint(UintKind::Uint8)),
        Field::new("Ratio", Type::Float),
        Field::new("Inner", Type::Struct(TAINT.clone())),
    ];
    StructType::new("main.Anything", fields)
});

fn made<'f>(of: &Arc<StructType>, values: impl IntoIterator<Item = (&'f str, Value)>) -> Value {
    of.value(values).expect("the test's data fits")
}

fn list(of: Type, items: Vec<Value>) -> Value {
    Value::List(List::new(of, items).expect("the test's data fits"))
}

pub(crate) fn int32(value: i64) -> Value {
    Value::Int(IntKind::Int32, value)
}

pub(crate) fn pointer(value: Value) -> Value {
    Value::Pointer(Pointer::to(value))
}

fn interface(name: &str, mac: &str, mtu: u64, dhcp: bool, addresses: &[&str]) -> Value {
    let addresses = Value::texts(addresses.iter().copied());
    let values = [
        ("Name", name.into()),
        ("MacAddr", mac.into()),
        ("DHCPv4", dhcp.into()),
        ("Address4", addresses),
        ("MTU", Value::Uint(UintKind::Uint32, mtu)),
    ];
    made(&INTERFACE, values)
}

pub(crate) fn kubelet() -> Value {
    let taint = [("Key", "karpenter.sh/unregistered".into()), ("Effect", "NoExecute".into())];
    let values = [
        ("CPUManagerPolicy", "static".into()),
        ("CPUCFSQuota", pointer(false.into())),
        ("MaxPods", pointer(int32(110))),
        ("ClusterDNS", Value::texts(["10.96.0.10"])),
        ("KubeReserved", Value::text_map([("memory", "512Mi"), ("cpu", "100m")])),
        ("Taints", list(Type::Struct(TAINT.clone()), vec![made(&TAINT, taint)])),
    ];
    made(&KUBELET, values)
}

/// What user data of a node is rendered with.
pub(crate) fn node() -> Value {
    let metadata = [
        ("Hostname", "worker-1".into()),
        ("InstanceID", "100".into()),
        ("InstanceType", "2x4".into()),
        ("ProviderID", "proxmox://region-1/100".into()),
        ("Region", "region-1".into()),
        ("Zone", "zone-a".into()),
        ("Tags", Value::texts(["karpenter", "blue"])),
    ];
    let interfaces = vec![
        interface("eth0", "BC:24:11:0A:0B:0C", 1500, true, &[]),
        interface("eth1", "BC:24:11:0A:0B:0D", 0, false, &["10.0.0.5/24"]),
    ];
    let network = [
        ("Interfaces", list(Type::Struct(INTERFACE.clone()), interfaces)),
        ("NameServers", Value::texts(["1.1.1.1", "2001:db8::1"])),
    ];
    let resources = [
        ("CPU", Value::Int(IntKind::Int64, 4)),
        ("Memory", Value::Int(IntKind::Int64, 8 << 30)),
        ("Hugepages2Mi", Value::int(0)),
    ];
    let kubernetes = [
        ("RootCA", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n".into()),
        ("BootstrapToken", "abcdef.0123456789abcdef".into()),
        ("KubeletConfiguration", pointer(kubelet())),
    ];
    let values = [
        ("SSHAuthorizedKeys", "ssh-ed25519 AAAAC3Nz one,ssh-ed25519 AAAAC3Nz two"),
        ("K3sURL", "https://api.example.com:6443"),
        ("settings", "mode=fast;empty=;odd"),
        ("K3sToken", "K10placeholder::node:secret"),
    ];
    let parts = [
        ("Metadata", made(&METADATA, metadata)),
        ("Network", made(&NETWORK, network)),
        ("Resources", made(&RESOURCES, resources)),
        ("Kubernetes", made(&KUBERNETES, kubernetes)),
        ("Values", Value::text_map(values)),
    ];
    made(&NODE, parts)
}

/// A function that is a value, `shout` in realparts/gotemplate.
fn shout() -> Value {
    let function = Function::new(vec![Type::Text], Type::Text, |_, values| {
        let [Value::Text(text), rest @ ..] = values else { return Err("no text".into()) };
        let mut shouted = text.lossy().to_uppercase();
        for value in rest {
            match value {
                Value::Text(text) => shouted.push_str(&text.lossy()),
                Value::Int(IntKind::Int, number) => shouted.push_str(&number.to_string()),
                _ => shouted.push('?'),
            }
        }
        Ok(shouted.into())
    });
    Value::Function(Arc::new(function.and_more(Type::Any)))
}

/// A function that is a value, `add` in realparts/gotemplate.
fn add() -> Value {
    let function = Function::new(vec![Type::INT, Type::INT], Type::INT, |_, values| {
        let [Value::Int(_, one), Value::Int(_, other)] = values else {
            return Err("no ints".into());
        };
        Ok(Value::int(one.wrapping_add(*other)))
    });
    Value::Function(Arc::new(function))
}

/// A value of each kind, by names.
pub(crate) fn data() -> Value {
    let anything = [
        ("Any", Value::list([Value::int(1), "a".into()])),
        ("Small", Value::Uint(UintKind::Uint8, 200)),
        ("Ratio", Value::Float(0.25)),
        ("Inner", made(&TAINT, [("Key", "k".into())])),
    ];
    let mixed = [Value::int(1), "a".into(), Value::Nil, Value::Float(2.5), true.into()];
    let floats = [0.1, 1e6, 1e21, -0.0, 1.5e-7, 100.0];
    let yes = Value::Map(Map::new(Type::Bool, [(Text::from("on"), true.into())].into()).unwrap());
    Value::map([
        ("node", node()),
        ("list", Value::list(mixed)),
        ("texts", Value::texts(["one", "two", "three", ""])),
        ("ints", list(Type::INT, [3, 1, 2].map(Value::int).to_vec())),
        ("floats", list(Type::Float, floats.map(Value::Float).to_vec())),
        ("map", Value::text_map([("b", "2"), ("a", "1"), ("a10", "ten"), ("a2", "two")])),
        ("flags", yes),
        (
            "nested",
            Value::map([("deep", Value::map([("key", Value::int(7))])), ("nil", Value::Nil)]),
        ),
        ("none", Value::Nil),
        ("nilList", Value::List(List::nil(Type::Text))),
        ("emptyList", Value::list([])),
        ("nilMap", Value::Map(Map::nil(Type::Any))),
        ("pointer", pointer(int32(5))),
        ("nilPointer", Value::Pointer(Pointer::nil(Type::Struct(TAINT.clone())))),
        ("taint", pointer(made(&TAINT, [("Key", "dedicated".into())]))),
        ("text", "Hello, Wörld".into()),
        ("markup", "<a href=\"x\">O'Neil & co</a>".into()),
        ("lines", "first\nsecond\n".into()),
        ("raw", Value::text(vec![b'o', 0xff, b'k'])),
        ("empty", "".into()),
        ("int", Value::int(42)),
        ("minus", Value::int(-7)),
        ("zero", Value::int(0)),
        ("int32", int32(9)),
        ("uint", Value::Uint(UintKind::Uint32, 9)),
        ("big", Value::Uint(UintKind::Uint64, u64::MAX)),
        ("float", Value::Float(2.5)),
        ("yes", true.into()),
        ("no", false.into()),
        ("any", made(&ANYTHING, anything)),
        ("shout", shout()),
        ("add", add()),
    ])
}
