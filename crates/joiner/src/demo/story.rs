//! What happens in the demonstration: a pure script from a seed.

mod objects;
mod play;
mod summary;

use jiff::SignedDuration;
use joiner_lab::chance::Chance;
use serde_json::Value;

pub(crate) use play::{Play, play};
pub(crate) use summary::Summary;

use self::objects::{Workload, base, job};

/// A story in chapters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Story {
    pub(crate) chapters: Vec<Chapter>,
}

/// A part of a story.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chapter {
    /// When it begins, since the story began.
    pub(crate) at: SignedDuration,
    /// In a few words.
    pub(crate) title: &'static str,
    /// In a sentence.
    pub(crate) text: String,
    /// Whether this is the burst whose answer is timed.
    pub(crate) burst: bool,
    pub(crate) acts: Vec<Act>,
}

/// Something that somebody does to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// Creates an object.
    Create(Value),
    /// Gives a Deployment another number of pods.
    Scale { namespace: &'static str, deployment: &'static str, replicas: u64 },
    /// Deletes a Job and its pods.
    DeleteJob { namespace: &'static str, job: &'static str },
    /// Lets the machine fail that has the most pods of those in a pool.
    FailMachine { pool: &'static str },
}

/// The story of a seed. Seeds differ in how much of everything there is.
pub(crate) fn story(seed: u64) -> Story {
    let mut chance = Chance::new(seed).fork("story");
    let web = 5 + chance.below(4);
    let frames = 30 + chance.below(13);
    let rush = web * 3 + chance.below(5);
    let at = SignedDuration::from_secs;
    let chapters = vec![
        Chapter {
            at: at(0),
            title: "An empty cluster",
            text: format!(
                "Two pools and no machine at all; a small shop moves in: {} pods.",
                web + objects::CHECKOUT + objects::CACHE
            ),
            burst: false,
            acts: base(web).into_iter().map(Act::Create).collect(),
        },
        Chapter {
            at: at(75),
            title: "A burst",
            text: format!(
                "{frames} frames to render on spot machines, and the shop is busy: \
                 web grows from {web} to {rush} pods."
            ),
            burst: true,
            acts: vec![
                Act::Create(frames_to_render(frames)),
                Act::Scale { namespace: "shop", deployment: "web", replicas: rush },
            ],
        },
        Chapter {
            at: at(150),
            title: "A pod that fits nowhere",
            text: "A training job asks for 24 cores, more than any machine of these pools has. \
                   Nothing is made; it is said why."
                .to_owned(),
            burst: false,
            acts: vec![Act::Create(training("train", "24"))],
        },
        Chapter {
            at: at(195),
            title: "It asks for less",
            text: "Its owner has read the reason and asks for 12 cores.".to_owned(),
            burst: false,
            acts: vec![
                Act::DeleteJob { namespace: "ml", job: "train" },
                Act::Create(training("train-small", "12")),
            ],
        },
        Chapter {
            at: at(250),
            title: "A machine fails",
            text: "The host under the fullest machine of the shop dies, without a word to anyone."
                .to_owned(),
            burst: false,
            acts: vec![Act::FailMachine { pool: objects::GENERAL }],
        },
        Chapter {
            at: at(400),
            title: "The load goes away",
            text: format!(
                "The frames are rendered and the shop is quiet: web goes back to {web} pods."
            ),
            burst: false,
            acts: vec![
                Act::DeleteJob { namespace: "batch", job: "render" },
                Act::DeleteJob { namespace: "ml", job: "train-small" },
                Act::Scale { namespace: "shop", deployment: "web", replicas: web },
            ],
        },
    ];
    Story { chapters }
}

fn frames_to_render(frames: u64) -> Value {
    let workload =
        Workload { cpu: "2", memory: "3Gi", spot: true, ..Workload::new("batch", "render") };
    job(&workload, frames)
}

fn training(name: &'static str, cpu: &'static str) -> Value {
    let workload = Workload { cpu, memory: "20Gi", spot: true, ..Workload::new("ml", name) };
    job(&workload, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_tells_the_same_story() {
        assert_eq!(story(7), story(7));
        let all_alike = (1..20).all(|seed| story(seed) == story(0));
        assert!(!all_alike);
    }

    #[test]
    fn chapters_follow_each_other_and_the_shop_ends_as_it_began() {
        for seed in 0..50 {
            let Story { chapters } = story(seed);
            assert!(chapters.is_sorted_by_key(|chapter| chapter.at), "seed {seed}");
            let replicas =
                chapters.iter().flat_map(|chapter| &chapter.acts).filter_map(|act| match act {
                    Act::Scale { deployment: "web", replicas, .. } => Some(*replicas),
                    Act::Create(object) if object["metadata"]["name"] == "web" => {
                        object["spec"]["replicas"].as_u64()
                    }
                    _ => None,
                });
            let replicas: Vec<u64> = replicas.collect();
            assert_eq!(replicas.first(), replicas.last(), "seed {seed}");
            assert!(replicas[1] >= 3 * replicas[0], "seed {seed}");
        }
    }

    #[test]
    fn every_chapter_says_what_it_is_about() {
        for chapter in story(7).chapters {
            assert!(chapter.text.ends_with('.') && chapter.text.len() < 140, "{}", chapter.text);
            assert!(!chapter.acts.is_empty(), "{}", chapter.title);
        }
    }
}
