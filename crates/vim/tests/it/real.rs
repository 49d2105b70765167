//! The client against govmomi's vCenter simulator: a server that was not written beside it.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use futures_util::future::join_all;
use joiner_clock::Clock;
use joiner_realparts::vcsim::{PASSWORD, Refusal, USER, Vcsim};
use joiner_vim::{
    Credentials, Endpoint, Https, Method, MoRef, Object, TaskFailed, TaskState, TlsSettings, Uuid,
    Vim, VimError, VimSettings,
    spec::{
        AddressType, Backing, CloneSpec, ConfigSpec, Connectable, Device, DeviceChange, DeviceKind,
        DiskMoveType, ExtraConfig, RelocateSpec,
    },
    tags::{Cardinality, NewCategory, TagError},
    watch::{Change, News},
};

const LIMIT: Duration = Duration::from_mins(5);

fn client(vcsim: &Vcsim, password: &str) -> Vim {
    let endpoint: Endpoint = vcsim.url().parse().unwrap();
    let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
    let transport = Arc::new(Https::new(endpoint, &tls).unwrap());
    let mut settings = VimSettings::new(Credentials::new(USER, password));
    // What the simulator does not tell by itself is then asked for again soon.
    settings.long_poll = Duration::from_secs(5);
    Vim::new(settings, transport, Clock::wall())
}

async fn start(program: &Path, flags: &[&str]) -> (Vcsim, Vim) {
    let vcsim = Vcsim::start(program, flags).await.unwrap();
    let vim = client(&vcsim, PASSWORD);
    (vcsim, vim)
}

async fn at(vim: &Vim, path: &str) -> MoRef {
    vim.find_by_path(path).await.unwrap().expect(path)
}

/// A clone as the provider makes them: off, with a card of its own and keys of ours.
async fn clone_of(vim: &Vim, name: &str, key: &str) -> Method {
    let folder = at(vim, "DC0/vm").await;
    let datastore = at(vim, "DC0/datastore/LocalDS_0").await;
    let pool = at(vim, "DC0/host/DC0_C0/Resources").await;
    let card = Device {
        backing: Some(Backing::Network { device_name: "VM Network".to_owned() }),
        connectable: Some(Connectable::ALWAYS),
        ..Device::new(-100, DeviceKind::Vmxnet3 { address: AddressType::Generated })
    };
    let spec = CloneSpec {
        location: RelocateSpec {
            folder: Some(folder.clone()),
            datastore: Some(datastore),
            disk_move_type: Some(DiskMoveType::MoveAllDiskBackingsAndConsolidate),
            pool: Some(pool),
            ..RelocateSpec::default()
        },
        config: Some(ConfigSpec {
            instance_uuid: Some(key.to_owned()),
            num_cpus: Some(4),
            memory_mb: Some(8192),
            device_changes: vec![DeviceChange::add(card)],
            extra_config: vec![
                ExtraConfig::new("joiner.cluster", "lab"),
                ExtraConfig::new("guestinfo.userdata", "<&>\"ü"),
            ],
            ..ConfigSpec::default()
        }),
        ..CloneSpec::default()
    };
    Method::Clone { folder, name: name.to_owned(), spec: Box::new(spec) }
}

const SOURCE: &str = "DC0/vm/DC0_C0_RP0_VM0";
const UUID: &str = "7d3c6a4e-2f0b-4d55-9d0e-0a3f6f3f9c01";

#[tokio::test]
async fn an_instance_lives_from_clone_to_removal() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &[]).await;
    assert_eq!(vim.about().await.unwrap().api_type, "VirtualCenter");
    vim.current_time().await.unwrap();
    let source = at(&vim, SOURCE).await;

    let method = clone_of(&vim, "lab karp&1", UUID).await;
    let task = vim.start(&source, method).await.unwrap();
    let instance = vim.wait(&task, LIMIT).await.unwrap().object().unwrap();
    assert_eq!(task.state(), TaskState::Success);
    assert_eq!(vim.find_by_uuid(None, UUID, Uuid::Instance).await.unwrap(), Some(instance.clone()));
    assert_eq!(vim.find_all_by_uuid(None, UUID, Uuid::Bios).await.unwrap(), []);
    assert_eq!(vim.find_by_path("DC0/vm/lab karp&1").await.unwrap(), Some(instance.clone()));

    let paths = [
        "name",
        "config.hardware.numCPU",
        "config.hardware.memoryMB",
        "config.extraConfig[\"joiner.cluster\"].value",
        "config.extraConfig[\"guestinfo.userdata\"].value",
        "config.extraConfig[\"joiner.absent\"].value",
        "runtime.powerState",
        "runtime.host",
        "network",
    ];
    let read = vim.read(std::slice::from_ref(&instance), &paths).await.unwrap().remove(0);
    assert_eq!(read.text("name"), Some("lab karp&1"));
    assert_eq!(read.parse::<u32>("config.hardware.numCPU"), Some(4));
    assert_eq!(read.parse::<u64>("config.hardware.memoryMB"), Some(8192));
    assert_eq!(read.text("config.extraConfig[\"joiner.cluster\"].value"), Some("lab"));
    assert_eq!(read.text("config.extraConfig[\"guestinfo.userdata\"].value"), Some("<&>\"ü"));
    assert_eq!(read.value("config.extraConfig[\"joiner.absent\"].value"), None);
    assert_eq!(read.text("runtime.powerState"), Some("poweredOff"));
    assert_eq!(read.reference("runtime.host").unwrap().kind, "HostSystem");
    assert!(!read.references("network").is_empty());

    for (method, state) in
        [(Method::PowerOn { host: None }, "poweredOn"), (Method::PowerOff, "poweredOff")]
    {
        let task = vim.start(&instance, method).await.unwrap();
        vim.wait(&task, LIMIT).await.unwrap();
        let read =
            vim.read(std::slice::from_ref(&instance), &["runtime.powerState"]).await.unwrap();
        assert_eq!(read[0].text("runtime.powerState"), Some(state));
    }
    let off = vim.start(&instance, Method::PowerOff).await.unwrap();
    let Err(TaskFailed::Fault(fault)) = vim.wait(&off, LIMIT).await else { panic!("it is off") };
    assert!(fault.is("InvalidState"), "{fault}");
    assert_eq!(fault.field("existingState"), Some("poweredOff"));

    let annotation = Some("notes".to_owned());
    let change = ConfigSpec { annotation, ..ConfigSpec::default() };
    let task = vim.start(&instance, Method::Reconfigure(Box::new(change))).await.unwrap();
    vim.wait(&task, LIMIT).await.unwrap();
    let task = vim.start(&instance, Method::Destroy).await.unwrap();
    vim.wait(&task, LIMIT).await.unwrap();
    let gone = vim.start(&instance, Method::Destroy).await.unwrap_err();
    assert!(gone.is_fault("ManagedObjectNotFound"), "{gone}");
    let gone = vim.read(&[instance], &["name"]).await.unwrap_err();
    assert!(gone.is_fault("ManagedObjectNotFound"), "{gone}");
    vim.logout().await;
}

#[tokio::test]
async fn of_two_clones_of_one_name_one_fails_with_its_type() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &["-method-delay", "CloneVm:300"]).await;
    let source = at(&vim, SOURCE).await;
    let race = (0..2).map(async |number| {
        let key = format!("7d3c6a4e-2f0b-4d55-9d0e-0a3f6f3f9c0{number}");
        let method = clone_of(&vim, "lab-karp-1", &key).await;
        let task = vim.start(&source, method).await.unwrap();
        vim.wait(&task, LIMIT).await
    });
    let results = join_all(race).await;
    let faults: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    let [TaskFailed::Fault(fault)] = faults[..] else { panic!("{results:?}") };
    assert_eq!(fault.kind, "DuplicateName");
    assert_eq!(fault.object().unwrap().kind, "VirtualMachine");
}

#[tokio::test]
async fn many_tasks_are_waited_for_at_once() {
    let Some(program) = Vcsim::installed() else { return };
    let delays = "CloneVm:200,PowerOnVm:50,LockHandoff:0";
    let (_vcsim, vim) = start(&program, &["-method-delay", delays]).await;
    let source = &at(&vim, SOURCE).await;
    let vim = &vim;
    let made = join_all((0..30).map(async |number| {
        let key = format!("7d3c6a4e-2f0b-4d55-9d0e-0a3f6f3f9c{number:02}");
        let method = clone_of(vim, &format!("lab-karp-{number}"), &key).await;
        let clone = vim.start(source, method).await.unwrap();
        let instance = vim.wait(&clone, LIMIT).await.unwrap().object().unwrap();
        let on = vim.start(&instance, Method::PowerOn { host: None }).await.unwrap();
        vim.wait(&on, LIMIT).await.unwrap();
        instance
    }));
    let made: BTreeSet<MoRef> = made.await.into_iter().collect();
    assert_eq!(made.len(), 30);
}

#[tokio::test]
async fn a_task_can_be_given_up() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &["-method-delay", "CloneVm:60000,LockHandoff:0"]).await;
    let source = at(&vim, SOURCE).await;
    let task = vim.start(&source, clone_of(&vim, "lab-karp-1", UUID).await).await.unwrap();
    let mut changes = task.changes();
    tokio::select! {
        result = vim.wait(&task, LIMIT) => panic!("it takes a minute: {result:?}"),
        state = changes.wait_for(|state| matches!(state, TaskState::Running { .. })) => {
            state.unwrap();
        }
    }
    vim.cancel(&task).await.unwrap();
    let result = vim.wait(&task, LIMIT).await;
    assert!(matches!(result, Err(TaskFailed::Fault(_))), "{result:?}");
}

#[tokio::test]
async fn faults_of_calls_are_typed() {
    let Some(program) = Vcsim::installed() else { return };
    let (vcsim, vim) = start(&program, &[]).await;
    let instance = at(&vim, SOURCE).await;
    for (fault, ancestor) in [
        ("InsufficientHostCapacityFault", "InsufficientResourcesFault"),
        ("NoDiskSpace", "FileFault"),
        ("HostNotConnected", "HostCommunication"),
    ] {
        let refusal = Refusal {
            method: "PowerOffVM_Task".to_owned(),
            fault: fault.to_owned(),
            message: "ordered".to_owned(),
            ..Refusal::default()
        };
        vcsim.refuse(&refusal).await.unwrap();
        let error = vim.start(&instance, Method::PowerOff).await.unwrap_err();
        assert!(error.is_fault(fault) && error.is_fault(ancestor), "{error}");
        vcsim.accept_all().await.unwrap();
    }
}

#[tokio::test]
async fn a_session_that_ends_is_begun_anew() {
    let Some(program) = Vcsim::installed() else { return };
    let (vcsim, vim) = start(&program, &["-method-delay", "PowerOffVm:500"]).await;
    let instance = at(&vim, SOURCE).await;
    let refusal = |method: &str| Refusal {
        method: method.to_owned(),
        fault: "NotAuthenticated".to_owned(),
        max: 1,
        ..Refusal::default()
    };
    vcsim.refuse(&refusal("PowerOffVM_Task")).await.unwrap();
    let task = vim.start(&instance, Method::PowerOff).await.unwrap();
    vcsim.accept_all().await.unwrap();
    vcsim.refuse(&refusal("WaitForUpdatesEx")).await.unwrap();
    vim.wait(&task, LIMIT).await.unwrap();
}

#[tokio::test]
async fn a_wrong_password_is_refused_once() {
    let Some(program) = Vcsim::installed() else { return };
    let vcsim = Vcsim::start(&program, &[]).await.unwrap();
    let vim = client(&vcsim, "wrong");
    for _ in 0..3 {
        let error = vim.current_time().await.unwrap_err();
        assert!(matches!(error, VimError::InvalidLogin { .. }), "{error}");
    }
    let error = vim.tags().categories().await.unwrap_err();
    assert!(matches!(error, TagError::Vim(VimError::InvalidLogin { .. })), "{error}");
}

#[tokio::test]
async fn lists_come_whole_and_in_pages() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &["-vm", "250", "-standalone-host", "0"]).await;
    let root = vim.service_content().await.unwrap().root_folder.clone();
    let paths = ["name", "runtime.powerState", "config.instanceUuid"];
    let instances = vim.list(&root, "VirtualMachine", &paths).await.unwrap();
    assert_eq!(instances.len(), 250);
    let named = |object: &Object| object.text("name").map(str::to_owned);
    let names: BTreeSet<String> = instances.iter().filter_map(named).collect();
    assert_eq!(names.len(), 250);
    let hosts = vim.list(&root, "HostSystem", &["name", "parent"]).await.unwrap();
    assert!(hosts.iter().all(|host| host.reference("parent").is_some()));
    assert_eq!(vim.list(&root, "StoragePod", &["name"]).await.unwrap(), []);
}

#[tokio::test]
async fn an_inventory_is_followed() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &["-vm", "250", "-standalone-host", "0"]).await;
    let folder = at(&vim, "DC0/vm").await;
    let mut inventory = vim.watch(&folder, "VirtualMachine", &["name", "runtime.powerState"]);
    let News::All(all) = inventory.next().await.unwrap() else { panic!("first everything") };
    assert_eq!(all.len(), 250);

    let source = at(&vim, SOURCE).await;
    let off = vim.start(&source, Method::PowerOff).await.unwrap();
    vim.wait(&off, LIMIT).await.unwrap();
    let power = loop {
        let News::Changes(changes) = inventory.next().await.unwrap() else { panic!("changes") };
        let power = changes.iter().find_map(|change| match change {
            Change::Modified { reference, values, .. } if *reference == source => {
                values.get("runtime.powerState").cloned().flatten()
            }
            _ => None,
        });
        if let Some(power) = power {
            break power;
        }
    };
    assert_eq!(&*power.text, "poweredOff");

    let clone = vim.start(&source, clone_of(&vim, "lab-karp-1", UUID).await).await.unwrap();
    let made = vim.wait(&clone, LIMIT).await.unwrap().object().unwrap();
    until(
        &mut inventory,
        |change| matches!(change, Change::Entered(object) if object.reference == made),
    )
    .await;
    let destroy = vim.start(&made, Method::Destroy).await.unwrap();
    vim.wait(&destroy, LIMIT).await.unwrap();
    until(&mut inventory, |change| matches!(change, Change::Left(left) if *left == made)).await;
    inventory.close().await;
}

/// Follows an inventory until a change has come.
async fn until(inventory: &mut joiner_vim::watch::Inventory, came: impl Fn(&Change) -> bool) {
    loop {
        match inventory.next().await.unwrap() {
            News::Changes(changes) if changes.iter().any(&came) => return,
            News::Changes(_) => {}
            News::All(_) => unreachable!("everything was told already"),
        }
    }
}

#[tokio::test]
async fn tags_are_made_attached_and_found() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &[]).await;
    let tags = vim.tags();
    assert_eq!(tags.categories().await.unwrap(), []);
    let category = NewCategory {
        name: "k8s-zone".to_owned(),
        description: "zones".to_owned(),
        cardinality: Cardinality::Single,
        associable_types: vec!["VirtualMachine".to_owned()],
    };
    let zones = tags.create_category(&category).await.unwrap();
    assert_eq!(tags.create_category(&category).await, Err(TagError::AlreadyExists));
    let az1 = tags.create_tag(&zones, "az1", "a zone").await.unwrap();
    let az2 = tags.create_tag(&zones, "az2", "a zone").await.unwrap();
    assert_eq!(tags.create_tag(&zones, "az1", "").await, Err(TagError::AlreadyExists));
    assert_eq!(tags.categories().await.unwrap()[0].name, "k8s-zone");
    assert_eq!(tags.category(&zones).await.unwrap().cardinality, Cardinality::Single);
    let names: BTreeSet<String> =
        tags.tags_of(&zones).await.unwrap().into_iter().map(|tag| tag.name).collect();
    assert_eq!(names, BTreeSet::from(["az1".to_owned(), "az2".to_owned()]));
    let gone = tags.tag("urn:vmomi:InventoryServiceTag:gone:GLOBAL").await;
    assert_eq!(gone, Err(TagError::NotFound));

    let instance = at(&vim, SOURCE).await;
    tags.attach(&instance, std::slice::from_ref(&az1)).await.unwrap();
    tags.attach(&instance, std::slice::from_ref(&az1)).await.expect("twice does no harm");
    let found = tags.objects_with(&[az1.clone(), az2.clone()]).await.unwrap();
    assert_eq!(found[&az1], std::slice::from_ref(&instance));
    assert_eq!(found[&az2], []);
    let found = tags.tags_on(std::slice::from_ref(&instance)).await.unwrap();
    assert_eq!(found[&instance], std::slice::from_ref(&az1));
    tags.detach(&instance, std::slice::from_ref(&az1)).await.unwrap();
    let found = tags.tags_on(std::slice::from_ref(&instance)).await.unwrap();
    assert_eq!(found[&instance], Vec::<String>::new());
    vim.logout().await;
}

#[tokio::test]
async fn privileges_are_known_by_their_ids() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &[]).await;
    let folder = at(&vim, "DC0/vm").await;
    let privileges = vim.privileges(std::slice::from_ref(&folder)).await.unwrap();
    assert!(privileges[&folder].contains("VirtualMachine.Interact.PowerOn"), "{privileges:?}");
}

#[tokio::test]
async fn storage_policies_have_names_and_datastores_that_meet_them() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &[]).await;
    let policies = vim.storage_policies().await.unwrap();
    let vsan = policies.iter().find(|own| own.name == "vSAN Default Storage Policy").unwrap();
    let datastore = at(&vim, "DC0/datastore/LocalDS_0").await;
    let meeting = vim.meeting_policy(&vsan.id, std::slice::from_ref(&datastore)).await.unwrap();
    assert_eq!(meeting, BTreeSet::from([datastore]));
}

#[tokio::test]
async fn a_group_that_is_not_there_is_not_changed() {
    let Some(program) = Vcsim::installed() else { return };
    let (_vcsim, vim) = start(&program, &[]).await;
    let cluster = at(&vim, "DC0/host/DC0_C0").await;
    let members = vec![at(&vim, SOURCE).await];
    let method = Method::SetGroup { name: "rack1".to_owned(), members };
    let task = vim.start(&cluster, method).await.unwrap();
    let Err(TaskFailed::Fault(fault)) = vim.wait(&task, LIMIT).await else {
        panic!("there is no such group");
    };
    assert!(fault.is("InvalidArgument"), "{fault}");
}
