//! The smallest cloud: `POST /add` adds one to a counter, and two seconds later another one.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_sim::{
    Agenda, Answered, NoAnswer, Server, Simulation, World,
    log::{Call, Log},
    trouble::{CloudTrouble, Sighted, Trouble, around},
};

pub(crate) const LATER: Duration = Duration::from_secs(2);

/// Trouble of this cloud: the counter starts again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reset;

impl CloudTrouble for Reset {
    const WORDS: &'static str = "`reset`";
    const POSSIBLE: &'static str = "only `POST` resets";

    fn read<'a, 'w>(words: &'a [&'w str]) -> Result<Option<(Self, &'a [&'w str])>, String> {
        Ok(match words {
            ["reset", rest @ ..] => Some((Self, rest)),
            _ => None,
        })
    }

    fn can_happen_to(&self, call: &str) -> bool {
        call.starts_with("POST")
    }
}

pub(crate) struct Counted {
    pub(crate) count: u64,
    pub(crate) agenda: Agenda<()>,
    pub(crate) trouble: Trouble<Reset>,
    pub(crate) log: Log,
    happened: Vec<Duration>,
}

impl World for Counted {
    type Event = Duration;

    fn catch_up(&mut self, clock: &Clock) {
        let until = self.agenda.read(clock);
        while let Some(()) = self.agenda.take_due(until) {
            self.count += 1;
            self.happened.push(self.agenda.now());
        }
    }

    fn next_due(&self) -> Option<Duration> {
        self.agenda.next_due()
    }

    fn changes(&self) -> u64 {
        self.count
    }

    fn take_events(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.happened)
    }
}

#[derive(Clone)]
pub(crate) struct Counter(pub(crate) Simulation<Counted>);

impl Counter {
    pub(crate) fn new() -> Self {
        let clock = Clock::following_runtime(Timestamp::UNIX_EPOCH);
        let counted = Counted {
            count: 0,
            agenda: Agenda::new(&clock),
            trouble: Trouble::default(),
            log: Log::default(),
            happened: Vec::new(),
        };
        Self(Simulation::new(counted, clock))
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.look(|counted| counted.count)
    }

    pub(crate) fn trouble(&self, script: &str) {
        self.0.look(|counted| counted.trouble.add(script)).unwrap();
    }

    pub(crate) async fn add(&self) -> Result<String, NoAnswer> {
        let request = Request::post("/add").body(Bytes::new()).unwrap();
        let answer = self.answer(request).await?;
        Ok(format!("{} {}", answer.status().as_u16(), String::from_utf8_lossy(answer.body())))
    }
}

impl Server for Counter {
    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        let method = format!("{} {}", request.method(), request.uri().path());
        let sighted = Sighted { call: &method, names: vec!["counter".to_owned()] };
        let effect = self.0.look(|counted| counted.trouble.strike(&sighted));
        let add = async || {
            let count = self.0.look(|counted| {
                counted.count += 1;
                counted.agenda.plan(LATER, ());
                counted.count
            });
            let response = Response::new(Bytes::from(format!("count {count}")));
            Answered { response, outcome: "ok".to_owned() }
        };
        let ending = around(effect.as_ref(), self.0.clock(), add).await;
        let outcome = ending.outcome().to_owned();
        self.0.look(|counted| {
            let at = counted.agenda.now();
            let (object, caller) = (String::new(), String::new());
            counted.log.push(Call { at, method, object, caller, outcome });
        });
        ending.arrive().await
    }
}
