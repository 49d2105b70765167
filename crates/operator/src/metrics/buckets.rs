//! Upper bounds of histograms, in seconds unless a metric says otherwise.

/// Durations of loops: up to ten minutes.
pub(super) const DURATIONS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0, 120.0, 150.0, 300.0, 450.0, 600.0,
];

/// Durations of reconciles: the same, up to a minute.
pub(super) const RECONCILES: &[f64] = DURATIONS.split_at(40).0;

/// What Go's library has where nobody chooses.
pub(super) const DEFAULTS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Terminations of claims: 1 s, doubled up to 2048 s.
pub(super) const TERMINATIONS: &[f64] =
    &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0];

/// Terminations of instances: the same, up to 1024 s.
pub(super) const INSTANCE_TERMINATIONS: &[f64] = TERMINATIONS.split_at(11).0;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;

/// How old nodes get: from a quarter of an hour to thirty days.
pub(super) const LIFETIMES: &[f64] = &[
    15.0 * MINUTE,
    30.0 * MINUTE,
    45.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    4.0 * HOUR,
    6.0 * HOUR,
    8.0 * HOUR,
    10.0 * HOUR,
    12.0 * HOUR,
    16.0 * HOUR,
    20.0 * HOUR,
    DAY,
    2.0 * DAY,
    3.0 * DAY,
    5.0 * DAY,
    10.0 * DAY,
    15.0 * DAY,
    20.0 * DAY,
    25.0 * DAY,
    30.0 * DAY,
];

/// Scores of moves; no seconds.
pub(super) const SCORES: &[f64] = &[0.1, 0.25, 0.33, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Time in a status: 0.5 s, doubled up to 8192 s.
pub(super) const TRANSITIONS: &[f64] = &[
    0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0,
];

/// Time in and at a work queue: ten nanoseconds, times ten up to a thousand seconds.
pub(super) const QUEUES: &[f64] =
    &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];

/// Calls to the API server: 1 ms, half as much more up to 2.2 s.
pub(super) fn calls() -> Vec<f64> {
    std::iter::successors(Some(0.001), |bound| Some(bound * 1.5)).take(20).collect()
}
