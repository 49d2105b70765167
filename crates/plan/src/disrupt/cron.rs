//! Schedules of budgets: the five fields of cron, in UTC.

use std::fmt::Display;

use jiff::{Timestamp, ToSpan, civil::Date, tz::Offset};

/// The times at which a window opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    /// One bit for each allowed value, here and in the other fields.
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a day matches if either its day of month or its weekday does. If one of the two is `*`, both must
    /// match.
    either_day: bool,
}

struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", least: 0, most: 59, names: &[] };
const HOUR: Field = Field { name: "hour", least: 0, most: 23, names: &[] };
const DAY: Field = Field { name: "day of month", least: 1, most: 31, names: &[] };
const MONTHS: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH: Field = Field { name: "month", least: 1, most: 12, names: MONTHS };
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WEEKDAY: Field = Field { name: "day of week", least: 0, most: 6, names: WEEKDAYS };

/// Named schedules.
const WORDS: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// How many days are searched for the next time. Two leap days are at most eight years apart.
const DAYS_AHEAD_MAX: usize = 9 * 366;

impl Schedule {
    /// Parses a schedule. The error is a phrase that says what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let fields = if text.starts_with('@') {
            let known = WORDS.iter().find(|(word, _)| *word == text);
            known.map(|(_, fields)| *fields).ok_or_else(|| {
                let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
                format!("{text:?} is not one of {}", words.join(", "))
            })?
        } else {
            text
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        if let Some(zone) = fields.first().filter(|field| field.contains("TZ=")) {
            return Err(format!("schedules are in UTC: remove {zone:?} and write the hour in UTC"));
        }
        let &[minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(format!(
                "expected five fields (minute, hour, day of month, month, day of week), found {}",
                fields.len()
            ));
        };
        let (days, any_day) = DAY.read(day)?;
        let (weekdays, any_weekday) = WEEKDAY.read(weekday)?;
        Ok(Self {
            minutes: MINUTE.read(minute)?.0,
            hours: HOUR.read(hour)?.0,
            days,
            months: MONTH.read(month)?.0,
            weekdays,
            either_day: !any_day && !any_weekday,
        })
    }

    /// The first time after `after`. `None` if there is none, as for February 30th.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let minute = Offset::UTC.to_datetime(after).with().second(0).subsec_nanosecond(0).build();
        let first = minute.ok()?.checked_add(1.minute()).ok()?;
        let mut date = first.date();
        let mut from = (first.hour(), first.minute());
        for _ in 0..DAYS_AHEAD_MAX {
            if self.suits(date)
                && let Some((hour, minute)) = self.time_of_day(from)
            {
                return Offset::UTC.to_timestamp(date.at(hour, minute, 0, 0)).ok();
            }
            date = date.tomorrow().ok()?;
            from = (0, 0);
        }
        None
    }

    fn suits(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        has(self.months, date.month())
            && if self.either_day { day || weekday } else { day && weekday }
    }

    /// The first time of a day that is not before `from`.
    fn time_of_day(&self, from: (i8, i8)) -> Option<(i8, i8)> {
        let hours = (from.0..24).filter(|hour| has(self.hours, *hour));
        let at = |hour: i8| {
            let least = if hour == from.0 { from.1 } else { 0 };
            (least..60).find(|minute| has(self.minutes, *minute)).map(|minute| (hour, minute))
        };
        hours.into_iter().find_map(at)
    }
}

fn has(bits: u64, bit: i8) -> bool {
    bits & (1 << bit) != 0
}

impl Field {
    /// The values of a field as bits, and whether the field is `*`.
    fn read(&self, text: &str) -> Result<(u64, bool), String> {
        let (mut bits, mut open) = (0, false);
        for part in text.split(',') {
            let (values, all) = self.read_part(part)?;
            bits |= values;
            open |= all;
        }
        Ok((bits, open))
    }

    fn read_part(&self, part: &str) -> Result<(u64, bool), String> {
        let (range, step) =
            part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let step = match step {
            None => 1,
            Some(text) => match text.parse::<u32>() {
                Ok(step) if step > 0 => step,
                _ => return Err(self.wrong(part, "the step must be a number above 0")),
            },
        };
        let open = matches!(range, "*" | "?");
        let (first, last) = match range.split_once('-') {
            _ if open => (self.least, self.most),
            Some((first, last)) => (self.value(first, part)?, self.value(last, part)?),
            // A single value with a step is the start of a range.
            None if part.contains('/') => (self.value(range, part)?, self.most),
            None => {
                let value = self.value(range, part)?;
                (value, value)
            }
        };
        if first > last {
            return Err(self.wrong(part, "a range must go upwards"));
        }
        let values = (first..=last).step_by(step as usize);
        Ok((values.fold(0, |bits, value| bits | 1 << value), open && step == 1))
    }

    fn value(&self, text: &str, part: &str) -> Result<u32, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = match named {
            Some(at) => Some(at as u32 + self.least),
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            None => None,
        };
        value.filter(|value| (self.least..=self.most).contains(value)).ok_or_else(|| {
            self.wrong(part, format_args!("expected {} to {}", self.least, self.most))
        })
    }

    fn wrong(&self, part: &str, why: impl Display) -> String {
        format!("{} {part:?}: {why}", self.name)
    }
}

#[cfg(test)]
mod tests;
