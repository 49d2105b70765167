//! A world that keeps up with its clock.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use joiner_sim::InProcess;
use tower_service::Service;

use crate::counter::{Counter, LATER};

#[tokio::test(start_paused = true)]
async fn things_happen_when_they_are_due_while_it_runs() {
    let counter = Counter::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&heard);
    counter.0.on_event(move |at| noted.lock().unwrap().push(at.as_secs()));
    counter.add().await.unwrap();
    let running = counter.0.clone();
    let running = tokio::spawn(async move { running.run().await });
    counter.0.clock().sleep(LATER * 3).await;
    running.abort();
    assert_eq!(*heard.lock().unwrap(), [LATER.as_secs()]);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_by_a_change() {
    let counter = Counter::new();
    let changed = counter.0.changed();
    counter.add().await.unwrap();
    let before = counter.0.clock().running();
    counter.0.until_change(changed, None).await;
    assert_eq!(counter.0.clock().running(), before);
    let due = counter.0.look(|world| joiner_sim::World::next_due(world));
    counter.0.until_change(counter.0.changed(), due).await;
    assert_eq!(counter.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn clients_reach_it_in_the_process() {
    let counter = Counter::new();
    let request = Request::post("/add").body(Bytes::new()).unwrap();
    let answer = InProcess(counter.clone()).call(request).await.unwrap();
    assert_eq!(answer.body(), "count 1");
    assert_eq!(counter.0.look(|counted| counted.log.count("POST /add")), 1);
}
