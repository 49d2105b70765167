//! Which commands an account has.

use joiner_sim_cloudstack::Inventory;

use crate::support::Client;

#[tokio::test(start_paused = true)]
async fn a_command_that_the_role_lacks_is_refused_by_its_name_in_an_error_envelope() {
    let mut inventory = Inventory::small();
    inventory.accounts[2].lacks = vec!["listVolumes".to_owned()];
    let client = Client::of(inventory);
    let user = client.as_account("admin").list("listUsers", &[("listall", "true")]).await;
    let user = user.iter().find(|user| user["username"] == "user").unwrap();
    for command in ["listVolumes", "listHosts"] {
        let reply = client.call(command, &[]).await;
        let text = format!(
            "The API [{command}] does not exist or is not available for the account for user id \
             [{}].",
            user["id"].as_str().unwrap()
        );
        assert_eq!(reply.refusal(), (432, text.as_str()));
        assert_eq!(
            (reply.envelope.as_str(), &reply.body["cserrorcode"]),
            ("errorresponse", &9999.into())
        );
    }
    client.as_account("admin").call("listHosts", &[]).await.ok();
}

#[tokio::test(start_paused = true)]
async fn the_list_of_commands_is_that_of_the_role() {
    let client = Client::small();
    let has = async |client: &Client, name: &str| {
        client.call("listApis", &[("name", name)]).await.ok()["count"] == 1
    };
    assert!(has(&client, "deployVirtualMachine").await);
    assert!(!has(&client, "listHosts").await);
    assert!(has(&client.as_account("admin"), "listHosts").await);
    let deploy = &client.list("listApis", &[("name", "deployVirtualMachine")]).await[0];
    assert_eq!(deploy["isasync"], true);
    let parameters = deploy["params"].as_array().unwrap();
    let zone = parameters.iter().find(|parameter| parameter["name"] == "zoneid").unwrap();
    assert_eq!((&zone["type"], &zone["required"]), (&"uuid".into(), &true.into()));
}

#[tokio::test(start_paused = true)]
async fn capabilities_depend_on_who_asks() {
    let client = Client::small();
    let capability = async |client: &Client| {
        client.call("listCapabilities", &[]).await.ok()["capability"].clone()
    };
    let of_user = capability(&client).await;
    assert_eq!(of_user["cloudstackversion"], "4.22.1.1");
    assert_eq!(of_user["allowuserexpungerecovervm"], false);
    assert_eq!(of_user.get("apilimitmax"), None);
    assert_eq!(capability(&client.as_account("admin")).await["allowuserexpungerecovervm"], true);
}

#[tokio::test(start_paused = true)]
async fn an_administrator_finds_a_user_by_its_key() {
    let admin = Client::small().as_account("admin");
    let found = admin.call("getUser", &[("userapikey", "user-key")]).await.ok();
    assert_eq!(found["user"]["account"], "user");
    assert_eq!(admin.call("getUser", &[("userapikey", "x")]).await.refusal().0, 431);
    let own = admin.as_account("user").fields("listUsers", "username", &[]).await;
    assert_eq!(own, ["user"]);
}

#[tokio::test(start_paused = true)]
async fn only_a_root_administrator_chooses_ids_and_hosts() {
    let client = Client::small();
    let id = "11111111-2222-4333-8444-555555555555";
    let denied = client.deploy("web-1", &[("customid", id)]).await;
    assert_eq!(denied.refusal().0, 531);
    let admin = client.as_account("admin");
    let network = client.id("network", "shared");
    let chosen = [("customid", id), ("networkids", network.as_str())];
    assert_eq!(admin.deployed("web-1", &chosen).await, id);
}
