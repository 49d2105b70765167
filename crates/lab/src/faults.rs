//! What goes wrong between a client and the API server or the cloud, from a script or from a seed.

mod script;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_sim::script::{Counter, Often};

pub use joiner_sim::script::ScriptError;

use crate::chance::Chance;

/// Something that goes wrong with one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server says that the object was modified; nothing was written.
    Conflict,
    /// The server asks for patience.
    TooManyRequests {
        /// For how long.
        retry_after_seconds: u32,
    },
    /// The server fails.
    Internal,
    /// The server is not there for a moment.
    Unavailable,
    /// The connection breaks before the server saw the call.
    CutBefore,
    /// The connection breaks after the call took effect: the answer is lost.
    CutAfter,
    /// A watch breaks after this many pieces.
    CutWatch {
        /// How many pieces of the answer get through; a piece has one or more events.
        after: usize,
    },
    /// A list is answered from a state that is this many versions old. Chance does this only to
    /// lists that ask for any version, since others are always up to date on real servers; a script
    /// does it to every list.
    Stale {
        /// How far back.
        versions: u64,
    },
    /// The answer takes its time.
    Slow(Duration),
    /// The process that calls is killed, before or after the call took effect, and started again.
    Kill {
        /// Whether the call takes effect.
        after: bool,
    },
}

/// Which calls a fault happens to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aim {
    /// The client's name; any if empty.
    pub client: String,
    /// The verb, such as `update` or `list`; any if empty. `write` means all that change something.
    pub verb: String,
    /// The plural name of the resource; any if empty. Calls to the laboratory's cloud are about
    /// [`INSTANCES`].
    pub plural: String,
}

/// What calls to the laboratory's cloud are about.
pub const INSTANCES: &str = "instances";

/// The verbs that change something.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

impl Aim {
    fn hits(&self, call: &Sighted<'_>) -> bool {
        let writes = self.verb == "write" && WRITES.contains(&call.verb);
        (self.client.is_empty() || self.client == call.client)
            && (self.verb.is_empty() || self.verb == call.verb || writes)
            && (self.plural.is_empty() || self.plural == call.plural)
    }
}

/// A call that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Sighted<'a> {
    /// Who calls.
    pub client: &'a str,
    /// What for.
    pub verb: &'a str,
    /// Of which resource.
    pub plural: &'a str,
    /// When.
    pub at: Timestamp,
    /// Whether it is a list that is content with any version.
    pub may_be_stale: bool,
}

/// A fault and when it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What goes wrong.
    pub fault: Fault,
    /// With which calls.
    pub aim: Aim,
    /// From when on, counted from the start.
    pub from: SignedDuration,
    /// How many calls get through first.
    pub skip: u32,
    /// How many times it happens; none for always.
    pub times: Option<u32>,
}

/// How often each fault happens when a seed chooses: the chance per call.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The chance per call of each fault.
    pub faults: Vec<(Fault, f64)>,
}

impl Rates {
    /// A bad day: one call in fifty goes wrong in some way.
    pub fn bad_day() -> Self {
        let faults = vec![
            (Fault::Conflict, 0.004),
            (Fault::TooManyRequests { retry_after_seconds: 1 }, 0.002),
            (Fault::Internal, 0.002),
            (Fault::Unavailable, 0.002),
            (Fault::CutBefore, 0.002),
            (Fault::CutAfter, 0.002),
            (Fault::CutWatch { after: 3 }, 0.2),
            (Fault::Stale { versions: 20 }, 0.05),
            (Fault::Slow(Duration::from_millis(1500)), 0.002),
        ];
        Self { faults }
    }
}

/// Everything that will go wrong in a laboratory; clones are the same faults.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    start: Timestamp,
    rules: Vec<Counted>,
    random: Option<(Chance, Rates)>,
    /// Which client cannot reach the server from when until when.
    partitions: Vec<(String, Timestamp, Timestamp)>,
    /// When the clock jumps, counted from the start, and by how much.
    jumps: Vec<(SignedDuration, SignedDuration)>,
}

#[derive(Debug)]
struct Counted {
    rule: Rule,
    counter: Counter,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none(start: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(State {
            start,
            rules: Vec::new(),
            random: None,
            partitions: Vec::new(),
            jumps: Vec::new(),
        })))
    }

    /// Adds what a script says; see `docs/laboratory.md` for its words.
    pub fn add_script(&self, script: &str) -> Result<(), ScriptError> {
        let lines = script::parse(script)?;
        let mut state = self.state();
        for line in lines {
            match line {
                script::Line::Rule(rule) => {
                    state.rules.push(Counted { rule, counter: Counter::default() });
                }
                script::Line::Partition { client, from, lasts } => {
                    let from = state.start.saturating_add(from).unwrap_or(Timestamp::MAX);
                    let until = from.saturating_add(lasts).unwrap_or(Timestamp::MAX);
                    state.partitions.push((client, from, until));
                }
                script::Line::Jump { at, by } => state.jumps.push((at, by)),
            }
        }
        state.jumps.sort();
        Ok(())
    }

    /// Adds one fault.
    pub fn add(&self, rule: Rule) {
        self.state().rules.push(Counted { rule, counter: Counter::default() });
    }

    /// Lets chance choose from now on.
    pub fn add_chance(&self, chance: Chance, rates: Rates) {
        self.state().random = Some((chance, rates));
    }

    /// Chance no longer chooses.
    pub fn calm(&self) {
        self.state().random = None;
    }

    /// Nothing gets through between a client and the server from a moment until another.
    pub fn partition(&self, client: &str, from: Timestamp, until: Timestamp) {
        self.state().partitions.push((client.to_owned(), from, until));
    }

    /// Until when a client cannot reach the server, if it cannot now.
    pub fn partitioned(&self, client: &str, now: Timestamp) -> Option<Timestamp> {
        let state = self.state();
        let of_client = state.partitions.iter().filter(|(name, ..)| name == client);
        let now_cut = of_client.filter(|(_, from, until)| *from <= now && now < *until);
        now_cut.map(|(_, _, until)| *until).max()
    }

    /// The next jump of the clock that is due at a moment or before, taken out of the list; the
    /// laboratory's loop asks.
    pub fn take_jump(&self, now: Timestamp) -> Option<SignedDuration> {
        let mut state = self.state();
        let (at, by) = *state.jumps.first()?;
        if now.duration_since(state.start) < at {
            return None;
        }
        state.jumps.remove(0);
        Some(by)
    }

    /// When the clock jumps next.
    pub fn next_jump(&self) -> Option<Timestamp> {
        let state = self.state();
        let (at, _) = state.jumps.first()?;
        state.start.checked_add(*at).ok()
    }

    /// What goes wrong with a call; the first rule that fits, then chance.
    pub fn strike(&self, call: &Sighted<'_>) -> Option<Fault> {
        let mut state = self.state();
        let passed = call.at.duration_since(state.start);
        for counted in &mut state.rules {
            let rule = &counted.rule;
            let often = Often { skip: rule.skip, times: rule.times };
            let spent = counted.counter.is_spent(often);
            let possible = rule.fault.can_happen_to(call.verb, call.plural);
            let applies = rule.aim.hits(call) && possible;
            if spent || passed < rule.from || !applies {
                continue;
            }
            if counted.counter.strikes(often) {
                return Some(rule.fault.clone());
            }
        }
        let (chance, rates) = state.random.as_mut()?;
        // Exactly one draw per call, so that one fault more or less does not change all others.
        let mut drawn = chance.ratio();
        for (fault, rate) in &rates.faults {
            let unreal = matches!(fault, Fault::Stale { .. }) && !call.may_be_stale;
            if unreal || !fault.can_happen_to(call.verb, call.plural) {
                continue;
            }
            if drawn < *rate {
                return Some(fault.clone());
            }
            drawn -= rate;
        }
        None
    }

    /// How many times rules have struck; chance is not counted.
    pub fn struck(&self) -> u32 {
        self.state().rules.iter().map(|counted| counted.counter.happened()).sum()
    }

    /// Nothing that a rule says goes wrong any more.
    #[cfg(feature = "testing")]
    pub(crate) fn forget_rules(&self) {
        self.state().rules.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fault {
    /// Whether the fault makes sense for a verb, or for any of those that `write` stands for. A cloud
    /// has no versions, so its lists are not behind.
    fn can_happen_to(&self, verb: &str, plural: &str) -> bool {
        match self {
            Self::Conflict => matches!(verb, "update" | "patch" | "delete" | "write"),
            Self::CutWatch { .. } => verb == "watch",
            Self::Stale { .. } => verb == "list" && plural != INSTANCES,
            _ => true,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Conflict => f.write_str("conflict"),
            Self::TooManyRequests { retry_after_seconds } => {
                write!(f, "429, retry after {retry_after_seconds} s")
            }
            Self::Internal => f.write_str("500"),
            Self::Unavailable => f.write_str("503"),
            Self::CutBefore => f.write_str("connection cut before the call took effect"),
            Self::CutAfter => f.write_str("connection cut after the call took effect"),
            Self::CutWatch { after } => write!(f, "watch cut after {after} pieces"),
            Self::Stale { versions } => write!(f, "answer {versions} versions old"),
            Self::Slow(delay) => write!(f, "answer {} ms late", delay.as_millis()),
            Self::Kill { after: false } => f.write_str("killed before the call took effect"),
            Self::Kill { after: true } => f.write_str("killed after the call took effect"),
        }
    }
}
