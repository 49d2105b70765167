//! Reading properties: paths, pages, walks, and what is wrong with a question.

use joiner_sim_vcenter::{
    Inventory,
    inventory::{Account, Vm},
};

use crate::support::{
    Client, Object, Spec, all_inside, collector, first_object, from_view, inside, named, object,
    properties,
};

async fn root(client: &Client) -> Object {
    let this = object("ServiceInstance", "ServiceInstance");
    let content = client.call("RetrieveServiceContent", &this, "").await.ok();
    first_object(&content, "rootFolder").unwrap()
}

async fn names_in(client: &Client, view: &Object) -> Vec<String> {
    let spec = format!(
        "<specSet>{}{}</specSet><options/>",
        properties("ManagedEntity", &["name"]),
        from_view(view)
    );
    let answer = client.call("RetrievePropertiesEx", &collector(), &spec).await.ok();
    all_inside(&answer, "val")
}

#[tokio::test(start_paused = true)]
async fn a_value_says_what_it_is() {
    let client = Client::small().await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    let answer = client
        .read(&vm, &["name", "config.template", "config.hardware.numCPU", "runtime.powerState"])
        .await;
    for value in [
        r#"<name>name</name><val xsi:type="xsd:string">ubuntu-2404</val>"#,
        r#"<name>config.template</name><val xsi:type="xsd:boolean">true</val>"#,
        r#"<name>config.hardware.numCPU</name><val xsi:type="xsd:int">2</val>"#,
        r#"<val xsi:type="VirtualMachinePowerState">poweredOff</val>"#,
    ] {
        assert!(answer.contains(value), "{value} in {answer}");
    }
    let host = client.read(&vm, &["runtime.host"]).await;
    assert!(host.contains(r#"<val type="HostSystem" xsi:type="ManagedObjectReference">host-"#));
    let disk = client.read(&vm, &["config.hardware.device[2000]"]).await;
    assert!(disk.contains(r#"<val xsi:type="VirtualDisk"><key>2000</key>"#), "{disk}");
    let all = client.read(&vm, &["config.hardware.device"]).await;
    let begin =
        r#"<val xsi:type="ArrayOfVirtualDevice"><VirtualDevice xsi:type="VirtualPCIController">"#;
    assert!(all.contains(begin), "{all}");
}

#[tokio::test(start_paused = true)]
async fn keys_of_extra_config_are_read_one_by_one() {
    let mut inventory = Inventory::small();
    let mut instance = Vm::new("owned");
    instance.extra_config = vec![("joiner.cluster".into(), "prod".into())];
    inventory.datacenters[0].vms.push(instance);
    let client = Client::admin(inventory).await;
    let vm = client.find("dc1/vm/owned").await;
    let path = |key: &str| format!("config.extraConfig[\"{key}\"].value");
    assert_eq!(client.text(&vm, &path("joiner.cluster")).await.as_deref(), Some("prod"));
    assert_eq!(client.text(&vm, &path("joiner.zone")).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_property_that_no_object_has_is_refused_and_one_that_is_unset_is_absent() {
    let client = Client::small().await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    for path in ["nmae", "config.nmae", "config[1]", "runtime.host.name"] {
        let reply = client.try_read(&vm, &[path]).await;
        assert_eq!(reply.fault(), "InvalidProperty", "{path}");
    }
    let answer = client.read(&vm, &["resourcePool", "runtime.bootTime", "name"]).await;
    assert_eq!(all_inside(&answer, "propSet").len(), 1, "{answer}");
    assert_eq!(inside(&answer, "missingSet"), None);
}

/// As pyvmomi reads.
#[tokio::test(start_paused = true)]
async fn one_property_of_one_object_can_be_fetched() {
    let client = Client::small().await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    let fetch = |path: &str| format!("<prop>{path}</prop>");
    let name = client.call("Fetch", &vm, &fetch("name")).await.ok();
    assert!(name.contains(r#"<returnval xsi:type="xsd:string">ubuntu-2404</returnval>"#), "{name}");
    let unset = client.call("Fetch", &vm, &fetch("parentVApp")).await.ok();
    assert_eq!(inside(&unset, "returnval"), None);
    assert_eq!(client.call("Fetch", &vm, &fetch("nmae")).await.fault(), "InvalidProperty");
}

/// `govc ls` asks for all types that a folder can have, and for their properties.
#[tokio::test(start_paused = true)]
async fn types_of_which_there_are_no_objects_can_be_asked_for() {
    let client = Client::small().await;
    let folder = client.find("dc1/vm/templates").await;
    let children = r#"<selectSet xsi:type="TraversalSpec"><type>Folder</type><path>childEntity</path>
        <skip>false</skip></selectSet>"#;
    let sets = [
        properties("Folder", &["name"]),
        properties("VirtualApp", &["name", "resourcePool"]),
        properties("ComputeResource", &["host", "resourcePool"]),
        properties("VirtualMachine", &["name", "parentVApp"]),
    ];
    let spec = format!(
        "<specSet>{}<objectSet>{}<skip>true</skip>{children}</objectSet></specSet><options/>",
        sets.concat(),
        named("obj", &folder)
    );
    let answer = client.call("RetrievePropertiesEx", &collector(), &spec).await.ok();
    assert_eq!(all_inside(&answer, "val"), ["ubuntu-2404"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_there_fails_the_whole_read() {
    let client = Client::small().await;
    for gone in [object("VirtualMachine", "vm-9999"), object("VirtualMachine", "nonsense")] {
        let reply = client.try_read(&gone, &["name"]).await;
        assert_eq!(reply.fault(), "ManagedObjectNotFound");
        assert_eq!(first_object(&reply.body, "obj"), Some(gone));
    }
}

#[tokio::test(start_paused = true)]
async fn a_container_view_has_what_lies_in_a_container() {
    let client = Client::small().await;
    let root = root(&client).await;
    let view_of = |kinds: &'static [&'static str]| client.container_view(&root, kinds, true);
    assert_eq!(names_in(&client, &view_of(&["HostSystem"]).await).await, ["esx1", "esx2", "esx3"]);
    let pools = names_in(&client, &view_of(&["ResourcePool"]).await).await;
    assert_eq!(pools, ["Resources", "workers"]);
    let networks = names_in(&client, &view_of(&["Network"]).await).await;
    assert_eq!(networks, ["VM Network", "workers", "dvs1-uplinks", "segment1"]);
    let flat = client.container_view(&client.find("dc1/vm").await, &[], false).await;
    assert_eq!(names_in(&client, &flat).await, ["k8s", "templates"]);
    client.call("DestroyView", &flat, "").await.ok();
    assert_eq!(client.try_read(&flat, &["view"]).await.fault(), "ManagedObjectNotFound");
}

#[tokio::test(start_paused = true)]
async fn a_traversal_goes_down_the_tree_by_name() {
    let client = Client::small().await;
    let root = root(&client).await;
    let step = |name: &str, kind: &str, path: &str, next: &[&str]| {
        let next: Vec<String> =
            next.iter().map(|n| format!("<selectSet><name>{n}</name></selectSet>")).collect();
        let next = next.concat();
        format!(
            "<selectSet xsi:type=\"TraversalSpec\"><name>{name}</name><type>{kind}</type>\
             <path>{path}</path><skip>false</skip>{next}</selectSet>"
        )
    };
    let ways = step("folders", "Folder", "childEntity", &["folders", "vms"])
        + &step("vms", "Datacenter", "vmFolder", &["folders"]);
    let spec = format!(
        "<specSet>{}<objectSet>{}<skip>true</skip>{ways}</objectSet></specSet><options/>",
        properties("VirtualMachine", &["name"]),
        named("obj", &root)
    );
    let answer = client.call("RetrievePropertiesEx", &collector(), &spec).await.ok();
    assert_eq!(all_inside(&answer, "val"), ["ubuntu-2404"]);
}

#[tokio::test(start_paused = true)]
async fn long_answers_come_in_pages() {
    let mut inventory = Inventory::small();
    let instances = (0..450).map(|n| Vm::new(&format!("vm{n:03}")));
    inventory.datacenters[0].vms.extend(instances);
    let client = Client::admin(inventory).await;
    let view = client.container_view(&root(&client).await, &["VirtualMachine"], true).await;
    let spec = format!(
        "<specSet>{}{}</specSet><options><maxObjects>200</maxObjects></options>",
        properties("VirtualMachine", &["name"]),
        from_view(&view)
    );
    let mut answer = client.call("RetrievePropertiesEx", &collector(), &spec).await.ok();
    let (mut sizes, mut names) = (Vec::new(), Vec::new());
    loop {
        let page = all_inside(&answer, "val");
        sizes.push(page.len());
        names.extend(page);
        let Some(token) = inside(&answer, "token") else { break };
        if sizes.len() == 1 {
            // What goes away between two pages is left out of the second.
            client.vcenter.remove_vm("vm300").unwrap();
        }
        let token = format!("<token>{token}</token>");
        answer = client.call("ContinueRetrievePropertiesEx", &collector(), &token).await.ok();
    }
    assert_eq!(sizes, [200, 199, 51]);
    assert_eq!(names.len(), 450);
    let token = "<token>1</token>";
    let again = client.call("ContinueRetrievePropertiesEx", &collector(), token).await;
    assert_eq!(again.fault(), "InvalidArgument");
}

#[tokio::test(start_paused = true)]
async fn elements_out_of_order_are_refused() {
    let client = Client::small().await;
    let vm = client.find("dc1/vm/templates/ubuntu-2404").await;
    let spec = "<spec><memoryMB>4096</memoryMB><numCPUs>2</numCPUs></spec>";
    let reply = client.call("ReconfigVM_Task", &vm, spec).await;
    assert_eq!(reply.fault(), "InvalidRequest");
    let told = inside(&reply.body, "faultstring").unwrap();
    assert!(told.contains("numCPUs") && told.contains("out of order"), "{told}");
    for document in ["", "<no", "<a/>", "<Envelope><Body/></Envelope>"] {
        assert_eq!(client.send(document).await.unwrap().fault(), "InvalidRequest", "{document}");
    }
    let unknown = client.call("MakeCoffee", &vm, "").await;
    assert_eq!(unknown.fault(), "InvalidRequest");
    let elsewhere = client.call("CurrentTime", &vm, "").await;
    assert_eq!(elsewhere.fault(), "MethodNotFound");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_spoken_is_refused() {
    let client = Client::small().await;
    let request = http::Request::post("/sdk").header("soapaction", "urn:vim25/99.0");
    let body = r#"<Envelope><Body><RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent></Body></Envelope>"#;
    let reply = client.raw(request.body(body.into()).unwrap()).await.unwrap();
    assert_eq!(reply.fault(), "UnsupportedVersion");
}

#[tokio::test(start_paused = true)]
async fn vms_are_found_by_either_uuid() {
    let client = Client::small().await;
    let template = client.vcenter.vm("ubuntu-2404").unwrap();
    let index = object("SearchIndex", "SearchIndex");
    for (uuid, instance) in [(&template.uuid, false), (&template.instance_uuid, true)] {
        let arguments = |instance| {
            format!(
                "<uuid>{}</uuid><vmSearch>true</vmSearch><instanceUuid>{instance}</instanceUuid>",
                uuid.to_uppercase()
            )
        };
        let found = client.call("FindByUuid", &index, &arguments(instance)).await.object();
        assert_eq!(found.1, template.id);
        let all = client.call("FindAllByUuid", &index, &arguments(instance)).await.ok();
        assert_eq!(all_inside(&all, "returnval"), std::slice::from_ref(&template.id));
        let other = client.call("FindByUuid", &index, &arguments(!instance)).await.ok();
        assert_eq!(inside(&other, "returnval"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_group_hides_its_switch_from_who_may_not_read_it() {
    let mut inventory = Inventory::small();
    let reader = Account::new("reader", "pw").grant("/dc1/network/workers", false, &[]);
    inventory.accounts.push(reader);
    let admin = Client::admin(inventory).await;
    let group = admin.find("dc1/network/workers").await;
    let path = "config.distributedVirtualSwitch";
    let switch = admin.find("dc1/network/dvs1").await;
    assert_eq!(admin.text(&group, path).await, Some(switch.1));
    let reader = admin.logged_in("reader", "pw").await;
    assert_eq!(reader.text(&group, path).await, None);
    assert_eq!(reader.text(&group, "config.key").await, Some(group.1.clone()));
}

#[tokio::test(start_paused = true)]
async fn everything_of_a_kind_can_be_asked_for_at_once() {
    let client = Client::small().await;
    for path in [
        "dc1",
        "dc1/vm",
        "dc1/host/cluster1",
        "dc1/host/cluster1/esx1",
        "dc1/host/cluster1/Resources",
        "dc1/datastore/datastore1",
        "dc1/datastore/pod1",
        "dc1/network/VM Network",
        "dc1/network/workers",
        "dc1/network/segment1",
        "dc1/network/dvs1",
        "dc1/vm/templates/ubuntu-2404",
    ] {
        let of = client.find(path).await;
        let spec = format!(
            "<specSet><propSet><type>{}</type><all>true</all></propSet><objectSet>{}</objectSet>\
             </specSet><options/>",
            of.0,
            named("obj", &of)
        );
        let answer = client.call("RetrievePropertiesEx", &collector(), &spec).await.ok();
        assert!(all_inside(&answer, "propSet").len() > 5, "{path}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn damaged_requests_are_answered_with_a_fault_or_taken_as_they_are() {
    let client = Client::small().await;
    let source = client.find("dc1/vm/templates/ubuntu-2404").await;
    let config = "<numCPUs>2</numCPUs><extraConfig><key>a</key><value xsi:type=\"xsd:string\">b</value></extraConfig>";
    let arguments = client.clone_arguments("web", &Spec::config(config)).await;
    let document = format!(
        "<Envelope xmlns:xsi=\"i\"><Body><CloneVM_Task>{}{arguments}</CloneVM_Task></Body></Envelope>",
        named("_this", &source)
    );
    for cut in 0..document.len() {
        let reply = client.send(&document[..cut]).await.unwrap();
        assert_eq!(reply.fault(), "InvalidRequest", "{}", &document[..cut]);
    }
    for at in 0..document.len() {
        for other in ["", "<", "&", "\"", "9", "\u{1}"] {
            let damaged = format!("{}{other}{}", &document[..at], &document[at + 1..]);
            let reply = client.send(&damaged).await.unwrap();
            assert!(matches!(reply.status, 200 | 500), "{damaged}: {}", reply.body);
        }
    }
    // Whatever was taken for a call has run its course, and the vCenter is as it should be.
    client.clock.sleep(std::time::Duration::from_mins(20)).await;
    assert_eq!(client.vcenter.picture().tasks, []);
}
