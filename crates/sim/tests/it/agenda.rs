//! Things happen in order, each at its own time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use joiner_clock::Clock;
use joiner_sim::Agenda;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn whatever_is_due_happens_in_order_and_at_its_own_time() {
    let clock = Clock::following_runtime(Timestamp::UNIX_EPOCH);
    let mut agenda = Agenda::new(&clock);
    agenda.plan(seconds(20), "late");
    agenda.plan(seconds(5), "first");
    agenda.plan(seconds(5), "second");
    assert_eq!(agenda.next_due(), Some(seconds(5)));
    clock.sleep(seconds(10)).await;
    let until = agenda.read(&clock);
    let mut happened = Vec::new();
    while let Some(what) = agenda.take_due(until) {
        happened.push((agenda.now().as_secs(), what));
    }
    assert_eq!(happened, [(5, "first"), (5, "second")]);
    assert_eq!((agenda.now(), agenda.next_due()), (seconds(10), Some(seconds(10))));
}

#[tokio::test(start_paused = true)]
async fn moments_follow_a_clock_that_was_set() {
    let clock = Clock::following_runtime(Timestamp::UNIX_EPOCH);
    let mut agenda = Agenda::<()>::new(&clock);
    assert_eq!(agenda.moment(seconds(3)).as_second(), 3);
    clock.jump(SignedDuration::from_secs(-3600));
    agenda.read(&clock);
    assert_eq!(agenda.moment(seconds(3)).as_second(), 3 - 3600);
}
