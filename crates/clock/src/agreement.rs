//! Whether the wall clock can be trusted. It is compared with the running time of this process and with the clock
//! of a server.
//!
//! Both comparisons are needed. A server on the same computer follows the same wall clock. Running time does not
//! show a clock that was wrong from the start.

use std::{fmt, time::Duration};

use jiff::{SignedDuration, Timestamp};

/// How far clocks may differ. Clocks synchronised by NTP differ by less than a second. The value was chosen below
/// all durations that are measured by the wall clock, the shortest of which are minutes.
pub const TOLERANCE: SignedDuration = SignedDuration::from_mins(1);

/// How long a server must agree with a wall clock that was set, until it is trusted. After a suspension or a
/// correction, the wall clock differs from running time for good. The value was chosen so that an administrator has
/// time to read why the process is not ready.
pub const BELIEVED_AFTER: Duration = Duration::from_hours(1);

/// The readings of both clocks of a process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The time of day.
    pub wall: Timestamp,
    /// How long the process has been running.
    pub running: Duration,
}

impl Reading {
    /// The start of the process according to a clock that shows `time` now. It is constant while the clock is not
    /// set.
    fn start_by(self, time: Timestamp) -> SignedDuration {
        let running = SignedDuration::try_from(self.running).unwrap_or(SignedDuration::MAX);
        time.as_duration().saturating_sub(running)
    }
}

/// The difference of clocks because of which the wall clock must not decide anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// By how much the wall clock is ahead of the server's clock, or behind it.
    Server(SignedDuration),
    /// By how much the wall clock was set forward, or back, since the process started.
    Running(SignedDuration),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |by: &SignedDuration| SignedDuration::from_secs(by.as_secs()).abs();
        match self {
            Self::Server(by) => {
                let which = if by.is_negative() { "behind" } else { "ahead of" };
                let by = seconds(by);
                write!(f, "the wall clock is {by:#} {which} the clock of the API server")
            }
            Self::Running(by) => {
                let which = if by.is_negative() { "back" } else { "forward" };
                let by = seconds(by);
                write!(f, "the wall clock was set {which} by {by:#} while this process was running")
            }
        }
    }
}

/// The known facts about a wall clock, a server's clock and running time.
#[derive(Debug, Clone)]
pub struct Agreement {
    /// The start of the process according to the trusted wall clock.
    believed: SignedDuration,
    /// The same according to the server's clock, once its time is known.
    server: Option<SignedDuration>,
    /// Since when, in running time, the server has agreed with a wall clock that is not trusted.
    confirmed: Option<Confirmed>,
}

#[derive(Debug, Clone, Copy)]
struct Confirmed {
    since: Duration,
    /// The start of the process according to that wall clock.
    start: SignedDuration,
}

impl Agreement {
    /// The wall clock is trusted until a comparison contradicts it.
    pub fn new(first: Reading) -> Self {
        Self { believed: first.start_by(first.wall), server: None, confirmed: None }
    }

    /// Records the time of a server's clock at a moment.
    pub fn saw(&mut self, server: Timestamp, at: Reading) {
        self.server = Some(at.start_by(server));
    }

    /// The difference of clocks at a moment, if there is one.
    pub fn difference(&mut self, at: Reading) -> Option<Difference> {
        let start = at.start_by(at.wall);
        let from_server = self.server.map(|server| start.saturating_sub(server));
        if let Some(by) = from_server.filter(|by| is_large(*by)) {
            self.confirmed = None;
            return Some(Difference::Server(by));
        }
        let by = start.saturating_sub(self.believed);
        let server_agrees = from_server.is_some();
        if !is_large(by) {
            self.confirmed = None;
            if server_agrees {
                // Clocks are corrected in small steps, which add up.
                self.believed = start;
            }
            return None;
        }
        if server_agrees && self.is_believed(start, at.running) {
            self.believed = start;
            return None;
        }
        Some(Difference::Running(by))
    }

    /// Whether the server has agreed long enough with a wall clock that was set.
    fn is_believed(&mut self, start: SignedDuration, now: Duration) -> bool {
        let same = |it: &Confirmed| !is_large(start.saturating_sub(it.start));
        let known = self.confirmed.filter(same);
        let confirmed = known.unwrap_or(Confirmed { since: now, start });
        let is_believed = now.saturating_sub(confirmed.since) >= BELIEVED_AFTER;
        self.confirmed = (!is_believed).then_some(confirmed);
        is_believed
    }
}

fn is_large(by: SignedDuration) -> bool {
    by.abs() > TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    /// After `running` seconds, with a wall clock that is `ahead` seconds fast.
    fn at(running: u64, ahead: i64) -> Reading {
        Reading { wall: time(running, ahead), running: Duration::from_secs(running) }
    }

    fn time(running: u64, ahead: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + running as i64 + ahead).unwrap()
    }

    fn by(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[test]
    fn clocks_that_go_alike_agree() {
        let mut clocks = Agreement::new(at(0, 0));
        assert_eq!(clocks.difference(at(3600, 0)), None);
        clocks.saw(time(3600, 0), at(3600, 0));
        assert_eq!(clocks.difference(at(7200, 0)), None);
        assert_eq!(clocks.difference(at(7200, 60)), None, "a minute is tolerated");
        assert_eq!(clocks.difference(at(7200, -60)), Some(Difference::Running(by(-120))));
    }

    #[test]
    fn a_server_that_says_another_time_is_a_difference_from_the_beginning() {
        let mut clocks = Agreement::new(at(0, DAY));
        assert_eq!(clocks.difference(at(1, DAY)), None, "nothing contradicts it yet");
        clocks.saw(time(2, 0), at(2, DAY));
        assert_eq!(clocks.difference(at(3, DAY)), Some(Difference::Server(by(DAY))));
        clocks.saw(time(4, DAY), at(4, DAY));
        assert_eq!(clocks.difference(at(5, DAY)), None);
    }

    #[test]
    fn a_clock_that_jumps_with_its_server_differs_from_running_time_until_it_is_back() {
        let mut clocks = Agreement::new(at(0, 0));
        clocks.saw(time(10, DAY), at(10, DAY));
        assert_eq!(clocks.difference(at(11, DAY)), Some(Difference::Running(by(DAY))));
        clocks.saw(time(20, 0), at(20, 0));
        assert_eq!(clocks.difference(at(21, 0)), None);
    }

    #[test]
    fn a_jump_is_noticed_before_the_server_is_heard_again() {
        let mut clocks = Agreement::new(at(0, 0));
        clocks.saw(time(10, 0), at(10, 0));
        assert_eq!(clocks.difference(at(11, DAY)), Some(Difference::Server(by(DAY))));
    }

    #[test]
    fn a_clock_that_was_set_is_believed_after_the_server_has_agreed_for_an_hour() {
        let mut clocks = Agreement::new(at(0, 0));
        clocks.saw(time(10, DAY), at(10, DAY));
        for running in [10, 60, 3609] {
            let difference = clocks.difference(at(running, DAY));
            assert_eq!(difference, Some(Difference::Running(by(DAY))), "{running}");
        }
        assert_eq!(clocks.difference(at(3610, DAY)), None);
        assert_eq!(clocks.difference(at(3611, DAY)), None);
    }

    #[test]
    fn without_a_server_a_clock_that_was_set_is_never_believed() {
        let mut clocks = Agreement::new(at(0, 0));
        for running in [10, 7200] {
            let difference = clocks.difference(at(running, -DAY));
            assert_eq!(difference, Some(Difference::Running(by(-DAY))));
        }
    }

    #[test]
    fn another_jump_begins_the_hour_anew() {
        let mut clocks = Agreement::new(at(0, 0));
        clocks.saw(time(10, DAY), at(10, DAY));
        assert!(clocks.difference(at(10, DAY)).is_some());
        clocks.saw(time(1800, 2 * DAY), at(1800, 2 * DAY));
        assert!(clocks.difference(at(1800, 2 * DAY)).is_some());
        assert!(clocks.difference(at(3700, 2 * DAY)).is_some());
        assert_eq!(clocks.difference(at(5400, 2 * DAY)), None);
    }

    #[test]
    fn small_corrections_add_up_to_no_difference_where_the_server_agrees() {
        let mut clocks = Agreement::new(at(0, 0));
        for hour in 1_u32..=10 {
            let (running, ahead) = (u64::from(hour) * 3600, i64::from(hour) * 30);
            clocks.saw(time(running, ahead), at(running, ahead));
            assert_eq!(clocks.difference(at(running, ahead)), None, "{hour}");
        }
    }

    #[test]
    fn a_difference_says_which_clock_is_ahead() {
        let told = |difference: Difference| difference.to_string();
        assert_eq!(
            told(Difference::Server(by(90))),
            "the wall clock is 1m 30s ahead of the clock of the API server"
        );
        assert_eq!(
            told(Difference::Running(by(-DAY))),
            "the wall clock was set back by 24h while this process was running"
        );
    }
}
