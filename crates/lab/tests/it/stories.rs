//! Stories told from a seed: the same every time, and nothing in them that must not happen.

use joiner_lab::{history::Timeline, story};

#[tokio::test(start_paused = true)]
async fn the_same_seed_tells_the_same_story_to_the_byte() {
    let one = story::replay(7, "").await.unwrap();
    let other = story::replay(7, "").await.unwrap();
    let (one, other) = (one.history.to_json_lines(), other.history.to_json_lines());
    let differs = one.lines().zip(other.lines()).position(|(a, b)| a != b);
    assert_eq!(differs, None, "the first different line");
    assert_eq!(one.len(), other.len());
}

#[tokio::test(start_paused = true)]
async fn nothing_forbidden_happens_on_a_bad_day() {
    for seed in 1..=8 {
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
