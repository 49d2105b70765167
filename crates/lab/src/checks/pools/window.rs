//! Whether the window of a budget is open, worked out in the plainest way: a minute at a time.
//!
//! Schedules of stories have numbers, lists, ranges and steps. What is not understood keeps its
//! window open, since then its budget counts.

use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};

/// Whether a schedule has had a time within the duration before a moment.
pub(super) fn is_open(schedule: &str, duration: &str, at: Timestamp) -> bool {
    let fields: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let (Ok(duration), [minute, hour, day, month, weekday]) =
        (duration.parse::<SignedDuration>(), fields.as_slice())
    else {
        return true;
    };
    let now = at.to_zoned(TimeZone::UTC);
    let on_day = |moment: &Zoned| {
        let of_month = has(day, moment.day());
        let of_week = has(weekday, moment.weekday().to_sunday_zero_offset());
        // Where both are given, either will do.
        if *day == "*" || *weekday == "*" { of_month && of_week } else { of_month || of_week }
    };
    let begins = |moment: &Zoned| {
        has(minute, moment.minute())
            && has(hour, moment.hour())
            && has(month, moment.month())
            && on_day(moment)
    };
    let whole_minute = SignedDuration::from_secs(i64::from(now.second()));
    let latest = now.saturating_sub(whole_minute);
    let minutes = (0..).map(|ago| latest.saturating_sub(SignedDuration::from_mins(ago)));
    let mut within = minutes.take_while(|moment| now.duration_since(moment) < duration);
    within.any(|moment| begins(&moment))
}

/// Whether a field of a schedule has a number.
fn has(field: &str, number: i8) -> bool {
    field.split(',').any(|part| {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (Ok(0), Ok(i8::MAX)),
            Some((first, last)) => (first.parse(), last.parse()),
            None if part.contains('/') => (range.parse(), Ok(i8::MAX)),
            None => (range.parse(), range.parse()),
        };
        match (first, last, step.parse::<i8>()) {
            (Ok(first), Ok(last), Ok(step)) if step > 0 => {
                (first..=last).contains(&number) && (number - first) % step == 0
            }
            _ => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_open_for_its_duration_after_each_time_of_its_schedule() {
        // A Thursday.
        let at: Timestamp = "2026-01-01T09:30:20Z".parse().unwrap();
        for (schedule, duration, open) in [
            ("30 9 * * *", "1m", true),
            ("29 9 * * *", "1m", false),
            ("29 9 * * *", "2m", true),
            ("31 9 * * *", "24h", true),
            ("31 9 * * *", "23h", false),
            ("*/15 * * * *", "1m", true),
            ("*/7 * * * *", "2m", false),
            ("0-10 9 * * *", "20m", false),
            ("0-10 9 * * *", "21m", true),
            ("0 9 * * 1,4", "1h", true),
            ("0 9 * * 1-3", "1h", false),
            ("0 9 1 * 1-3", "1h", true),
            ("0 9 2 * *", "1h", false),
            ("0 9 * 2 *", "1h", false),
            ("at nine", "1h", true),
            ("0 9 * * *", "an hour", true),
        ] {
            assert_eq!(is_open(schedule, duration, at), open, "{schedule} for {duration}");
        }
    }
}
