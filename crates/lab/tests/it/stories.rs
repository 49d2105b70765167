//! Stories told from a seed: the same every time, and nothing in them that must not happen.

use joiner_lab::{history::Timeline, story};

/// How many seeds are told, unless `JOINER_STORIES` says another number.
const STORIES: u64 = 8;

#[tokio::test(start_paused = true)]
async fn the_same_seed_tells_the_same_story_to_the_byte() {
    let script = "at 10m administrator: kill after on write 3 times\nat 20m clock: jump 90s";
    let one = story::replay(7, script).await.unwrap();
    let other = story::replay(7, script).await.unwrap();
    let (one, other) = (one.history.to_json_lines(), other.history.to_json_lines());
    let differs = one.lines().zip(other.lines()).position(|(a, b)| a != b);
    assert_eq!(differs, None, "the first different line");
    assert_eq!(one.len(), other.len());
    assert!(one.contains("process killed") && one.contains("jumps by"), "the script is played");
}

/// A number from the environment, or the usual one.
fn chosen(variable: &str, usual: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else { return usual };
    let number = text.parse();
    assert!(number.is_ok(), "{variable} is not a number: {text:?}");
    number.unwrap_or(usual)
}

#[tokio::test(start_paused = true)]
async fn nothing_forbidden_happens_on_a_bad_day() {
    let first = chosen("JOINER_SEED", 1);
    for seed in first..first + chosen("JOINER_STORIES", STORIES) {
        let told = story::replay(seed, "").await.unwrap();
        let found: Vec<String> = told.violations.iter().map(ToString::to_string).collect();
        assert!(
            found.is_empty(),
            "seed {seed}:\n{}\n{}",
            found.join("\n"),
            told.history.timeline(&Timeline::default())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_script_that_cannot_be_read_is_no_story() {
    let refused = story::replay(1, "at noon administrator: kill before").await.unwrap_err();
    assert_eq!(refused.line, 1);
}
