//! A small cluster with one of each kind of object that a provider has to tell apart.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::{Grant, Guest, Inventory, Node, Storage, Token, User};

const GIB: u64 = 1 << 30;

/// The role that a provider of instances is granted.
const ROLE: &str = "Datastore.Allocate Datastore.AllocateSpace Datastore.AllocateTemplate \
                    Datastore.Audit Mapping.Audit Mapping.Use Sys.Audit Sys.AccessNetwork \
                    SDN.Audit SDN.Use VM.Audit VM.Allocate VM.Clone VM.Config.CDROM VM.Config.CPU \
                    VM.Config.Memory VM.Config.Disk VM.Config.Network VM.Config.HWType \
                    VM.Config.Cloudinit VM.Config.Options VM.PowerMgmt Pool.Audit Pool.Allocate";

impl Inventory {
    /// Three nodes with a local and a shared storage, a template on each (9001 to 9003, on
    /// `local-lvm`), one on the shared storage (9000), a VM and a container of other people.
    /// `kubernetes@pve!karpenter` has the secret `karpenter-secret` and a provider's role,
    /// `audit@pve!reader` the secret `reader-secret` and may only look. `root@pam` has the password
    /// `root-secret`.
    pub fn small() -> Self {
        let template = |vmid: u32, node: &str, storage: &str, volume: &str| {
            let disk = format!("{storage}:{volume},iothread=1,size=3G");
            let pairs = [
                ("name", "ubuntu"),
                ("template", "1"),
                ("cores", "2"),
                ("memory", "2048"),
                ("ostype", "l26"),
                ("scsihw", "virtio-scsi-single"),
                ("boot", "order=scsi0"),
                ("scsi0", disk.as_str()),
                ("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0"),
                ("smbios1", "uuid=11111111-2222-4333-8444-555555555555"),
                ("tags", "image"),
            ];
            guest(vmid, node, &pairs)
        };
        Self {
            cluster: "small".to_owned(),
            nodes: ["pve-1", "pve-2", "pve-3"].iter().zip(1..).map(node).collect(),
            storages: vec![
                storage("local", "dir", "iso,vztmpl,import", false),
                storage("local-lvm", "lvmthin", "images,rootdir", false),
                storage("shared", "nfs", "images,iso,import", true),
            ],
            guests: vec![
                template(9000, "pve-1", "shared", "9000/base-9000-disk-0.qcow2"),
                template(9001, "pve-1", "local-lvm", "base-9001-disk-0"),
                template(9002, "pve-2", "local-lvm", "base-9002-disk-0"),
                template(9003, "pve-3", "local-lvm", "base-9003-disk-0"),
                Guest {
                    running: true,
                    ..guest(100, "pve-1", &[("name", "mail"), ("cores", "2"), ("memory", "4096")])
                },
                Guest {
                    container: true,
                    running: true,
                    ..guest(101, "pve-2", &[("hostname", "dns"), ("cores", "1"), ("memory", "512")])
                },
            ],
            pools: BTreeMap::from([
                ("nodes".to_owned(), BTreeSet::new()),
                ("others".to_owned(), BTreeSet::from([100])),
            ]),
            users: BTreeMap::from([
                ("root@pam".to_owned(), User { password: "root-secret".into(), grants: vec![] }),
                ("kubernetes@pve".to_owned(), user(ROLE)),
                ("audit@pve".to_owned(), user("VM.Audit Sys.Audit Datastore.Audit")),
            ]),
            tokens: BTreeMap::from([
                token("kubernetes@pve!karpenter", "karpenter-secret"),
                token("audit@pve!reader", "reader-secret"),
                token("root@pam!api", "api-secret"),
            ]),
            security_groups: vec!["kubernetes".to_owned(), "web".to_owned()],
            ip_sets: vec!["management".to_owned()],
            pci_mappings: BTreeMap::from([("gpu".to_owned(), vec!["pve-1".to_owned()])]),
            downloads: BTreeMap::from([(
                "https://images.example/noble.img".to_owned(),
                Bytes::from_static(b"an image of noble"),
            )]),
            ..Self::default()
        }
    }
}

fn node((name, index): (&&str, u32)) -> Node {
    Node {
        name: (*name).to_owned(),
        address: format!("192.0.2.{index}"),
        model: "AMD EPYC 9354P 32-Core Processor".to_owned(),
        sockets: 1,
        cores: 8,
        cpus: 16,
        memory: 64 * GIB,
        bridges: BTreeMap::from([
            ("vmbr0".to_owned(), Some(format!("192.0.2.{index}/24"))),
            ("vmbr1".to_owned(), None),
        ]),
    }
}

fn storage(name: &str, kind: &str, content: &str, shared: bool) -> Storage {
    Storage {
        name: name.to_owned(),
        kind: kind.to_owned(),
        content: content.split(',').map(str::to_owned).collect(),
        shared,
        nodes: Vec::new(),
        size: 500 * GIB,
        disabled: false,
    }
}

fn guest(vmid: u32, node: &str, config: &[(&str, &str)]) -> Guest {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Guest {
        vmid,
        node: node.to_owned(),
        container: false,
        running: false,
        config: config.iter().map(owned).collect(),
        ha: false,
    }
}

fn user(privileges: &str) -> User {
    User { password: String::new(), grants: vec![Grant::new("/", privileges)] }
}

fn token(id: &str, secret: &str) -> (String, Token) {
    (id.to_owned(), Token { secret: secret.to_owned(), ..Token::default() })
}
