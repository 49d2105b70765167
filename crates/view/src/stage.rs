//! What stands around a scene: which cluster this is, how fast its time goes, how to get at it.

use serde::Serialize;

/// What stands around a scene.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// What is shown.
    pub title: String,
    /// How many times as fast as usual time passes.
    pub speed: f64,
    /// Whether time stands still.
    pub held: bool,
    /// Whether the cluster's time is that of the computer, which it never passes: it goes on at the
    /// computer's pace at any speed.
    pub caught_up: bool,
    /// What is going on, for clusters in which a story is told.
    pub chapter: Option<Chapter>,
    /// What came of the story, once it is over.
    pub summary: Option<String>,
    /// Where the page is.
    pub page: String,
    /// How `kubectl` is pointed at the cluster.
    pub kubectl: String,
    /// Where the vCenter is whose instances the cluster has, and how to log on to it; empty where there
    /// is none.
    pub vcenter: String,
    /// How `govc` is pointed at that vCenter, a command each.
    pub govc: Vec<String>,
}

impl Stage {
    /// How many times as fast as usual time passes now.
    pub fn pace(&self) -> f64 {
        if self.caught_up { self.speed.min(1.0) } else { self.speed }
    }
}

/// A part of a story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Chapter {
    /// From 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// In a few words.
    pub title: String,
    /// In a sentence.
    pub text: String,
}

/// A viewer's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To see no more.
    Quit,
    /// Time to stand still, or to go on.
    HoldOrGoOn,
    /// Time to pass faster.
    Faster,
    /// Time to pass slower.
    Slower,
}
