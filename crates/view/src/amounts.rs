//! Amounts and times as people read them.

/// `0.25`, `6.1`, `48`: cores with as many digits as make a difference.
pub fn cores(cores: f64) -> String {
    let digits = match cores.abs() {
        small if small < 1.0 => 2,
        medium if medium < 10.0 => 1,
        _ => 0,
    };
    let text = format!("{cores:.digits$}");
    match text.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        _ => text,
    }
}

/// `512Mi`, `8.2Gi`: bytes in the unit that fits.
pub fn bytes(bytes: f64) -> String {
    const MIB: f64 = 1_048_576.0;
    const GIB: f64 = 1024.0 * MIB;
    if bytes < GIB {
        return format!("{:.0}Mi", bytes / MIB);
    }
    let gib = bytes / GIB;
    if gib < 10.0 && (gib - gib.round()).abs() > 0.05 {
        format!("{gib:.1}Gi")
    } else {
        format!("{gib:.0}Gi")
    }
}

/// `36 s`, `4 min 12 s`, `2 h 5 min`.
pub fn span(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// `01:32`, `1:02:33`: how far a clock has come.
pub fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours == 0 {
        format!("{minutes:02}:{seconds:02}")
    } else {
        format!("{hours}:{minutes:02}:{seconds:02}")
    }
}

/// A price per hour, to a hundredth of a cent where it is small.
pub fn price(price: f64) -> String {
    if price < 10.0 { format!("{price:.3}") } else { format!("{price:.2}") }
}

/// `1 pod`, `2 pods`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_as_many_digits_as_make_a_difference() {
        let cpu = [0.0, 0.25, 1.0, 6.14, 9.0, 48.2].map(cores);
        assert_eq!(cpu, ["0", "0.25", "1", "6.1", "9", "48"]);
        let gib = f64::from(1 << 30);
        let memory = [0.0, gib / 2.0, gib, 8.2 * gib, 84.4 * gib].map(bytes);
        assert_eq!(memory, ["0Mi", "512Mi", "1Gi", "8.2Gi", "84Gi"]);
        assert_eq!([0.1523, 12.345].map(price), ["0.152", "12.35"]);
    }

    #[test]
    fn times_read_well() {
        let spans = [0.4, 36.0, 60.0, 252.0, 3600.0, 7500.0].map(span);
        assert_eq!(spans, ["0 s", "36 s", "1 min", "4 min 12 s", "1 h", "2 h 5 min"]);
        assert_eq!([0.0, 92.9, 3753.0].map(clock), ["00:00", "01:32", "1:02:33"]);
    }
}
