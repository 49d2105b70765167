//! What the doctor finds, and that it changes nothing.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use joiner_cloud::doctor::{ClaimSeen, Finding, Patient, SecretSeen, Severity};
use joiner_cloud::{CloudProvider, bootstrap::Secret, class::NodeClass, needs::SecretName};
use joiner_vcenter::{
    Inventory, PoolBounds,
    inventory::{Account, Network},
};
use joiner_vim::spec::{ConfigSpec, ExtraConfig};
use serde_json::{Value, json};

use crate::bench::{World, class, condition, order};

fn patient(classes: &[Value]) -> Patient {
    let classes = classes.iter().map(|more| NodeClass::clone(&class(more.clone())));
    Patient {
        address: "vcenter.example.org".to_owned(),
        classes: Ok(classes.collect()),
        claims: Err("no cluster is read".to_owned()),
        secrets: BTreeMap::new(),
    }
}

async fn examined(world: &World, patient: &Patient) -> Vec<Finding> {
    let (before, since) = (world.server.picture(), world.server.calls().len());
    let found = world.provider().examine(patient).await;
    assert_eq!(world.server.picture(), before, "nothing is changed");
    for call in &world.server.calls()[since..] {
        assert!(only_reads(&call.method), "{} changes something", call.method);
    }
    assert_eq!(world.server.sessions(), 0, "no session is left behind");
    found
}

/// Whether a call only reads, or is about the session itself.
fn only_reads(method: &str) -> bool {
    const READS: [&str; 12] = [
        "RetrieveServiceContent",
        "Login",
        "Logout",
        "CurrentTime",
        "CreateContainerView",
        "DestroyView",
        "RetrievePropertiesEx",
        "ContinueRetrievePropertiesEx",
        "FindByInventoryPath",
        "FindAllByUuid",
        "FetchUserPrivilegeOnEntities",
        "GET /sdk/vimServiceVersions.xml",
    ];
    READS.contains(&method)
        || method.starts_with("GET /rest/")
        || method.contains("/rest/com/vmware/cis/session")
        || method.contains("/tagging/") && method.contains("list-")
}

/// Everything that is not fine, a line each with its remedy.
fn told(found: &[Finding]) -> String {
    let lines = found.iter().filter(|own| own.severity != Severity::Ok).map(|own| {
        let Finding { check, severity, code, text, remedy, .. } = own;
        match remedy.as_str() {
            "" => format!("{severity:?} {check} {code}: {text}"),
            remedy => format!("{severity:?} {check} {code}: {text}\n  -> {remedy}"),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

async fn check(world: &World, patient: &Patient, expected: &Expect) {
    expected.assert_eq(&told(&examined(world, patient).await));
}

#[tokio::test(start_paused = true)]
async fn everything_that_was_looked_at_is_told() {
    let world = World::new();
    let found = examined(&world, &patient(&[json!({})])).await;
    let lines: Vec<String> = found
        .iter()
        .map(|own| format!("{:?} {} {}: {}", own.severity, own.object, own.check, own.text))
        .collect();
    expect![[r#"
        Ok vcenter.example.org address: answers
        Ok vcenter.example.org version: VMware vCenter Server 8.0.3 build-24022515
        Ok vcenter.example.org login: the account is known
        Ok vcenter.example.org clock: differs by 0 s
        Ok vcenter.example.org datacenter: /dc1
        Ok vcenter.example.org folder: "k8s" is there
        Ok vcenter.example.org tags: answers
        Ok cluster "prod" instances: 0 belong to this cluster
        NotChecked cluster "prod" orphans: no cluster is read
        Ok VsphereNodeClass "general" class: says what can be meant
        Ok VsphereNodeClass "general" userData: 5080 bytes with an example of what instances join with
        NotChecked VsphereNodeClass "general" join: no controller has looked at the class yet; its condition BootstrapReady says it once joiner run is there
        Ok VsphereNodeClass "general" compute: leads to /dc1/host/cluster1
        Ok VsphereNodeClass "general" datastore: leads to /dc1/datastore/datastore1
        Ok VsphereNodeClass "general" network: leads to /dc1/network/workers
        Ok VsphereNodeClass "general" template: leads to /dc1/vm/templates/ubuntu-2404
        Ok VsphereNodeClass "general" folder: leads to /dc1/vm/k8s
        Ok VsphereNodeClass "general" privileges: the account has all that are needed
        Ok VsphereNodeClass "general" tags: instances can carry all that they are to carry
        Ok VsphereNodeClass "general" template: /dc1/vm/templates/ubuntu-2404: 20 GiB, ubuntu64Guest, vmx-19, efi; clones get disk.enableUUID
        Ok VsphereNodeClass "general" snapshot: instances are linked clones of a snapshot of /dc1/vm/templates/ubuntu-2404
        Ok VsphereNodeClass "general" datastore: /dc1/datastore/datastore1 has 1995 of 2000 GiB free, an instance takes about 4 GiB
        Ok VsphereNodeClass "general" network: /dc1/network/workers can be reached
        Ok VsphereNodeClass "general" hosts: 8 of 8 hosts of /dc1/host/cluster1 can take instances"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn without_a_class_what_can_be_looked_at_is() {
    let world = World::new();
    let nobody = Patient { classes: Err("no class is given".to_owned()), ..patient(&[]) };
    check(
        &world,
        &nobody,
        &expect![[r#"
        NotChecked orphans NotChecked: no cluster is read
        NotChecked class NotChecked: no class is given"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_to_be_fine_that_could_not_be_asked() {
    let world = World::new();
    world.server.set_password("administrator@vsphere.local", "changed");
    let found = examined(&world, &patient(&[json!({})])).await;
    expect![[r#"
        Problem login InvalidLogin: vCenter refuses the user name or the password of "administrator@vsphere.local"; the next attempt is in 60 s, or at once with other credentials
          -> correct GOVC_USERNAME and GOVC_PASSWORD (--vsphere-username, --vsphere-password), or unlock the account, if it gave a wrong password too often
        NotChecked clock NotChecked: nobody is logged in
        NotChecked datacenter NotChecked: nobody is logged in
        NotChecked folder NotChecked: nobody is logged in
        NotChecked tags NotChecked: nobody is logged in
        NotChecked instances NotChecked: nobody is logged in
        NotChecked orphans NotChecked: nobody is logged in
        NotChecked join NotChecked: no controller has looked at the class yet; its condition BootstrapReady says it once joiner run is there
        NotChecked places NotChecked: nobody is logged in"#]].assert_eq(&told(&found));
    let after_login = found.iter().skip_while(|own| own.check != "login").skip(1);
    let of_vcenter = |own: &&Finding| !["class", "userData"].contains(&own.check);
    assert!(after_login.filter(of_vcenter).all(|own| own.severity == Severity::NotChecked));
}

#[tokio::test(start_paused = true)]
async fn a_vcenter_that_does_not_answer() {
    let world = World::new();
    world.server.trouble("http 503 always").expect("it is understood");
    let found = world.provider().examine(&patient(&[])).await;
    assert_eq!((found[0].check, found[0].severity), ("address", Severity::Problem));
    assert!(found[0].remedy.contains("GOVC_URL"), "{:?}", found[0]);
    assert!(found[1..].iter().all(|own| own.severity == Severity::NotChecked), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_class_with_trouble_everywhere() {
    let mut inventory = Inventory::small();
    let datacenter = &mut inventory.datacenters[0];
    let template = &mut datacenter.vms[0];
    template.tools = false;
    template.hardware = 13;
    template.snapshots.clear();
    template.thin = false;
    datacenter.networks.push(Network { hosts: vec!["esx1".to_owned()], ..Network::new("lonely") });
    let world = World::of(inventory);
    world.server.leave_free("datastore1", 10).expect("there is one");
    world.server.maintain_host("esx2", true).expect("there is one");
    let class = json!({
        "networkSelector": {"name": "lonely", "tags": {}},
        "imageSelector": {"name": "ubuntu-2404", "pattern": "ubuntu-*"},
        "tags": {"owner": "platform"},
    });
    check(&world, &patient(&[class]), &expect![[r#"
        NotChecked orphans NotChecked: no cluster is read
        Warning class FieldNotUsed: VsphereNodeClass "general": spec.imageSelector.pattern is not used, because name is set too
        NotChecked join NotChecked: no controller has looked at the class yet; its condition BootstrapReady says it once joiner run is there
        Warning snapshot NoSnapshot: /dc1/vm/templates/ubuntu-2404 has no snapshot, so that every instance is a full copy, which takes minutes
          -> take a snapshot of it, or write spec.cloneMode: fullClone if that is meant
        Warning template ToolsNeverSeen: vCenter has never seen VMware Tools in /dc1/vm/templates/ubuntu-2404: it was never started, or has none, and then its instances cannot read how to join
          -> make sure that open-vm-tools is installed in the template
        Warning template HardwareTooOld: the virtual hardware of instances from /dc1/vm/templates/ubuntu-2404 is vmx-13, and vSphere's volumes need vmx-15
          -> write vmx-15 or later in spec.hardwareVersion, or upgrade the template, if volumes are to be attached
        Warning pool PoolWithoutRoom: no room for vsphere-vm.cpu-256.mem-4096gb.os-linux: /dc1/host/cluster1 lets its instances use 524288 MiB of memory, and one of this size has 4194304
          -> raise the pool's limit or reservation, add hosts, or choose another
        Problem datastore DatastoreFull: /dc1/datastore/datastore1 has 10 of 2000 GiB free, an instance takes about 20 GiB
          -> make room, or add another datastore to spec.datastoreSelector
        Warning hosts SomeHostsUnfit: 1 of 3 hosts of /dc1/host/cluster1 can take instances: esx2 is in maintenance, esx3 does not see all networks
          -> mend that, or choose what all hosts have"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn selectors_that_lead_nowhere_say_what_the_conditions_say() {
    let world = World::new();
    let class = json!({
        "computeSelector": {"name": "nowhere"},
        "imageSelector": {"pattern": "windows-*"},
        "diskSize": -1,
    });
    check(&world, &patient(&[class]), &expect![[r#"
        NotChecked orphans NotChecked: no cluster is read
        Problem class InvalidDiskSize: spec.diskSize -1 is not a disk size
          -> write GiB, or 0 to keep the template's
        NotChecked userData NotChecked: the class has no size to make it for
        NotChecked join NotChecked: no controller has looked at the class yet; its condition BootstrapReady says it once joiner run is there
        Problem compute ComputeNotFound: spec.computeSelector: there is no cluster or resource pool of the name or at the path "nowhere" that the account can see
          -> correct it, or give the account the role Read-only there
        NotChecked datastore NotChecked: looked for once ComputeReady is true
        NotChecked network NotChecked: looked for once ComputeReady is true
        Problem template ImageNotFound: spec.imageSelector: there is no template whose name is like "windows-*" that the account can see
          -> correct it, or give the account the role Read-only there
        NotChecked tags NotChecked: looked at once every selector leads somewhere
        NotChecked privileges NotChecked: looked at once every selector leads somewhere
        NotChecked snapshot NotChecked: looked at once every selector leads somewhere
        NotChecked hosts NotChecked: looked at once every selector leads somewhere"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn an_account_that_may_only_look() {
    let mut inventory = Inventory::small();
    let account = Account::new("administrator@vsphere.local", "secret");
    inventory.accounts = vec![account.grant("/", true, &["System.Read", "System.View"])];
    let world = World::of(inventory);
    check(&world, &patient(&[json!({})]), &expect![[r#"
        NotChecked orphans NotChecked: no cluster is read
        NotChecked join NotChecked: no controller has looked at the class yet; its condition BootstrapReady says it once joiner run is there
        Problem compute PermissionDenied: the account lacks privileges: Resource.AssignVMToPool on /dc1/host/cluster1
          -> add them to its role
        Problem datastore PermissionDenied: the account lacks privileges: Datastore.AllocateSpace on /dc1/datastore/datastore1
          -> add them to its role
        Problem network PermissionDenied: the account lacks privileges: Network.Assign on /dc1/network/workers
          -> add them to its role
        Problem template PermissionDenied: the account lacks privileges: VirtualMachine.Provisioning.DeployTemplate on /dc1/vm/templates/ubuntu-2404
          -> add them to its role
        Problem folder PermissionDenied: the account lacks privileges: VirtualMachine.Inventory.CreateFromExisting, VirtualMachine.Inventory.Delete, VirtualMachine.Config.AddNewDisk, VirtualMachine.Config.AddRemoveDevice, VirtualMachine.Config.AdvancedConfig, VirtualMachine.Config.Annotation, VirtualMachine.Config.CPUCount, VirtualMachine.Config.DiskExtend, VirtualMachine.Config.EditDevice, VirtualMachine.Config.Memory, VirtualMachine.Config.RemoveDisk, VirtualMachine.Config.Rename, VirtualMachine.Config.Resource, VirtualMachine.Config.Settings, VirtualMachine.Interact.PowerOff, VirtualMachine.Interact.PowerOn, VApp.ApplicationConfig on /dc1/vm/k8s
          -> add them to its role
        Warning tags PermissionDenied: instances are to carry the tag "prod" of category "karpenter.sh/clustername", which is not there, and the account lacks InventoryService.Tagging.CreateCategory on / (the vCenter's root)
          -> make it, or add the privilege to its role
        Warning tags PermissionDenied: instances are to carry the tag "general" of category "karpenter.vsphere.com/vspherenodeclass", which is not there, and the account lacks InventoryService.Tagging.CreateCategory on / (the vCenter's root)
          -> make it, or add the privilege to its role
        Warning pool PoolWithoutRoom: no room for vsphere-vm.cpu-256.mem-4096gb.os-linux: /dc1/host/cluster1 lets its instances use 786432 MiB of memory, and one of this size has 4194304
          -> raise the pool's limit or reservation, add hosts, or choose another"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn instances_without_claims_and_twins() {
    let world = World::new();
    let provider = world.provider();
    let class = class(json!({}));
    let kept = order(&class, 1);
    provider.create(&kept).await.expect("it is made");
    provider.create(&order(&class, 2)).await.expect("it is made");
    let twin = ConfigSpec {
        extra_config: vec![
            ExtraConfig::new("joiner.cluster", "prod"),
            ExtraConfig::new("joiner.nodeclaim-uid", &kept.claim.uid),
        ],
        ..ConfigSpec::default()
    };
    world.clone_as_somebody("prod-karp-twin", twin).await;
    let old = "prod-karp-old";
    world.clone_as_somebody(old, ConfigSpec::default()).await;
    let tag = world.server.tag(&format!("/dc1/vm/k8s/{old}"), "karpenter.sh/clustername", "prod");
    tag.expect("it is there");
    provider.close().await;
    world.admin.logout().await;
    let claims = Ok(vec![ClaimSeen { uid: kept.claim.uid.clone(), provider_id: None }]);
    let patient = Patient { claims, ..patient(&[]) };
    check(&world, &patient, &expect![[r#"
        Warning instances TwoInstancesOfOneClaim: prod-karp-general-1, prod-karp-twin were made for one NodeClaim, 5f0e7a10-1111-4222-8333-000000000001
          -> the older one is used: look whether the other runs anything, and remove it
        Warning orphans Orphans: 2 of 4 instances have no NodeClaim: prod-karp-general-2, prod-karp-old
          -> correct CLUSTER_NAME or the kubeconfig, if they are another cluster's, since the controller removes them once they are older than five minutes"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_controller_said_of_joining_is_repeated() {
    let world = World::new();
    let said = |status: &str, generation: i64| {
        let mut class = NodeClass::clone(&class(json!({})));
        class.status = json!({"conditions": [{
            "type": "BootstrapReady", "status": status, "reason": "JoinTokenMissing",
            "message": "no token; set JOIN_TOKEN", "observedGeneration": generation,
        }]});
        Patient { classes: Ok(vec![class]), ..patient(&[]) }
    };
    let found = async |patient: Patient| {
        let found = world.provider().examine(&patient).await;
        let join = found.into_iter().find(|own| own.check == "join").expect("it was looked at");
        (join.severity, join.code, join.remedy)
    };
    let (severity, code, remedy) = found(said("False", 1)).await;
    assert_eq!((severity, code.as_str()), (Severity::Problem, "JoinTokenMissing"));
    assert_eq!(remedy, "set JOIN_TOKEN");
    assert_eq!(found(said("True", 1)).await.0, Severity::Ok);
    assert_eq!(found(said("True", 0)).await.0, Severity::NotChecked, "it said so of another spec");
}

#[tokio::test(start_paused = true)]
async fn a_text_is_judged_as_the_condition_judges_it() {
    let world = World::new();
    let found = async |user_data: Value| {
        let patient = patient(&[json!({"userData": user_data})]);
        let found = world.provider().examine(&patient).await;
        found.into_iter().find(|own| own.check == "userData").expect("it was looked at")
    };
    let fine = found(json!({"additionalUserdata": "runcmd: [echo joined]"})).await;
    assert_eq!(fine.severity, Severity::Ok, "{fine:?}");
    let broken = json!({"additionalUserdata": "runcmd: [unclosed"});
    let told = found(broken.clone()).await;
    assert_eq!((told.severity, told.code.as_str()), (Severity::Problem, "InvalidUserData"));
    let class = class(json!({"userData": broken}));
    let (_, reason, message) = condition(&world.provider(), &class, "ValidationSucceeded").await;
    assert_eq!((told.code, format!("{}; {}", told.text, told.remedy)), (reason, message));
}

#[tokio::test(start_paused = true)]
async fn selectors_that_lead_somewhere_are_told_beside_one_that_does_not() {
    let world = World::new();
    let led_to = async |class: Value| {
        let found = examined(&world, &patient(&[class])).await;
        let of_selectors = found.iter().filter(|own| own.text.starts_with("leads to "));
        let told: Vec<String> =
            of_selectors.map(|own| format!("{} {}", own.check, own.text)).collect();
        told.join("\n")
    };
    let datastore = led_to(json!({"datastoreSelector": {"name": "gone"}})).await;
    expect![[r#"
        compute leads to /dc1/host/cluster1
        network leads to /dc1/network/workers
        template leads to /dc1/vm/templates/ubuntu-2404
        folder leads to /dc1/vm/k8s"#]]
    .assert_eq(&datastore);
    // What is wrong with a template is known only once it was found.
    for wrong in [json!({"imageSelector": {"name": "gone"}}), json!({"diskSize": 1})] {
        expect![[r#"
            compute leads to /dc1/host/cluster1
            datastore leads to /dc1/datastore/datastore1
            network leads to /dc1/network/workers
            folder leads to /dc1/vm/k8s"#]]
        .assert_eq(&led_to(wrong).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_in_another_zone_than_the_class_says_is_told() {
    let world = World::new();
    for (category, tag) in [("k8s-zone", "az2"), ("k8s-region", "dc1")] {
        world.server.tag("/dc1/host/cluster1", category, tag).expect("it is there");
    }
    let found = examined(&world, &patient(&[json!({})])).await;
    let zones: Vec<&Finding> = found.iter().filter(|own| own.check == "zones").collect();
    let [zones] = &zones[..] else { panic!("{found:?}") };
    assert_eq!((zones.severity, zones.code.as_str()), (Severity::Problem, "ZoneMismatch"));
    assert_eq!(zones.remedy, "correct the class's zone, or the tags");
}

#[tokio::test(start_paused = true)]
async fn a_text_in_a_secret_is_looked_at_where_somebody_has_read_it() {
    let world = World::new();
    let class = json!({"userData": {"secretRef": {"name": "texts", "namespace": "karpenter"}}});
    let namespace = Some("karpenter".to_owned());
    let name = SecretName { namespace, name: "texts".to_owned() };
    let with = |key: &str, text: &str| {
        let text = Secret::new(text.as_bytes().to_vec());
        SecretSeen::Found([(key.to_owned(), text)].into())
    };
    let mut told = Vec::new();
    for seen in [
        None,
        Some(SecretSeen::Unread("secrets \"texts\" is forbidden".to_owned())),
        Some(SecretSeen::Absent),
        Some(with("userdata", "packages: [jq]")),
        Some(with("userData", "runcmd: [unclosed")),
        Some(with("userData", "packages: [jq]")),
    ] {
        let secrets = seen.map(|seen| (name.clone(), seen)).into_iter().collect();
        let patient = Patient { secrets, ..patient(std::slice::from_ref(&class)) };
        let found = examined(&world, &patient).await;
        let of_text = found.iter().filter(|own| own.check == "userData");
        told.extend(
            of_text.map(|own| {
                format!("{:?} {}: {} -> {}", own.severity, own.code, own.text, own.remedy)
            }),
        );
    }
    expect![[r#"
        NotChecked NotChecked: the text is in Secret karpenter/texts, and no cluster is read; leave -f out, and give --kubeconfig with an account that may get it -> 
        NotChecked NotChecked: the text is in Secret karpenter/texts, which could not be read: secrets "texts" is forbidden -> 
        Problem SecretNotFound: spec.userData.secretRef: Secret karpenter/texts is not there -> create it, or refer to another
        Problem SecretIncomplete: spec.userData.secretRef: Secret karpenter/texts has no key "userData" -> add it
        Problem InvalidUserData: VsphereNodeClass general: spec.userData.secretRef: it is a text in no known format, and the instance's format is cloud-config -> write a cloud-config, a script, or another text for cloud-init, which begins with, for example, #cloud-config
        Ok Ok: 5095 bytes with an example of what instances join with -> "#]].assert_eq(&told.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_cannot_take_a_size_is_told() {
    let world = World::new();
    let memory = PoolBounds { limit: Some(16 << 10), ..PoolBounds::default() };
    let pool = "/dc1/host/cluster1/Resources/workers";
    world.server.bound_pool(pool, PoolBounds::default(), memory).expect("there is one");
    let patient = patient(&[json!({"computeSelector": {"name": "workers"}})]);
    check(&world, &patient, &expect![[r#"
        NotChecked orphans NotChecked: no cluster is read
        NotChecked join NotChecked: no controller has looked at the class yet; its condition BootstrapReady says it once joiner run is there
        Warning pool PoolWithoutRoom: no room for vsphere-vm.cpu-256.mem-4096gb.os-linux and 1 more: /dc1/host/cluster1/Resources/workers lets its instances use 16384 MiB of memory, and one of this size has 4194304
          -> raise the pool's limit or reservation, add hosts, or choose another"#]]).await;
}
