//! Time as an input.
//!
//! Code that reads the time or waits uses the [`Clock`] it was given. So the same code runs on the wall clock in
//! production, faster in the demo, and in virtual time in the laboratory. There an hour passes as soon as every
//! task waits.
//!
//! Virtual time is tokio's: a paused current-thread runtime moves its clock to the next timer when every task
//! waits. This crate starts no runtime; a clock made by [`Clock::following_runtime`] follows the runtime it is used
//! on.

mod agreement;
pub mod deadline;

use std::{
    fmt,
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::{sync::watch, time::Instant};

pub use self::agreement::{Agreement, BELIEVED_AFTER, Difference, Reading, TOLERANCE};

/// How much time may pass between two readings of a paced clock. The value was chosen so that a slow simulation has
/// little to catch up with.
const STEP_MAX: Duration = Duration::from_secs(1);

/// How often waiting tasks read a paced clock. The value was chosen at half of `STEP_MAX`, so that a slightly late
/// reading loses no time.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How close to the time of day a clock counts as caught up. The value was chosen too small for users to notice.
const CAUGHT_UP: Duration = Duration::from_millis(500);

/// The allowed speeds. At the fastest one a second takes a millisecond, the shortest wait of the runtime. The
/// slowest one is its inverse.
pub const SPEEDS: RangeInclusive<f64> = 0.001..=1000.0;

/// The shortest wait of tokio's timers.
const TICK: Duration = Duration::from_millis(1);

/// A clock, shared by all its clones.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    /// The time of day of this computer.
    Wall { started: Instant },
    /// The runtime's monotonic time, counted from a chosen moment.
    Runtime {
        started: Instant,
        at_start: Timestamp,
        /// By how much the clock was set forward or back since then.
        jumped: Mutex<SignedDuration>,
    },
    /// The same at a speed that can be changed.
    Paced {
        at_start: Timestamp,
        pace: Mutex<Pace>,
        /// Wakes waiting tasks when the speed changes.
        changes: watch::Sender<()>,
        /// By how much the clock was set forward or back since then.
        jumped: Mutex<SignedDuration>,
    },
}

/// The speed of a clock, and its progress.
struct Pace {
    /// The time that has passed on the clock up to `counted`.
    passed: Duration,
    /// The last time that was counted; `None` while time is not counted because the runtime works.
    counted: Option<Instant>,
    /// Whether time is counted only while the runtime is idle.
    only_rests: bool,
    /// The start of a clock that never passes the time of day.
    behind_from: Option<Timestamp>,
    speed: f64,
    held: bool,
}

impl Pace {
    fn new(speed: f64, only_rests: bool) -> Self {
        let counted = (!only_rests).then(Instant::now);
        let speed = usable(speed).unwrap_or(1.0);
        let behind_from = None;
        Self { passed: Duration::ZERO, counted, only_rests, behind_from, speed, held: false }
    }

    /// The time that has passed on the clock.
    fn look(&mut self) -> Duration {
        let most = self.present().unwrap_or(Duration::MAX);
        if let Some(counted) = &mut self.counted {
            let now = Instant::now();
            if !self.held {
                let more = now.duration_since(*counted).mul_f64(self.speed);
                let next = self.passed + more.min(STEP_MAX);
                // The time of day may be set back. This clock never goes back.
                self.passed = next.min(most).max(self.passed);
            }
            *counted = now;
        }
        self.passed
    }

    /// How much time must pass on the clock until it reaches the time of day; `None` if it may pass that.
    fn present(&self) -> Option<Duration> {
        let left = Timestamp::now().duration_since(self.behind_from?);
        Some(Duration::try_from(left).unwrap_or_default())
    }
}

impl Clock {
    /// The time of day of this computer.
    pub fn wall() -> Self {
        Self(Arc::new(Source::Wall { started: Instant::now() }))
    }

    /// A clock that starts at `at_start` and follows the runtime's time. That is virtual if the runtime is paused.
    pub fn following_runtime(at_start: Timestamp) -> Self {
        let jumped = Mutex::default();
        Self(Arc::new(Source::Runtime { started: Instant::now(), at_start, jumped }))
    }

    /// A clock that starts at `at_start` and runs `speed` times as fast as the runtime's time. It can be set to
    /// another [speed](Self::set_speed) or [held](Self::hold).
    ///
    /// Between two readings at most a second passes on it, however long they are apart. So a slow simulation, or a
    /// computer that was suspended, has little to catch up with.
    ///
    /// A speed that is not a positive number counts as 1. A speed outside of [`SPEEDS`] is limited to that range.
    pub fn faster(at_start: Timestamp, speed: f64) -> Self {
        Self::paced(at_start, Pace::new(speed, false))
    }

    /// As [`Clock::faster`], but the clock stands still while its runtime works, so a simulation's work takes no
    /// time in it. The runtime must report when it [rests](Self::runtime_rests) and when it
    /// [works](Self::runtime_works) again.
    pub fn faster_at_rest(at_start: Timestamp, speed: f64) -> Self {
        Self::paced(at_start, Pace::new(speed, true))
    }

    /// As [`Clock::faster`], but the clock never passes the time of day. Once it has caught up, it follows the time
    /// of day at any speed. So no timestamp of this clock is in the future for readers of another clock.
    pub fn catching_up(at_start: Timestamp, speed: f64) -> Self {
        let pace = Pace { behind_from: Some(at_start), ..Pace::new(speed, true) };
        Self::paced(at_start, pace)
    }

    /// Whether the clock is held back by the time of day.
    pub fn has_caught_up(&self) -> bool {
        let Source::Paced { pace, .. } = &*self.0 else { return false };
        let mut pace = lock(pace);
        let passed = pace.look();
        pace.present().is_some_and(|present| present <= passed + CAUGHT_UP)
    }

    fn paced(at_start: Timestamp, pace: Pace) -> Self {
        let (pace, changes, jumped) = (Mutex::new(pace), watch::Sender::new(()), Mutex::default());
        Self(Arc::new(Source::Paced { at_start, pace, changes, jumped }))
    }

    /// Reports that the runtime is idle, for a clock that runs only then.
    pub fn runtime_rests(&self) {
        if let Source::Paced { pace, .. } = &*self.0 {
            let mut pace = lock(pace);
            if pace.only_rests {
                pace.counted = Some(Instant::now());
            }
        }
    }

    /// Reports that the runtime works again.
    pub fn runtime_works(&self) {
        if let Source::Paced { pace, .. } = &*self.0 {
            let mut pace = lock(pace);
            if pace.only_rests {
                pace.look();
                pace.counted = None;
            }
        }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        let (at_start, passed, jumped) = match &*self.0 {
            Source::Wall { .. } => return Timestamp::now(),
            Source::Runtime { started, at_start, jumped } => (at_start, started.elapsed(), jumped),
            Source::Paced { at_start, pace, jumped, .. } => (at_start, lock(pace).look(), jumped),
        };
        let jumped = *lock(jumped);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        at_start.saturating_add(passed.saturating_add(jumped)).unwrap_or(Timestamp::MAX)
    }

    /// How long this clock has been running, at its own speed. It never decreases, even if the clock is set. Use it
    /// for deadlines between computers.
    pub fn running(&self) -> Duration {
        match &*self.0 {
            Source::Wall { started } | Source::Runtime { started, .. } => started.elapsed(),
            Source::Paced { pace, .. } => lock(pace).look(),
        }
    }

    /// The current time and the running time.
    pub fn reading(&self) -> Reading {
        Reading { wall: self.now(), running: self.running() }
    }

    /// The runtime's moment at which this much time will have passed on this clock, at its present speed. Setting
    /// the clock does not move it.
    pub fn instant_after(&self, duration: Duration) -> Instant {
        Instant::now() + self.on_runtime_time(duration)
    }

    /// How long the runtime waits while this much time passes on this clock, at its present speed.
    pub fn on_runtime_time(&self, duration: Duration) -> Duration {
        match &*self.0 {
            Source::Paced { pace, .. } => duration.div_f64(lock(pace).speed),
            Source::Wall { .. } | Source::Runtime { .. } => duration,
        }
    }

    /// Waits until this much time has passed on this clock.
    pub async fn sleep(&self, duration: Duration) {
        let Source::Paced { pace, changes, .. } = &*self.0 else {
            return tokio::time::sleep(duration).await;
        };
        let mut changes = changes.subscribe();
        let end = lock(pace).look().saturating_add(duration);
        loop {
            let (left, speed) = {
                let mut pace = lock(pace);
                let left = end.saturating_sub(pace.look());
                (left, (!pace.held).then_some(pace.speed))
            };
            if left.is_zero() {
                return;
            }
            let on_runtime = async {
                match speed {
                    // At least one tick of the runtime, or the loop would never end.
                    Some(speed) => {
                        let step = left.min(LOOK_EVERY).div_f64(speed);
                        tokio::time::sleep(step.max(TICK)).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = on_runtime => {}
                // The sender lives as long as this clock.
                _ = changes.changed() => {}
            }
        }
    }

    /// Sets the speed relative to the runtime's time, for waiting tasks too. This works only for a clock made by
    /// [`Clock::faster`], and only for a positive number; otherwise nothing happens.
    pub fn set_speed(&self, speed: f64) {
        if let Some(speed) = usable(speed) {
            self.change_pace(|pace| pace.speed = speed);
        }
    }

    /// Stops the clock and all tasks that wait for it. This works only for a clock made by [`Clock::faster`];
    /// otherwise nothing happens.
    pub fn hold(&self) {
        self.change_pace(|pace| pace.held = true);
    }

    /// Resumes a clock that is held.
    pub fn go_on(&self) {
        self.change_pace(|pace| pace.held = false);
    }

    fn change_pace(&self, change: impl FnOnce(&mut Pace)) {
        if let Source::Paced { pace, changes, .. } = &*self.0 {
            let mut pace = lock(pace);
            pace.look();
            change(&mut pace);
            changes.send_replace(());
        }
    }

    /// Waits until this clock reaches `moment`; returns at once if that has passed.
    ///
    /// A jump of the clock is noticed at the end of the wait, not during it.
    pub async fn sleep_until(&self, moment: Timestamp) {
        loop {
            let left = moment.duration_since(self.now());
            match Duration::try_from(left) {
                Ok(left) if !left.is_zero() => self.sleep(left).await,
                _ => return,
            }
        }
    }

    /// Sets the clock forward or back, as an administrator or a faulty time server does.
    ///
    /// Present waits are not affected: they are measured monotonically, as on a computer whose clock is set. The
    /// wall clock cannot be set, so nothing happens to it.
    pub fn jump(&self, by: SignedDuration) {
        if let Source::Runtime { jumped, .. } | Source::Paced { jumped, .. } = &*self.0 {
            let mut jumped = lock(jumped);
            *jumped = jumped.saturating_add(by);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A valid speed, limited to [`SPEEDS`].
fn usable(speed: f64) -> Option<f64> {
    (speed.is_finite() && speed > 0.0).then(|| speed.clamp(*SPEEDS.start(), *SPEEDS.end()))
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_speed_beyond_all_bounds_is_the_nearest_that_time_can_pass_at() {
        for (speed, passes, takes) in [(1e99, 1000, 1), (1e-300, 1, 1000)] {
            let (clock, began) = (Clock::faster(noon(), speed), Instant::now());
            clock.sleep(Duration::from_millis(passes)).await;
            let took = began.elapsed().as_millis();
            assert!((takes..takes + 5).contains(&took), "{speed}: {took}");
            clock.set_speed(speed);
            assert!(clock.instant_after(Duration::from_secs(1)) > Instant::now());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_passes_at_once_in_virtual_time() {
        let clock = Clock::following_runtime(noon());
        clock.sleep(Duration::from_hours(1)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T13:00:00Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_faster_clock_waits_less_of_the_runtimes_time() {
        let clock = Clock::faster(noon(), 60.0);
        let before = Instant::now();
        clock.sleep(Duration::from_hours(1)).await;
        assert_eq!(before.elapsed(), Duration::from_mins(1));
        assert_eq!(clock.now().to_string(), "2026-01-01T13:00:00Z");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_follows_a_change_of_speed() {
        let clock = Clock::faster(noon(), 10.0);
        let before = Instant::now();
        let change = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            clock.set_speed(60.0);
        };
        tokio::join!(clock.sleep(Duration::from_secs(90)), change);
        // Thirty of its seconds in three, the other sixty in one.
        assert_eq!(before.elapsed(), Duration::from_secs(4));
        assert_eq!(clock.now().to_string(), "2026-01-01T12:01:30Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_held_stands_still_and_so_do_those_who_wait() {
        let clock = Clock::faster(noon(), 1.0);
        let before = Instant::now();
        let hold = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            clock.hold();
            tokio::time::sleep(Duration::from_hours(1)).await;
            assert_eq!(clock.now().to_string(), "2026-01-01T12:00:10Z");
            clock.go_on();
        };
        tokio::join!(clock.sleep(Duration::from_secs(30)), hold);
        assert_eq!(before.elapsed(), Duration::from_hours(1) + Duration::from_secs(30));
        assert_eq!(clock.now().to_string(), "2026-01-01T12:00:30Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_faster_clock_waits_for_those_who_go_by_it() {
        let clock = Clock::faster(noon(), 10.0);
        // Nobody looked at the clock for a minute, as when a computer is asleep.
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T12:00:01Z");
    }

    #[tokio::test(start_paused = true)]
    async fn work_takes_no_time_on_a_clock_that_goes_at_rest() {
        let clock = Clock::faster_at_rest(noon(), 10.0);
        let work = tokio::time::advance;
        work(Duration::from_secs(5)).await;
        clock.runtime_rests();
        tokio::time::advance(Duration::from_millis(50)).await;
        clock.runtime_works();
        work(Duration::from_secs(5)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T12:00:00.5Z");
    }

    #[tokio::test(start_paused = true)]
    async fn other_clocks_are_not_held() {
        let clock = Clock::following_runtime(noon());
        clock.hold();
        clock.set_speed(60.0);
        clock.sleep(Duration::from_secs(1)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T12:00:01Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_set_back_makes_a_deadline_later() {
        let clock = Clock::following_runtime(noon());
        let before = Instant::now();
        clock.jump(SignedDuration::from_secs(-30));
        assert_eq!(clock.now().to_string(), "2026-01-01T11:59:30Z");
        clock.sleep_until(noon()).await;
        assert_eq!(before.elapsed(), Duration::from_secs(30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_catches_up_with_the_time_of_day_never_passes_it() {
        let start = Timestamp::now() - SignedDuration::from_mins(1);
        let clock = Clock::catching_up(start, 10.0);
        clock.runtime_rests();
        clock.sleep(Duration::from_secs(20)).await;
        assert!(clock.now() >= start + SignedDuration::from_secs(20));
        assert!(!clock.has_caught_up());
        // A minute of the runtime, in which no time of day passes.
        for _ in 0..600 {
            tokio::time::advance(Duration::from_millis(100)).await;
            assert!(clock.now() <= Timestamp::now());
        }
        assert!(clock.has_caught_up());
        assert!(!Clock::faster(noon(), 10.0).has_caught_up());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_in_the_past_is_no_wait() {
        let clock = Clock::following_runtime(noon());
        let before = Instant::now();
        clock.sleep_until("2025-01-01T00:00:00Z".parse().unwrap()).await;
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
