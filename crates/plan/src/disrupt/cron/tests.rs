use jiff::Timestamp;

use super::Schedule;

fn next(schedule: &str, after: &str) -> String {
    let after: Timestamp = after.parse().unwrap();
    let found = Schedule::parse(schedule).unwrap().next(after);
    found.map_or("never".to_owned(), |at| at.to_string())
}

fn error(schedule: &str) -> String {
    Schedule::parse(schedule).unwrap_err()
}

#[test]
fn the_next_time_is_after_the_given_one() {
    for (schedule, after, expected) in [
        ("0 9 * * *", "2026-03-04T08:59:59Z", "2026-03-04T09:00:00Z"),
        ("0 9 * * *", "2026-03-04T09:00:00Z", "2026-03-05T09:00:00Z"),
        ("*/15 * * * *", "2026-03-04T08:50:00Z", "2026-03-04T09:00:00Z"),
        ("7/20 8-10 * * *", "2026-03-04T08:30:00Z", "2026-03-04T08:47:00Z"),
        ("59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"),
        ("0 0 30 2 *", "2026-01-01T00:00:00Z", "never"),
        ("0 0 ? JAN,jul *", "2026-03-04T00:00:00Z", "2026-07-01T00:00:00Z"),
        // The 4th of March 2026 is a Wednesday.
        ("0 0 * * sun", "2026-03-04T00:00:00Z", "2026-03-08T00:00:00Z"),
        ("0 0 * * mon-fri", "2026-03-06T12:00:00Z", "2026-03-09T00:00:00Z"),
    ] {
        assert_eq!(next(schedule, after), expected, "{schedule} after {after}");
    }
}

#[test]
fn two_restricted_day_fields_are_alternatives() {
    let after = "2026-03-04T00:00:00Z";
    assert_eq!(next("0 0 6 * sun", after), "2026-03-06T00:00:00Z");
    assert_eq!(next("0 0 20 * sun", after), "2026-03-08T00:00:00Z");
    // A field that is open restricts nothing; one with a step does.
    assert_eq!(next("0 0 20 * *", after), "2026-03-20T00:00:00Z");
    assert_eq!(next("0 0 */1 * sun", after), "2026-03-08T00:00:00Z");
    assert_eq!(next("0 0 */2 * sun", after), "2026-03-05T00:00:00Z");
}

#[test]
fn words_stand_for_fields() {
    let after = "2026-03-04T10:30:00Z";
    for (word, expected) in [
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("@annually", "2027-01-01T00:00:00Z"),
        ("@monthly", "2026-04-01T00:00:00Z"),
        ("@weekly", "2026-03-08T00:00:00Z"),
        ("@daily", "2026-03-05T00:00:00Z"),
        ("@midnight", "2026-03-05T00:00:00Z"),
        ("@hourly", "2026-03-04T11:00:00Z"),
    ] {
        assert_eq!(next(word, after), expected, "{word}");
    }
}

/// B-18
#[test]
fn what_is_wrong_is_said() {
    for (schedule, expected) in [
        ("", "expected five fields (minute, hour, day of month, month, day of week), found 0"),
        (
            "* * * *",
            "expected five fields (minute, hour, day of month, month, day of week), found 4",
        ),
        (
            "0 0 0 * * *",
            "expected five fields (minute, hour, day of month, month, day of week), found 6",
        ),
        (
            "TZ=Europe/Berlin 0 6 * * *",
            "schedules are in UTC: remove \"TZ=Europe/Berlin\" and write the hour in UTC",
        ),
        ("60 * * * *", "minute \"60\": expected 0 to 59"),
        ("-1 * * * *", "minute \"-1\": expected 0 to 59"),
        ("* * 0 * *", "day of month \"0\": expected 1 to 31"),
        ("* * * 13 *", "month \"13\": expected 1 to 12"),
        ("* * * * 7", "day of week \"7\": expected 0 to 6"),
        ("* * * * sat-sun", "day of week \"sat-sun\": a range must go upwards"),
        ("*/0 * * * *", "minute \"*/0\": the step must be a number above 0"),
        ("* * * * fun", "day of week \"fun\": expected 0 to 6"),
        ("1,,2 * * * *", "minute \"\": expected 0 to 59"),
        (
            "@every 5m",
            "\"@every 5m\" is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly",
        ),
    ] {
        assert_eq!(error(schedule), expected, "{schedule}");
    }
}
