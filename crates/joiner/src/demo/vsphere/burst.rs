//! How the instances of the demonstration's burst spread over its zones.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use jiff::SignedDuration;
use joiner_lab::{Setup, history::Keep};
use joiner_sim_vcenter::Picture;
use joiner_view::stage::Stage;

use super::Estate;
use crate::{
    build::metrics_page,
    cli::DemoProvider,
    demo::{
        audience::{Audience, watch},
        control::control_loop_with,
        laboratory, run_estate,
        story::{Play, play, story},
    },
};

/// When the busiest host fails, and its instances have to run elsewhere.
const A_HOST_FAILS: SignedDuration = SignedDuration::from_secs(290);

/// Pictures of the vCenter, one a second, until a host fails.
async fn pictures(seed: u64) -> Vec<Picture> {
    let mut lab = laboratory(Setup { keep: Keep::Nothing, ..Setup::new(seed) });
    let clock = lab.server().clock().clone();
    let estate = Estate::new(&lab, seed);
    let audience = Audience::new(clock.now(), Stage::default(), Some(estate.clone()));
    let audience = Rc::new(RefCell::new(audience));
    let feed = lab.server().feed_with_past();
    let stage = Play::on(&lab, &audience, Some(estate.clone()));
    let story = story(seed, DemoProvider::Vsphere);
    let page = metrics_page().expect("metrics have different names");
    let control = Box::pin(control_loop_with(&lab, seed, page, Some(estate.provider())));
    let (server, end) = (lab.server().clone(), clock.now() + A_HOST_FAILS);
    let seen = async {
        let mut pictures = Vec::new();
        while clock.now() < end {
            clock.sleep(Duration::from_secs(1)).await;
            pictures.push(estate.vcenter.picture());
        }
        pictures
    };
    let program = async {
        tokio::select! {
            biased;
            never = watch(feed, clock.clone(), Rc::clone(&audience)) => match never {},
            never = run_estate(server, Some(estate.clone())) => match never {},
            _ = control => panic!("the control loop does not end"),
            () = play(&story, stage) => panic!("the story goes on after a host has failed"),
            pictures = seen => pictures,
        }
    };
    lab.beside(program).await
}

/// The share of a zone's processors that its instances have.
fn used(picture: &Picture) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for host in &picture.hosts {
        let sum = sums.entry(host.cluster.clone()).or_default();
        (sum.0, sum.1) = (sum.0 + host.cpus_used as f64, sum.1 + f64::from(host.cores));
    }
    sums.into_iter().map(|(zone, (used, has))| (zone, used / has)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_burst_uses_both_zones_and_overruns_no_host_while_the_other_zone_idles() {
    let pictures = pictures(7).await;
    let zone_of = |host: &str, picture: &Picture| {
        picture.hosts.iter().find(|own| own.name == host).map(|own| own.cluster.clone())
    };
    let mut zones_of_batch: BTreeSet<String> = BTreeSet::new();
    for (second, picture) in pictures.iter().enumerate() {
        let batch = picture.vms.iter().filter(|vm| vm.name.contains("batch") && vm.powered_on);
        zones_of_batch.extend(batch.filter_map(|vm| zone_of(&vm.host, picture)));
        let used = used(picture);
        for host in &picture.hosts {
            let share = host.cpus_used as f64 / f64::from(host.cores);
            let idles = used.iter().find(|(zone, used)| **zone != host.cluster && **used < 0.5);
            assert!(
                share <= 1.0 || idles.is_none(),
                "after {second} s {} is at {:.0} % while {idles:?} idles",
                host.name,
                share * 100.0
            );
        }
    }
    assert_eq!(Vec::from_iter(zones_of_batch), ["az1", "az2"]);
}
