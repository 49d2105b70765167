//! Small help with words.

/// How many of many things a line names.
const NAMED: usize = 3;

/// The first of many names, and how many more there are.
pub fn first_of<T: std::fmt::Display>(names: &[T]) -> String {
    let first: Vec<String> = names.iter().take(NAMED).map(ToString::to_string).collect();
    let first = first.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// An error and its causes as one sentence. A cause that the text before it already holds is left
/// out, since many libraries repeat theirs.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_three_of_many_and_says_how_many_more_there_are() {
        assert_eq!(first_of(&["a"]), "a");
        assert_eq!(first_of(&["a", "b", "c"]), "a, b, c");
        assert_eq!(first_of(&["a", "b", "c", "d"]), "a, b, c and 1 more");
        assert_eq!(first_of(&(0..149).collect::<Vec<_>>()), "0, 1, 2 and 146 more");
    }
}
