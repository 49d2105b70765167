//! Times as people read them in tables.

use jiff::Timestamp;
use serde_json::Value;

use crate::fields::Fields;

/// How long ago the time in a field was.
pub(super) fn since(owner: &Value, field: &str, now: Timestamp) -> String {
    time(owner, field).map_or_else(|| "<unknown>".to_owned(), |then| between(then, now))
}

/// The time in a field, if there is one.
pub(super) fn time(owner: &Value, field: &str) -> Option<Timestamp> {
    owner.given_text(field)?.parse().ok()
}

/// How long it is from one time to another.
pub(super) fn between(then: Timestamp, now: Timestamp) -> String {
    duration(now.as_nanosecond().saturating_sub(then.as_nanosecond()))
}

/// A duration of whole seconds.
pub(super) fn seconds(seconds: i64) -> String {
    duration(i128::from(seconds) * 1_000_000_000)
}

/// With two units as long as the smaller one matters, then with one.
fn duration(nanoseconds: i128) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |large: i128, unit: &str, small: i128, small_unit: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{small_unit}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_get_coarser() {
        let minute = 60;
        let hour = 60 * minute;
        let day = 24 * hour;
        let cases = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (2 * minute + 5, "2m5s"),
            (10 * minute + 5, "10m"),
            (179 * minute, "179m"),
            (3 * hour, "3h"),
            (3 * hour + 7 * minute, "3h7m"),
            (47 * hour, "47h"),
            (2 * day + hour, "2d1h"),
            (8 * day + hour, "8d"),
            (2 * 365 * day, "2y"),
            (2 * 365 * day + 3 * day, "2y3d"),
            (9 * 365 * day, "9y"),
        ];
        for (length, text) in cases {
            assert_eq!(seconds(length), text);
        }
    }
}
