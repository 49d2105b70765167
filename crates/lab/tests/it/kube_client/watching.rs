//! Watchers and reflectors of kube's runtime: whatever happens to the connection, in the end they
//! have what the server has.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::StreamExt;
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource};
use joiner_lab::{Lab, faults::Rates};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    runtime::{WatchStreamExt, reflector, watcher},
};
use serde_json::json;

use super::{bare, connect};

/// Somebody who follows all config maps of a laboratory.
struct Follower {
    store: reflector::Store<ConfigMap>,
    /// What went wrong on the way.
    errors: Arc<Mutex<Vec<String>>>,
}

impl Follower {
    fn start(lab: &Lab, name: &str, config: watcher::Config) -> Self {
        let maps: Api<ConfigMap> = Api::all(connect(lab, name));
        let (store, writer) = reflector::store();
        let errors = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&errors);
        let stream = reflector(writer, watcher(maps, config)).default_backoff();
        tokio::spawn(stream.for_each(move |event| {
            if let Err(error) = event {
                seen.lock().unwrap().push(error.to_string());
            }
            std::future::ready(())
        }));
        Self { store, errors }
    }

    /// The names and versions of what it knows.
    fn knows(&self) -> BTreeMap<String, String> {
        let state = self.store.state();
        state.iter().map(|map| (map.name_any(), map.resource_version().unwrap())).collect()
    }

    fn errors_with(&self, text: &str) -> usize {
        self.errors.lock().unwrap().iter().filter(|error| error.contains(text)).count()
    }
}

fn maps() -> Resource {
    Resource::new("", "configmaps")
}

/// The names and versions of what the server has.
fn stored(lab: &Lab) -> BTreeMap<String, String> {
    let objects = lab.caller("test").list(&maps(), None);
    let entry = |object: &Arc<joiner_apiserver::Object>| {
        (object.key.name.to_string(), object.version.to_string())
    };
    objects.iter().map(entry).collect()
}

/// Creates, changes or deletes a config map, by its number and a number for what to do.
fn write(user: &Caller, number: u64, deed: u64) {
    let key = Key::new("default", &format!("map-{number:04}"));
    if user.get(&maps(), &key).is_err() {
        let map = json!({"metadata": {"name": &*key.name, "namespace": "default"}});
        user.create(&maps(), map).unwrap();
    } else if deed.is_multiple_of(4) {
        user.delete(&maps(), &key, DeleteOptions::default()).unwrap();
    } else {
        user.merge(&maps(), &key, None, json!({"data": {"deed": deed.to_string()}})).unwrap();
    }
}

/// Writes something every five seconds for twenty minutes, and lets everything calm down.
async fn twenty_minutes(lab: &mut Lab) {
    let user = lab.caller("user");
    let mut chance = lab.chance("writes");
    lab.beside(async {
        for _ in 0..240 {
            write(&user, chance.below(30), chance.below(100));
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        tokio::time::sleep(Duration::from_mins(5)).await;
    })
    .await;
}

fn listing() -> watcher::Config {
    watcher::Config::default()
}

fn streaming() -> watcher::Config {
    watcher::Config::default().streaming_lists()
}

/// Lists from whatever state a server has at hand, as controllers do that spare the server.
fn listing_anything() -> watcher::Config {
    watcher::Config::default().any_semantic()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_missed_whatever_happens_to_the_connection() {
    let both = || vec![("listing", listing()), ("streaming", streaming())];
    let anything = || vec![("listing anything", listing_anything())];
    let cases = [
        ("", "", both()),
        ("at 0s follower: cut watch 1 on watch 20 times", "watch reset", both()),
        ("at 0s follower: cut watch on watch 5 times", "watch reset", both()),
        ("at 3m follower: partition 2m", "no route", both()),
        // Nothing that is older than five minutes can be watched from.
        ("at 3m follower: partition 10m", "too old resource version", both()),
        ("at 0s follower: 503 on watch 5 times", "currently unable", both()),
        ("at 0s follower: 500 3 times\nat 0s follower: 429 30s 3 times", "too many", both()),
        (
            "at 0s follower: stale 30 on list always\nat 2m follower: cut watch on watch",
            "",
            anything(),
        ),
    ];
    for (script, error, followers) in cases {
        for (way, config) in followers {
            let mut lab = bare();
            lab.faults().add_script(script).unwrap();
            // Something must be there already, for lists that are behind.
            for number in 0..40 {
                write(&lab.caller("user"), number, 1);
            }
            let follower = Follower::start(&lab, "follower", config);
            twenty_minutes(&mut lab).await;
            assert_eq!(follower.knows(), stored(&lab), "{way}: {script}");
            let errors = follower.errors.lock().unwrap().join("\n");
            assert!(errors.contains(error), "{way}: {script}: {errors}");
            assert!(script.is_empty() || script.contains("partition") || lab.faults().struck() > 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_goes_on_for_hours() {
    let mut lab = bare();
    write(&lab.caller("user"), 1, 1);
    let follower = Follower::start(&lab, "follower", listing());
    let other = Resource::new("", "secrets");
    let user = lab.caller("user");
    lab.beside(async {
        // Others write; the watch over config maps is quiet for two hours.
        for number in 0..240 {
            let secret =
                json!({"metadata": {"name": format!("s-{number}"), "namespace": "default"}});
            user.create(&other, secret).unwrap();
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
        write(&user, 2, 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
    })
    .await;
    assert_eq!(follower.knows(), stored(&lab));
    assert_eq!(follower.errors_with(""), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reflector_of_a_thousand_objects_ends_up_right_on_a_bad_day() {
    for seed in 1..=3 {
        let mut lab = Lab::new(joiner_lab::Setup { bare: true, ..joiner_lab::Setup::new(seed) });
        lab.faults().add_chance(lab.chance("network"), Rates::bad_day());
        let user = lab.caller("user");
        let mut chance = lab.chance("writes");
        for number in 0..1000 {
            write(&user, number, 1);
        }
        let followers = [("a", listing()), ("b", streaming()), ("c", listing_anything())]
            .map(|(name, config)| Follower::start(&lab, name, config));
        lab.beside(async {
            for _ in 0..500 {
                write(&user, chance.below(1000), chance.below(100));
                // Now and then for longer than a watch lives.
                let pause = if chance.below(50) == 0 { 600_000 } else { chance.below(2_000) };
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            tokio::time::sleep(Duration::from_mins(5)).await;
        })
        .await;
        for (number, follower) in followers.iter().enumerate() {
            let differs: Vec<String> = {
                let (knows, stored) = (follower.knows(), stored(&lab));
                let names = knows.keys().chain(stored.keys());
                names.filter(|name| knows.get(*name) != stored.get(*name)).cloned().collect()
            };
            assert!(differs.is_empty(), "seed {seed}, follower {number}: {differs:?}");
        }
        assert!(followers.iter().any(|follower| follower.errors_with("") > 0), "seed {seed}");
    }
}
