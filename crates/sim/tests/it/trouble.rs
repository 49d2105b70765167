//! What goes wrong between a client and a simulated cloud.

use joiner_sim::NoAnswer;

use crate::counter::{Counter, LATER};

#[tokio::test(start_paused = true)]
async fn a_lost_call_takes_effect_only_after_it() {
    let counter = Counter::new();
    counter.trouble("lost before\nlost after");
    assert_eq!(counter.add().await, Err(NoAnswer));
    assert_eq!(counter.count(), 0);
    assert_eq!(counter.add().await, Err(NoAnswer));
    assert_eq!(counter.count(), 1);
    let outcomes: Vec<_> = counter.0.look(|counted| counted.log.calls());
    let outcomes: Vec<_> = outcomes.iter().map(|call| call.outcome.as_str()).collect();
    assert_eq!(outcomes, ["lost, no effect", "lost, took effect"]);
}

#[tokio::test(start_paused = true)]
async fn silence_never_ends() {
    let counter = Counter::new();
    counter.trouble("silence after");
    tokio::select! {
        answer = counter.add() => unreachable!("{answer:?}"),
        () = counter.0.clock().sleep(LATER) => {}
    }
    assert_eq!(counter.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn proxies_answer_with_a_page_and_long_answers_break_off() {
    let counter = Counter::new();
    counter.trouble("http 502 on /add\ncut short");
    assert!(counter.add().await.unwrap().starts_with("502 <html>"));
    assert_eq!(counter.count(), 0);
    assert_eq!(counter.add().await.unwrap(), "200 cou");
    assert_eq!(counter.add().await.unwrap(), "200 count 2");
    assert_eq!(counter.0.look(|counted| counted.trouble.happened()), 2);
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_takes_that_long_on_the_clock() {
    let counter = Counter::new();
    counter.trouble("slow 30s of counter");
    let before = counter.0.clock().running();
    counter.add().await.unwrap();
    assert_eq!(counter.0.clock().running().saturating_sub(before).as_secs(), 30);
    counter.0.look(|counted| counted.trouble.clear());
}
