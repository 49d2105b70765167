//! Time as an input.
//!
//! Everything that asks what time it is, or waits, does so through a [`Clock`] it was given. The
//! same code then runs on the wall clock in production, some times faster in the demo, and in
//! virtual time in the laboratory, where an hour passes as soon as nobody has anything to do.
//!
//! Virtual time is tokio's: a current-thread runtime that was started paused moves its clock to
//! the next timer whenever every task waits. Nothing here starts a runtime; a clock made by
//! [`Clock::following_runtime`] simply follows the runtime it is used on.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A clock, shared by all its clones.
#[derive(Clone)]
pub struct Clock(Arc<Source>);

enum Source {
    /// The time of day of this computer.
    Wall { started: Instant },
    /// The runtime's monotonic time, counted from a chosen moment at a chosen speed.
    Runtime {
        started: Instant,
        at_start: Timestamp,
        /// None for the runtime's own speed, which is exact to the nanosecond.
        speed: Option<f64>,
        /// By how much the clock was set forward or back since.
        jumped: Mutex<SignedDuration>,
    },
}

impl Clock {
    /// The time of day of this computer.
    pub fn wall() -> Self {
        Self(Arc::new(Source::Wall { started: Instant::now() }))
    }

    /// A clock that says `at_start` now and goes as the runtime's time goes: virtually where the
    /// runtime is paused, like any other clock elsewhere.
    pub fn following_runtime(at_start: Timestamp) -> Self {
        Self::on_runtime(at_start, None)
    }

    /// A clock that says `at_start` now and goes `speed` times as fast as the runtime's time.
    ///
    /// A speed that is not a positive number is taken as 1.
    pub fn faster(at_start: Timestamp, speed: f64) -> Self {
        Self::on_runtime(at_start, Some(speed).filter(|speed| speed.is_finite() && *speed > 0.0))
    }

    fn on_runtime(at_start: Timestamp, speed: Option<f64>) -> Self {
        let jumped = Mutex::new(SignedDuration::ZERO);
        Self(Arc::new(Source::Runtime { started: Instant::now(), at_start, speed, jumped }))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Source::Wall { .. } => Timestamp::now(),
            Source::Runtime { at_start, jumped, .. } => {
                let passed = self.running();
                let jumped = *jumped.lock().unwrap_or_else(PoisonError::into_inner);
                let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
                at_start.saturating_add(passed.saturating_add(jumped)).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// How long this clock has been going. It only ever grows, and at the clock's own speed,
    /// whatever the clock was set to meanwhile: what deadlines between computers are measured by.
    pub fn running(&self) -> Duration {
        match &*self.0 {
            Source::Wall { started } => started.elapsed(),
            Source::Runtime { started, speed, .. } => {
                let passed = started.elapsed();
                speed.map_or(passed, |speed| passed.mul_f64(speed))
            }
        }
    }

    /// Waits until this much time has passed on this clock.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(self.on_runtime_time(duration)).await;
    }

    /// The moment of the runtime's time at which this much time will have passed on this clock. It
    /// is not moved when the clock is set.
    pub fn instant_after(&self, duration: Duration) -> Instant {
        Instant::now() + self.on_runtime_time(duration)
    }

    /// How long the runtime waits while this much time passes on this clock.
    pub fn on_runtime_time(&self, duration: Duration) -> Duration {
        match &*self.0 {
            Source::Runtime { speed: Some(speed), .. } => duration.div_f64(*speed),
            _ => duration,
        }
    }

    /// Waits until this clock says `moment`; returns at once when that has passed.
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

    /// Sets the clock forward or back, as an administrator or a bad time server does.
    ///
    /// Waits that are under way are not affected: they are measured monotonically, as they are on
    /// a computer whose clock is set. The wall clock is not ours to set: nothing happens.
    pub fn jump(&self, by: SignedDuration) {
        if let Source::Runtime { jumped, .. } = &*self.0 {
            let mut jumped = jumped.lock().unwrap_or_else(PoisonError::into_inner);
            *jumped = jumped.saturating_add(by);
        }
    }
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
    async fn a_clock_set_back_makes_a_deadline_later() {
        let clock = Clock::following_runtime(noon());
        let before = Instant::now();
        clock.jump(SignedDuration::from_secs(-30));
        assert_eq!(clock.now().to_string(), "2026-01-01T11:59:30Z");
        clock.sleep_until(noon()).await;
        assert_eq!(before.elapsed(), Duration::from_secs(30));
    }

    #[tokio::test(start_paused = true)]
    async fn how_long_a_clock_runs_does_not_depend_on_what_it_is_set_to() {
        let clock = Clock::faster(noon(), 2.0);
        clock.jump(SignedDuration::from_hours(-5));
        clock.sleep(Duration::from_secs(10)).await;
        clock.jump(SignedDuration::from_hours(7));
        assert_eq!(clock.running(), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_in_the_past_is_no_wait() {
        let clock = Clock::following_runtime(noon());
        let before = Instant::now();
        clock.sleep_until("2025-01-01T00:00:00Z".parse().unwrap()).await;
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
