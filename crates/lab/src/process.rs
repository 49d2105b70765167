//! A program under test: it can be killed at any call and is started again.

use std::{future::Future, time::Duration};

use crate::connection::{Client, Connection};

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
