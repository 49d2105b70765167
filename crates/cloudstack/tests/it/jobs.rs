//! Jobs: waited for together, for so long and no longer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use joiner_cloudstack::client::{JobFailed, Submitted};
use serde_json::json;
use tokio::time::Instant;

use crate::scripted::{Reply, Server, done, pending, refusal};

const QUERY: &str = "queryAsyncJobResult";
const MINUTE: Duration = Duration::from_mins(1);

fn job(id: impl ToString) -> Submitted {
    Submitted { job: id.to_string(), command: "deployVirtualMachine", object: None }
}

/// Jobs that are done so many seconds after they were first asked about or begun.
fn done_after(server: &Server, seconds: u64) {
    let began = Instant::now();
    server.decide(QUERY, move |_| {
        if began.elapsed() >= Duration::from_secs(seconds) { done() } else { pending() }
    });
}

#[tokio::test(start_paused = true)]
async fn a_job_is_asked_about_soon_and_then_less_often() {
    let server = Server::new();
    done_after(&server, 18);
    let began = Instant::now();
    server.client().wait(&job("j1"), MINUTE).await.unwrap();
    let looks: Vec<u64> = server.log().iter().map(|asked| asked.at.as_secs()).collect();
    assert_eq!(looks, [1, 3, 5, 10, 15, 20]);
    assert_eq!(began.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_never_ends_is_waited_for_no_longer_than_allowed() {
    let server = Server::new();
    server.reply(QUERY, pending());
    let began = Instant::now();
    let failed = server.client().wait(&job("j1"), Duration::from_secs(45)).await.unwrap_err();
    assert_eq!(failed, JobFailed::Deadline("deployVirtualMachine".to_owned()));
    assert_eq!(began.elapsed(), Duration::from_secs(45));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_delays_no_deadline() {
    let server = Server::new();
    server.reply(QUERY, Reply::Silence);
    let client = server.client();
    let waits = (1..20).map(|seconds| {
        let client = client.clone();
        async move {
            let limit = Duration::from_secs(seconds);
            let failed = client.wait(&job(seconds), limit).await.unwrap_err();
            assert!(matches!(failed, JobFailed::Deadline(_)), "{failed}");
        }
    });
    let began = Instant::now();
    join_all(waits).await;
    assert_eq!(began.elapsed(), Duration::from_secs(19));
}

#[tokio::test(start_paused = true)]
async fn thousands_wait_and_few_requests_are_spent_on_each() {
    let server = Server::new();
    done_after(&server, 2);
    let client = server.client();
    let results = join_all((0..2000).map(|id| {
        let client = client.clone();
        async move { client.wait(&job(id), Duration::from_hours(1)).await }
    }));
    let began = Instant::now();
    assert!(results.await.iter().all(Result::is_ok));
    let asked = server.times(QUERY);
    assert!((2000..2100).contains(&asked), "{asked}");
    // Twenty requests a second.
    let took = began.elapsed().as_secs();
    assert!((100..120).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn waiting_leaves_room_for_other_requests() {
    let server = Server::new();
    server.reply(QUERY, pending());
    server.reply("listZones", Reply::Inside(json!({})));
    let client = server.client();
    let waits = join_all((0..500).map(|id| {
        let client = client.clone();
        async move { client.wait(&job(id), 2 * MINUTE).await }
    }));
    let others = async {
        tokio::time::sleep(MINUTE).await;
        let began = Instant::now();
        let command =
            joiner_cloudstack::client::Command::new(joiner_cloudstack::client::api::LIST_ZONES);
        let zones: Vec<joiner_cloudstack::client::objects::Zone> =
            client.list(command).await.unwrap();
        assert!(zones.is_empty());
        began.elapsed()
    };
    let (_, took) = tokio::join!(waits, others);
    assert!(took < Duration::from_secs(1), "{took:?}");
    // A first look at each, and then one in two of twenty requests a second.
    let asked = server.times(QUERY);
    assert!(asked <= 500 + 2 * 60 * 20 / 2, "{asked}");
}

#[tokio::test(start_paused = true)]
async fn when_one_who_asks_for_all_gives_up_the_next_one_asks() {
    let server = Server::new();
    done_after(&server, 30);
    let client = server.client();
    let (first, second) = (job("short"), job("long"));
    let short = client.wait(&first, Duration::from_secs(10));
    let long = client.wait(&second, MINUTE);
    let (short, long) = tokio::join!(short, long);
    assert!(short.is_err() && long.is_ok(), "{short:?} {long:?}");
}

#[tokio::test(start_paused = true)]
async fn two_who_wait_for_one_job_share_the_answer() {
    let server = Server::new();
    done_after(&server, 2);
    let client = server.client();
    let same = job("j1");
    let (one, other) = tokio::join!(client.wait(&same, MINUTE), client.wait(&same, MINUTE));
    assert!(one.is_ok() && other.is_ok());
    assert_eq!(server.times(QUERY), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_the_server_does_not_know_has_disappeared() {
    let server = Server::new();
    let text = "Unable to execute API command queryasyncjobresult due to invalid value. Invalid \
                parameter jobid value=j1 due to incorrect long value format, or entity does not \
                exist";
    server.reply(QUERY, refusal(431, text));
    let failed = server.client().wait(&job("j1"), MINUTE).await.unwrap_err();
    assert!(matches!(failed, JobFailed::Disappeared(_)), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_with_a_question_is_not_the_jobs_result() {
    let server = Server::new();
    for _ in 0..8 {
        server.reply(QUERY, Reply::Broken);
    }
    server.reply(QUERY, done());
    server.client().wait(&job("j1"), MINUTE).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn refused_keys_end_all_waiting() {
    let server = Server::new();
    server.reply(QUERY, refusal(401, "unable to verify user credentials and/or request signature"));
    let client = server.client();
    let (one, other) = (job("j1"), job("j2"));
    let both = tokio::join!(client.wait(&one, MINUTE), client.wait(&other, MINUTE));
    for failed in [both.0.unwrap_err(), both.1.unwrap_err()] {
        assert!(matches!(failed, JobFailed::Client(_)), "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_job_has_its_own_result() {
    let server = Server::new();
    let looks: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    server.decide(QUERY, move |asked| {
        let id = asked.parameters["jobid"].clone();
        let mut looks = looks.lock().unwrap();
        let count = looks.entry(id.clone()).or_default();
        *count += 1;
        let number: usize = id.parse().unwrap();
        if *count <= number % 3 {
            return pending();
        }
        Reply::Inside(json!({"jobstatus": 1, "jobid": id, "jobresult": {"id": id}}))
    });
    let client = server.client();
    let results = join_all((0..50).map(|id| {
        let client = client.clone();
        async move { client.wait(&job(id), 10 * MINUTE).await.unwrap() }
    }))
    .await;
    for (id, result) in results.iter().enumerate() {
        assert_eq!(*result, json!({"id": id.to_string()}));
    }
}
