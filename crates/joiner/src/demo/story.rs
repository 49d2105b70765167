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
use super::vsphere::DATASTORES;
use crate::cli::DemoProvider;

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

/// An action of a user on the cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// Creates an object.
    Create(Value),
    /// Gives a Deployment another number of pods.
    Scale { namespace: &'static str, deployment: &'static str, replicas: u64 },
    /// Deletes a Job and its pods.
    DeleteJob { namespace: &'static str, job: &'static str },
    /// Lets the instance fail that has the most pods of those in a pool.
    FailInstance { pool: &'static str },
    /// Lets the host fail that runs the most instances.
    FailHost,
    /// Fills a datastore.
    FillDatastore { name: &'static str },
}

/// The story of a seed on a cloud's instances. Seeds differ in how much of everything there is.
pub(crate) fn story(seed: u64, provider: DemoProvider) -> Story {
    let mut chance = Chance::new(seed).fork("story");
    let web = 5 + chance.below(4);
    let frames = 30 + chance.below(13);
    let rush = web * 3 + chance.below(5);
    let at = SignedDuration::from_secs;
    // Instances that are cloned and boot take longer than those that are none.
    let later = |seconds| match provider {
        DemoProvider::Kwok => at(seconds),
        DemoProvider::Vsphere => at(seconds + 30),
    };
    let mut chapters = vec![
        Chapter {
            at: at(0),
            title: "An empty cluster",
            text: format!(
                "Two pools and no worker at all; a small shop moves in: {} pods.",
                web + objects::CHECKOUT + objects::CACHE
            ),
            burst: false,
            acts: base(web, provider).into_iter().map(Act::Create).collect(),
        },
        Chapter {
            // Long enough for instances of a second turn to be there.
            at: at(95),
            title: "A burst",
            text: format!(
                "{frames} frames to render on instances of their own, and the shop is busy: \
                 web grows from {web} to {rush} pods."
            ),
            burst: true,
            acts: vec![
                Act::Create(frames_to_render(frames, provider)),
                Act::Scale { namespace: "shop", deployment: "web", replicas: rush },
            ],
        },
        Chapter {
            at: later(170),
            title: "A pod that fits nowhere",
            text: "A training job asks for 24 cores, more than any instance of these pools has. \
                   Nothing is made; it is said why."
                .to_owned(),
            burst: false,
            acts: vec![Act::Create(training("train", "24", provider))],
        },
        Chapter {
            at: later(215),
            title: "It asks for less",
            text: "Its owner has read the reason and asks for 12 cores.".to_owned(),
            burst: false,
            acts: vec![
                Act::DeleteJob { namespace: "ml", job: "train" },
                Act::Create(training("train-small", "12", provider)),
            ],
        },
    ];
    chapters.extend(match provider {
        DemoProvider::Kwok => vec![instance_fails()],
        DemoProvider::Vsphere => vec![datastore_fills(), host_fails(), instance_is_deleted()],
    });
    chapters.push(Chapter {
        at: at(match provider {
            DemoProvider::Kwok => 420,
            DemoProvider::Vsphere => 560,
        }),
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
    });
    chapters.sort_by_key(|chapter| chapter.at);
    Story { chapters }
}

fn instance_fails() -> Chapter {
    Chapter {
        at: SignedDuration::from_secs(270),
        title: "An instance fails",
        text: "The host under the fullest instance of the shop dies, without a word to anyone."
            .to_owned(),
        burst: false,
        acts: vec![Act::FailInstance { pool: objects::GENERAL }],
    }
}

/// While the instances of the burst are cloned.
fn datastore_fills() -> Chapter {
    let [name, other] = DATASTORES;
    Chapter {
        at: SignedDuration::from_secs(102),
        title: "A datastore fills up",
        text: format!(
            "Somebody copies images to {name} while instances are cloned to it; \
             those that find no room are made on {other}."
        ),
        burst: false,
        acts: vec![Act::FillDatastore { name }],
    }
}

fn host_fails() -> Chapter {
    Chapter {
        at: SignedDuration::from_secs(310),
        title: "A host fails",
        text: "The busiest host dies, and all its instances with it; HA starts them on others."
            .to_owned(),
        burst: false,
        acts: vec![Act::FailHost],
    }
}

fn instance_is_deleted() -> Chapter {
    Chapter {
        at: SignedDuration::from_secs(410),
        title: "An instance is deleted by hand",
        text: "Somebody deletes the fullest instance of the shop in vCenter, with pods on it."
            .to_owned(),
        burst: false,
        acts: vec![Act::FailInstance { pool: objects::GENERAL }],
    }
}

fn frames_to_render(frames: u64, provider: DemoProvider) -> Value {
    let workload =
        Workload { cpu: "2", memory: "3Gi", batch: true, ..Workload::new("batch", "render") };
    job(&workload, frames, provider)
}

fn training(name: &'static str, cpu: &'static str, provider: DemoProvider) -> Value {
    let workload = Workload { cpu, memory: "20Gi", batch: true, ..Workload::new("ml", name) };
    job(&workload, 1, provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDERS: [DemoProvider; 2] = [DemoProvider::Kwok, DemoProvider::Vsphere];

    #[test]
    fn a_seed_always_tells_the_same_story() {
        for provider in PROVIDERS {
            assert_eq!(story(7, provider), story(7, provider));
            let all_alike = (1..20).all(|seed| story(seed, provider) == story(0, provider));
            assert!(!all_alike);
        }
    }

    #[test]
    fn chapters_follow_each_other_and_the_shop_ends_as_it_began() {
        for (seed, provider) in (0..50).zip(PROVIDERS.into_iter().cycle()) {
            let Story { chapters } = story(seed, provider);
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
        for chapter in PROVIDERS.into_iter().flat_map(|provider| story(7, provider).chapters) {
            assert!(chapter.text.ends_with('.') && chapter.text.len() < 140, "{}", chapter.text);
            assert!(!chapter.acts.is_empty(), "{}", chapter.title);
        }
    }
}
