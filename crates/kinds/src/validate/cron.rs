//! Schedules in the notation of cron.

/// The fields of a schedule: the smallest and largest number, and names for numbers.
const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (
        1,
        12,
        &["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    ),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// What is wrong with a schedule, if anything.
pub(super) fn problem(schedule: &str) -> Option<String> {
    let mut rest = schedule;
    for prefix in ["TZ=", "CRON_TZ="] {
        if rest.starts_with(prefix) {
            rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim());
        }
    }
    if let Some(name) = rest.strip_prefix('@') {
        return descriptor_problem(name);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != 5 {
        let found = fields.len();
        let shown: Vec<&str> = fields;
        return Some(format!("expected exactly 5 fields, found {found}: [{}]", shown.join(" ")));
    }
    fields
        .iter()
        .zip(FIELDS)
        .find_map(|(field, range)| field.split(',').find_map(|part| part_problem(part, range)))
}

fn descriptor_problem(name: &str) -> Option<String> {
    const KNOWN: [&str; 7] =
        ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
    if let Some(duration) = name.strip_prefix("every ") {
        return (!is_duration(duration)).then(|| {
            format!("failed to parse duration @{name}: time: invalid duration {duration:?}")
        });
    }
    if KNOWN.contains(&name) {
        return None;
    }
    Some(format!("unrecognized descriptor: @{name}"))
}

/// Numbers with units, such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let number = &rest[..rest.len() - unit.len()];
        let end = unit.find(|letter: char| letter.is_ascii_digit() || letter == '.');
        let (unit, after) = unit.split_at(end.unwrap_or(unit.len()));
        let known = ["ns", "us", "µs", "ms", "s", "m", "h"].contains(&unit);
        if !known || number.parse::<f64>().is_err() {
            return false;
        }
        parts += 1;
        rest = after;
    }
    parts > 0
}

/// `*`, `5`, `1-5`, each with an optional `/2`.
fn part_problem(part: &str, (least, most, names): (u32, u32, &[&str])) -> Option<String> {
    let (range, step) =
        part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    if step.is_some_and(|step| step.contains('/')) {
        return Some(format!("too many slashes: {part}"));
    }
    let number = |text: &str| -> Result<u32, String> {
        let named =
            names.iter().position(|name| !name.is_empty() && name.eq_ignore_ascii_case(text));
        match named {
            Some(position) => Ok(position as u32),
            None => parse(text),
        }
    };
    let (start, end) = if range == "*" || range == "?" {
        (least, most)
    } else {
        let (start, end) = range.split_once('-').map_or((range, None), |(a, b)| (a, Some(b)));
        if end.is_some_and(|end| end.contains('-')) {
            return Some(format!("too many hyphens: {part}"));
        }
        let start = match number(start) {
            Ok(start) => start,
            Err(problem) => return Some(problem),
        };
        match end.map(number) {
            None if step.is_some() => (start, most),
            None => (start, start),
            Some(Ok(end)) => (start, end),
            Some(Err(problem)) => return Some(problem),
        }
    };
    if let Some(step) = step {
        match parse(step) {
            Ok(0) => return Some(format!("step of range should be a positive number: {part}")),
            Ok(_) => {}
            Err(problem) => return Some(problem),
        }
    }
    if start < least {
        return Some(format!("beginning of range ({start}) below minimum ({least}): {part}"));
    }
    if end > most {
        return Some(format!("end of range ({end}) above maximum ({most}): {part}"));
    }
    (start > end)
        .then(|| format!("beginning of range ({start}) beyond end of range ({end}): {part}"))
}

fn parse(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => u32::try_from(number).map_err(|_| failed(text, "value out of range")),
        Err(_) => Err(failed(text, "invalid syntax")),
    }
}

fn failed(text: &str, problem: &str) -> String {
    format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {problem}")
}
