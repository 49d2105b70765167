//! The required behaviour of every provider, as checks that its tests run.
//!
//! A provider's tests implement [`Bench`], which makes a cloud and its failures. [`check`] runs each
//! check on a new cloud. Time must be virtual: some checks wait for deadlines.
//!
//! A process is killed, or a call goes wrong, at the first call to the cloud, at the second and so
//! on, until the work is done before the number is reached. So a check covers every call of a
//! provider without knowing the calls.

mod bench;
mod creation;
mod identity;
mod join_data;
mod limits;
mod listing;
mod losses;
mod notebooks;
mod ownership;
mod places;
mod removal;
mod report;
mod secrets;
mod trouble;
mod updates;
pub(crate) mod work;
mod written_first;

pub use bench::{AtOnce, Bench, Mishap, Process};
pub use notebooks::Notebooks;
pub use report::{Outcome, Report};

use self::work::Verdict;

/// Runs every check on its own bench, and returns the outcomes.
pub async fn check<B: Bench>(bench: impl AsyncFn() -> B) -> Report {
    let mut suite = Suite { bench, report: Report::default() };
    suite.run("an instance is as it was ordered", creation::as_ordered).await;
    suite.run("the same order again is the same instance", creation::again).await;
    suite.run("the same order at the same time is one instance", creation::at_once).await;
    suite.run("claims of one name share no instance", creation::same_name).await;
    suite.run("a creation may be killed at any call", creation::killed).await;
    suite.run("a creation that was killed leaves nothing behind", creation::killed_for_good).await;
    suite.run("a want of room is told and leaves nothing", creation::no_room).await;
    suite.run("a deletion may be asked for again and again", removal::again).await;
    suite.run("an instance is removed by its claim alone", removal::by_claim).await;
    suite.run("what never was is gone", removal::never_was).await;
    suite.run("the instance of another claim stays", removal::of_another_claim).await;
    suite.run("a deletion may be killed at any call", removal::killed).await;
    suite.run("a list has every page or is none", listing::pages).await;
    suite.run("a creation in trouble is not given up", trouble::creation).await;
    suite.run("a deletion in trouble is not done", trouble::deletion).await;
    suite.run("an instance in trouble is not absent", trouble::question).await;
    suite.run("what a guest joined with is emptied again and again", join_data::emptied).await;
    suite.run("what the guest of another claim joins with stays", join_data::of_another).await;
    suite.run("instances of others are not seen", ownership::not_seen).await;
    suite.run("instances of others are not touched", ownership::not_touched).await;
    suite.run("a copy that carries the mark is not the instance", ownership::copies).await;
    suite.run("a cluster of the same name is another cluster", ownership::of_same_name).await;
    suite.run("an id that is used again is another instance", identity::id_used_again).await;
    suite.run("a place that is away hides no other", places::away).await;
    suite.run("a want of room is not offered again for a while", losses::no_room_offered).await;
    suite.run("what the notebook has is found again", written_first::found_again).await;
    suite.run("an instance lost before it joined is told", losses::told).await;
    suite.run("an update is repeated until it is done", updates::until_done).await;
    suite.run("nothing secret is printed", secrets::unprinted).await;
    suite.run("200 at once exceed no limit", limits::at_once).await;
    suite.run("one more among 5,000 costs what it costs among 100", limits::among_many).await;
    suite.report
}

struct Suite<F> {
    bench: F,
    report: Report,
}

impl<B: Bench, F: AsyncFn() -> B> Suite<F> {
    async fn run(&mut self, name: &'static str, check: impl AsyncFn(&B) -> Verdict) {
        let bench = (self.bench)().await;
        let broken = check(&bench).await.err().map(|broken| broken.0);
        self.report.outcomes.push(Outcome { name, broken });
    }
}
