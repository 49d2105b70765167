//! A small cloud with one of each kind of object that a provider has to tell apart.

use std::collections::BTreeMap;

use super::{
    Account, AccountKind, DiskOffering, Host, Inventory, Network, Project, ServiceOffering,
    Template, Zone,
};

impl Inventory {
    /// Three zones (one of them disabled), four hosts, and an account of each kind: `admin`,
    /// `domain-admin`, `user` and `other`. The key of an account is `NAME-key`, its secret
    /// `NAME-secret`.
    pub fn small() -> Self {
        Self {
            domains: vec!["customers".to_owned()],
            accounts: accounts(),
            projects: vec![Project {
                name: "shop".to_owned(),
                members: vec!["user".to_owned()],
                ..Project::default()
            }],
            zones: vec![
                zone("zone-1"),
                zone("zone-2"),
                Zone { disabled: true, ..zone("zone-off") },
            ],
            hosts: ["zone-1", "zone-1", "zone-2", "zone-off"].iter().zip(1..).map(host).collect(),
            networks: networks(),
            templates: templates(),
            service_offerings: service_offerings(),
            disk_offerings: vec![
                disk_offering("Small disk", Some(5)),
                disk_offering("Custom disk", None),
            ],
            key_pairs: vec![("user".to_owned(), "ops".to_owned())],
            affinity_groups: vec![(
                "user".to_owned(),
                "apart".to_owned(),
                "host anti-affinity".to_owned(),
            )],
            security_groups: vec![("user".to_owned(), "default".to_owned())],
            seed: 1,
            ..Self::default()
        }
    }
}

fn accounts() -> Vec<Account> {
    let account = |name: &str, domain: &str, kind| Account {
        name: name.to_owned(),
        domain: domain.to_owned(),
        kind,
        api_key: format!("{name}-key"),
        secret_key: format!("{name}-secret"),
        ..Account::default()
    };
    vec![
        account("admin", "", AccountKind::RootAdmin),
        account("domain-admin", "customers", AccountKind::DomainAdmin),
        account("user", "customers", AccountKind::User),
        account("other", "customers", AccountKind::User),
    ]
}

fn zone(name: &str) -> Zone {
    Zone { name: name.to_owned(), local_storage: name == "zone-1", ..Zone::default() }
}

fn host((zone, number): (&&str, u32)) -> Host {
    let tags = if number == 2 { vec!["fast".to_owned()] } else { Vec::new() };
    Host {
        name: format!("host-{number}"),
        zone: (*zone).to_owned(),
        cores: 16,
        mhz: 2000,
        memory_mib: 64 * 1024,
        gpus: u32::from(number == 1),
        tags,
    }
}

fn networks() -> Vec<Network> {
    let network = |name: &str, zone: &str, kind: &str, state: &str, prefix: &str| Network {
        name: name.to_owned(),
        zone: zone.to_owned(),
        kind: kind.to_owned(),
        state: state.to_owned(),
        account: "user".to_owned(),
        addresses: 250,
        prefix: prefix.to_owned(),
        user_data: true,
        ..Network::default()
    };
    let tags = BTreeMap::from([("karpenter.sh/discovery".to_owned(), "prod".to_owned())]);
    vec![
        Network { tags, ..network("nodes", "zone-1", "Isolated", "Implemented", "10.1.1") },
        network("fresh", "zone-1", "Isolated", "Allocated", "10.1.2"),
        Network {
            account: String::new(),
            addresses: 3,
            ..network("shared", "zone-1", "Shared", "Setup", "192.168.7")
        },
        Network { user_data: false, ..network("bare", "zone-1", "L2", "Allocated", "") },
        network("nodes-2", "zone-2", "Isolated", "Implemented", "10.2.1"),
        Network {
            account: String::new(),
            project: "shop".to_owned(),
            ..network("shop-nodes", "zone-1", "Isolated", "Implemented", "10.3.1")
        },
        Network {
            account: "other".to_owned(),
            ..network("others", "zone-1", "Isolated", "Implemented", "10.4.1")
        },
        network("off", "zone-off", "Isolated", "Implemented", "10.5.1"),
    ]
}

fn templates() -> Vec<Template> {
    let both = ["zone-1".to_owned(), "zone-2".to_owned()].to_vec();
    let template = |name: &str| Template {
        name: name.to_owned(),
        account: "user".to_owned(),
        ready_in: both.clone(),
        arch: "x86_64".to_owned(),
        hypervisor: "KVM".to_owned(),
        size_gib: 8,
        os_type: "Ubuntu 24.04 LTS".to_owned(),
        kind: "USER".to_owned(),
        ..Template::default()
    };
    let of_admin =
        |name: &str| Template { account: "admin".to_owned(), public: true, ..template(name) };
    let tags = BTreeMap::from([("karpenter.sh/discovery".to_owned(), "prod".to_owned())]);
    vec![
        Template { tags, ..template("ubuntu-2404") },
        of_admin("public"),
        Template {
            ready_in: vec!["zone-2".to_owned()],
            pending_in: vec!["zone-1".to_owned()],
            ..template("downloading")
        },
        Template { arch: "aarch64".to_owned(), ..template("ubuntu-2404-arm") },
        Template { ready_in: vec!["zone-2".to_owned()], ..template("zone-2-only") },
        Template { kind: "VNF".to_owned(), ..of_admin("router") },
        Template { user_data_policy: "DENYOVERRIDE".to_owned(), ..template("own-user-data") },
    ]
}

fn service_offerings() -> Vec<ServiceOffering> {
    let offering = |name: &str, cpus: u32, gib: u64| ServiceOffering {
        name: name.to_owned(),
        cpus: Some(cpus),
        mhz: Some(2000),
        memory_mib: Some(gib * 1024),
        ..ServiceOffering::default()
    };
    let constraints = [
        ("mincpunumber", "1"),
        ("maxcpunumber", "8"),
        ("minmemory", "1024"),
        ("maxmemory", "16384"),
    ];
    let constraints = constraints.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let details = BTreeMap::from([("karpenter.sh/price".to_owned(), "0.04".to_owned())]);
    vec![
        ServiceOffering { details, ..offering("small", 2, 4) },
        offering("medium", 4, 8),
        ServiceOffering { domain: "customers".to_owned(), ..offering("Large Instance", 8, 16) },
        ServiceOffering { domain: "ROOT".to_owned(), ..offering("Large Instance", 8, 32) },
        ServiceOffering { zones: vec!["zone-2".to_owned()], ..offering("zone-2-only", 2, 4) },
        ServiceOffering { local_storage: true, ..offering("local", 2, 4) },
        ServiceOffering {
            cpus: None,
            memory_mib: None,
            details: BTreeMap::from(constraints),
            ..offering("constrained", 0, 0)
        },
        ServiceOffering { cpus: None, mhz: None, memory_mib: None, ..offering("free", 0, 0) },
        ServiceOffering { gpus: 1, ..offering("gpu", 4, 16) },
        ServiceOffering { host_tags: vec!["fast".to_owned()], ..offering("fast", 2, 4) },
        ServiceOffering { root_disk_gib: 40, ..offering("big-root", 2, 4) },
        ServiceOffering { inactive: true, ..offering("retired", 2, 4) },
        offering("huge", 64, 512),
    ]
}

fn disk_offering(name: &str, size_gib: Option<u64>) -> DiskOffering {
    DiskOffering { name: name.to_owned(), size_gib, zones: Vec::new() }
}
