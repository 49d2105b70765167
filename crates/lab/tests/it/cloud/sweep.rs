//! Calls to the cloud are calls of the process that makes them: they fail, kill and are kept.

use std::{fmt::Write as _, time::Duration};

use expect_test::expect;
use joiner_cloud::{CloudError, CloudProvider, Deletion, order::ClaimId};
use joiner_lab::{Connection, Lab, Setup, cloud::LabCloud, history::Entry, process};

use super::order;

fn bare() -> Lab {
    Lab::new(Setup { bare: true, ..Setup::new(1) })
}

fn cloud(lab: &Lab, connection: &Connection) -> LabCloud {
    LabCloud::new(connection, lab.data_centre(), "test")
}

/// What the history says of the cloud, by whom.
fn told(lab: &Lab) -> String {
    let mut text = String::new();
    for entry in lab.history().entries().iter() {
        if let Entry::Note { who, what, .. } = entry {
            writeln!(text, "{who}: {what}").unwrap();
        }
    }
    text
}

#[tokio::test(start_paused = true)]
async fn every_call_is_kept_and_goes_wrong_as_a_script_says() {
    let lab = bare();
    lab.faults().add_script("at 0s joiner: cut after on create instances").unwrap();
    lab.faults().add_script("at 0s joiner: slow 1m on get instances").unwrap();
    let connection = lab.client("joiner").connect();
    let cloud = cloud(&lab, &connection);
    let wanted = order("web-1", 1);
    let lost = cloud.create(&wanted).await.unwrap_err();
    assert_eq!(
        lost,
        CloudError::Unknown(
            "create instances: connection cut after the call took effect".to_owned()
        )
    );
    let instance = cloud.create(&wanted).await.unwrap();
    let late = cloud.get(&ClaimId::default(), &instance.provider_id).await.unwrap_err();
    assert_eq!(late, CloudError::Unknown("get instances: no answer within 30 s".to_owned()));
    cloud.list().await.unwrap();
    cloud.delete(&wanted.claim, Some(&instance.provider_id)).await.unwrap();
    assert_eq!(connection.calls(), 7);
    expect![[r#"
        joiner: cloud: list instances of NodeClaim web-1: none
        joiner: fault on create instances: connection cut after the call took effect
        joiner: cloud: create instance web-1: lab-2x on host-a1
        joiner: cloud: list instances of NodeClaim web-1: lab://web-1
        joiner: fault on get instances: answer 60000 ms late
        joiner: cloud: list instances: 1
        joiner: cloud: get instance web-1: is there
        joiner: cloud: delete instance web-1
    "#]]
    .assert_eq(&told(&lab));
}

async fn make_two_and_remove_one(lab: &Lab, connection: Connection) {
    let cloud = cloud(lab, &connection);
    for name in ["one", "two"] {
        cloud.create(&order(name, 1)).await.unwrap();
    }
    let one = order("one", 1).claim;
    while cloud.delete(&one, None).await.unwrap() != Deletion::Gone {
        lab.server().clock().sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_may_be_killed_at_every_call_to_the_cloud() {
    let story = |kill| async move {
        let lab = bare();
        lab.faults().add(kill);
        process::run(&lab.client("joiner"), |connection| make_two_and_remove_one(&lab, connection))
            .await;
        lab
    };
    let end = |lab: &Lab| {
        let instances = lab.instances().list().into_iter();
        instances.map(|instance| instance.spec.name).collect::<Vec<_>>()
    };
    let kills = process::sweep("joiner", story, end).await.unwrap();
    // Two creations of two calls, six deletions of two until it is gone, and the last look.
    assert_eq!(kills, 2 * (4 + 10 + 1));
}
