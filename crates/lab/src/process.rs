//! A program under test: it can be killed at any call and is started again.

use std::{fmt, future::Future, time::Duration};

use jiff::SignedDuration;

use crate::{
    Lab,
    connection::{Client, Connection},
    faults::{Aim, Fault, Rule},
};

/// How long a killed program stays away.
const RESTART_DELAY: Duration = Duration::from_secs(2);

/// Runs a program as a client of the laboratory until it ends by itself; a kill fault drops it
/// wherever it is and starts it again a moment later. Answers what it returned and how often it
/// was started.
pub async fn run<F, T>(client: &Client, program: impl Fn(Connection) -> F) -> (T, u32)
where
    F: Future<Output = T>,
{
    let mut starts = 0;
    loop {
        starts += 1;
        let connection = client.connect();
        client.note(&format!("process started, start {starts}"));
        tokio::select! {
            biased;
            () = connection.killed() => {}
            ended = program(connection.clone()) => return (ended, starts),
        }
        client.note("process killed");
        client.clock().sleep(RESTART_DELAY).await;
    }
}

/// Tells a story again and again, killing a client at each of its calls in turn, before and after
/// the call takes effect. However the client is interrupted, the end must be the same as when it is
/// left in peace. Answers how many kills there were, or the first one that mattered.
///
/// The story is given the kill to add to its laboratory's faults, at the moment from which calls
/// are to be counted, and answers the laboratory at its end; `end` says what has to be the same.
pub async fn sweep<F, T>(
    client: &str,
    story: impl Fn(Rule) -> F,
    end: impl Fn(&Lab) -> T,
) -> Result<u32, Interrupted<T>>
where
    F: Future<Output = Lab>,
    T: PartialEq,
{
    let kill = |after, skip, times| Rule {
        fault: Fault::Kill { after },
        aim: Aim { client: client.to_owned(), ..Aim::default() },
        from: SignedDuration::ZERO,
        skip,
        times: Some(times),
    };
    let in_peace = end(&story(kill(false, 0, 0)).await);
    let mut kills = 0;
    for after in [false, true] {
        for call in 0.. {
            let lab = story(kill(after, call, 1)).await;
            let killed = lab.faults().struck() > 0;
            let interrupted = end(&lab);
            if interrupted != in_peace {
                return Err(Interrupted { call: call + 1, after, in_peace, interrupted });
            }
            if !killed {
                break;
            }
            kills += 1;
        }
    }
    Ok(kills)
}

/// A kill that changed how a story ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted<T> {
    /// At which of the client's calls, from 1.
    pub call: u32,
    /// Whether the call took effect.
    pub after: bool,
    /// How the story ends without a kill.
    pub in_peace: T,
    /// How it ended with this one.
    pub interrupted: T,
}

impl<T: fmt::Debug> fmt::Display for Interrupted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.after { "after" } else { "before" };
        write!(
            f,
            "killed {when} call {}, the end is {:?} instead of {:?}",
            self.call, self.interrupted, self.in_peace
        )
    }
}

impl<T: fmt::Debug> std::error::Error for Interrupted<T> {}
