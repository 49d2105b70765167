//! Descriptions of inventories that do not hold together.

use joiner_sim_vcenter::{
    Inventory, VCenter,
    inventory::{Account, Datastore, Vm},
};

use crate::support::noon;

fn problem(change: impl FnOnce(&mut Inventory)) -> String {
    let mut inventory = Inventory::small();
    change(&mut inventory);
    VCenter::new(inventory, noon()).unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn who_describes_an_inventory_wrongly_is_told_what_where_and_how_to_mend_it() {
    let instance = |change: fn(&mut Vm)| {
        let mut instance = Vm::new("web");
        change(&mut instance);
        problem(|inventory| inventory.datacenters[0].vms.push(instance))
    };
    assert_eq!(
        instance(|web| web.datastore = "nowhere".to_owned()),
        "instance \"web\": datastore \"nowhere\" is not there; add it to the datacenter's datastores"
    );
    assert_eq!(
        instance(|web| web.folder = "a/b".to_owned()),
        "instance \"web\": folder \"a/b\" is not there; add it to the datacenter's folders"
    );
    assert_eq!(
        instance(|web| web.networks = vec!["dvs1-uplinks".to_owned()]),
        "instance \"web\": networks \"dvs1-uplinks\" is not there; add it to the datacenter's networks"
    );
    assert_eq!(
        problem(|all| all.datacenters[0].datastores.push(Datastore::new("datastore1", 1))),
        "a Datastore in \"datastore\": name \"datastore1\" is taken; give it a name of its own"
    );
    let account = Account::new("joiner", "pw").grant("/dc1/vms", true, &[]);
    assert_eq!(
        problem(|all| all.accounts.push(account)),
        "account \"joiner\": grants \"/dc1/vms\" leads nowhere in the inventory; \
         write it as `/datacenter/vm/folder`, `/datacenter/host/cluster` and the like"
    );
}
