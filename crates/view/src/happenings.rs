//! What happened, in lines for people.
//!
//! A burst of fifty pods is one thing that happened, not fifty: happenings of the same kind and key
//! that come within a few seconds are told together.

use std::collections::VecDeque;

use crate::{
    amounts::{bytes, cores, count, price, span},
    scene::{Happening, Kind},
};

/// Happenings that come within this many seconds of the last one like them are told with it.
pub(crate) const TOLD_TOGETHER_SECONDS: f64 = 3.0;

/// How many happenings are kept.
const KEPT_MAX: usize = 400;

/// One thing that happens to one workload or instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) kind: Kind,
    /// Notes of one kind and key that come at about the same time are told together.
    pub(crate) key: String,
    /// The subject.
    pub(crate) subject: String,
    /// What several subjects are called together.
    pub(crate) group: String,
    /// What the subjects have in common, in words that depend on the kind.
    pub(crate) detail: String,
    /// The reason.
    pub(crate) why: String,
    /// The figures of this subject.
    pub(crate) figures: Figures,
}

/// Figures of a note, added up for those that are told together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) pods: usize,
    pub(crate) cpu: f64,
    pub(crate) memory: f64,
    pub(crate) price: f64,
    /// How long it took; of several the longest.
    pub(crate) seconds: f64,
}

/// The happenings of a view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Happenings {
    told: VecDeque<Told>,
    next_number: u64,
}

#[derive(Clone, Debug)]
struct Told {
    number: u64,
    at: f64,
    /// When the last note came that is told with the others.
    latest: f64,
    note: Note,
    /// The subjects, each once.
    subjects: Vec<String>,
}

impl Note {
    /// A note without figures.
    pub(crate) fn new(kind: Kind, subject: &str, detail: &str, why: &str) -> Self {
        Self {
            kind,
            key: subject.to_owned(),
            subject: subject.to_owned(),
            group: subject.to_owned(),
            detail: detail.to_owned(),
            why: why.to_owned(),
            figures: Figures::default(),
        }
    }

    /// The same, told together with others of a group.
    pub(crate) fn of_group(self, group: &str) -> Self {
        Self { key: group.to_owned(), group: group.to_owned(), ..self }
    }
}

impl Happenings {
    /// Takes note of something.
    pub(crate) fn note(&mut self, at: f64, note: Note) {
        let like = self.told.iter_mut().rev().take_while(|told| told.still_open(at)).find(|told| {
            told.note.kind == note.kind && told.note.key == note.key && note.kind != Kind::Story
        });
        if let Some(told) = like {
            told.add(at, note);
            return;
        }
        let subjects = vec![note.subject.clone()];
        self.told.push_back(Told { number: self.next_number, at, latest: at, note, subjects });
        self.next_number += 1;
        if self.told.len() > KEPT_MAX {
            self.told.pop_front();
        }
    }

    /// Those from a number on whose text does not change any more, in order.
    pub(crate) fn settled(&self, at: f64, from: u64) -> Vec<Happening> {
        let new = self.told.iter().filter(|told| told.number >= from);
        new.take_while(|told| !told.still_open(at)).map(Told::in_words).collect()
    }

    /// All of them as people read them, oldest first.
    pub(crate) fn as_told(&self) -> Vec<Happening> {
        self.told.iter().map(Told::in_words).collect()
    }
}

impl Told {
    /// Whether more may still be told with it.
    fn still_open(&self, at: f64) -> bool {
        at - self.latest <= TOLD_TOGETHER_SECONDS
    }

    fn add(&mut self, at: f64, note: Note) {
        self.latest = at;
        if !self.subjects.contains(&note.subject) {
            self.subjects.push(note.subject);
        }
        let (sum, more) = (&mut self.note.figures, note.figures);
        // That all pods run is about all of them each time.
        sum.pods = if self.note.kind == Kind::Settled { more.pods } else { sum.pods + more.pods };
        sum.cpu += more.cpu;
        sum.memory += more.memory;
        sum.price += more.price;
        sum.seconds = sum.seconds.max(more.seconds);
        if !note.why.is_empty() {
            self.note.why = note.why;
        }
    }

    fn in_words(&self) -> Happening {
        let (what, why) = self.what_and_why();
        let subject = match self.subjects.as_slice() {
            [one] => one.clone(),
            several => format!("{} ×{}", self.note.group, several.len()),
        };
        Happening { number: self.number, at: self.at, kind: self.note.kind, subject, what, why }
    }

    fn what_and_why(&self) -> (String, String) {
        let Note { kind, detail, why, figures, .. } = &self.note;
        let Figures { pods, cpu, memory, price: cost, seconds } = *figures;
        let one = self.subjects.len() == 1;
        let sized = || format!("cpu {}, memory {}", cores(cpu), bytes(memory));
        match kind {
            Kind::Story | Kind::Thwarted | Kind::Moved => (detail.clone(), why.clone()),
            Kind::Arrived => {
                let verb = if pods == 1 { "wants" } else { "want" };
                (format!("{} {verb} a place", count(pods, "pod")), sized())
            }
            Kind::Refused => (format!("no place for {}", count(pods, "pod")), why.clone()),
            Kind::Asked => {
                let what = if one { "an instance is asked for" } else { "are asked for" };
                (what.to_owned(), format!("for {} ({})", count(pods, "pod"), sized()))
            }
            Kind::Launched => {
                let pods = count(pods, "pod");
                let why = [format!("for {pods}: {}", sized()), why.clone()];
                let why: Vec<String> = why.into_iter().filter(|part| !part.is_empty()).collect();
                let cost = if cost > 0.0 { format!(", {}/h", price(cost)) } else { String::new() };
                (format!("{detail}{cost}"), why.join("; "))
            }
            Kind::Ready => {
                let what = if one { "ready" } else { "are ready" };
                let last = if one { "" } else { "the last " };
                (what.to_owned(), format!("{last}{} after it was asked for", span(seconds)))
            }
            Kind::Lost => ("does not answer any more".to_owned(), why.clone()),
            Kind::Back => {
                let what = if one { "is back" } else { "are back" };
                let last = if one { "" } else { "the last " };
                (what.to_owned(), format!("{last}{} after it was missed", span(seconds)))
            }
            Kind::Leaving => {
                let be = if one { "is" } else { "are" };
                (format!("{be} {detail}"), why.clone())
            }
            Kind::Gone => {
                let what = if one { "is gone" } else { "are gone" };
                let cost =
                    if cost > 0.0 { format!("{}/h saved", price(cost)) } else { String::new() };
                (what.to_owned(), cost)
            }
            Kind::Settled => {
                let all = if pods == 1 {
                    "the pod runs".to_owned()
                } else {
                    format!("all {pods} pods run")
                };
                (all, format!("the last one waited {}", span(seconds)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn lines(happenings: &Happenings) -> String {
        let lines = happenings.as_told().into_iter().map(|happening| {
            let Happening { number, at, kind, subject, what, why } = happening;
            format!("{number} {at:>3} {kind:?} | {subject} | {what} | {why}\n")
        });
        lines.collect()
    }

    fn arrived(workload: &str) -> Note {
        let figures = Figures { pods: 1, cpu: 2.0, memory: 1e9, ..Figures::default() };
        Note { figures, ..Note::new(Kind::Arrived, workload, "", "") }
    }

    fn ready(instance: &str, seconds: f64) -> Note {
        let figures = Figures { seconds, ..Figures::default() };
        let note = Note::new(Kind::Ready, instance, "", "");
        let pool = "general".to_owned();
        Note { key: pool.clone(), group: pool, figures, ..note }
    }

    #[test]
    fn what_comes_at_once_is_told_together() {
        let mut happenings = Happenings::default();
        for at in [0.0, 0.5, 3.0] {
            happenings.note(at, arrived("batch/render"));
        }
        happenings.note(3.0, arrived("shop/web"));
        // Long after the last one like it.
        happenings.note(9.0, arrived("batch/render"));
        expect![[r"
            0   0 Arrived | batch/render | 3 pods want a place | cpu 6, memory 2.8Gi
            1   3 Arrived | shop/web | 1 pod wants a place | cpu 2, memory 954Mi
            2   9 Arrived | batch/render | 1 pod wants a place | cpu 2, memory 954Mi
        "]]
        .assert_eq(&lines(&happenings));
    }

    #[test]
    fn of_several_instances_the_slowest_counts() {
        let mut happenings = Happenings::default();
        happenings.note(40.0, ready("general-a", 36.0));
        happenings.note(41.0, ready("general-b", 38.0));
        happenings.note(60.0, ready("general-c", 35.0));
        expect![[r"
            0  40 Ready | general ×2 | are ready | the last 38 s after it was asked for
            1  60 Ready | general-c | ready | 35 s after it was asked for
        "]]
        .assert_eq(&lines(&happenings));
    }

    #[test]
    fn that_all_pods_run_is_told_of_the_pods_that_there_are() {
        let mut happenings = Happenings::default();
        for at in [0.0, 2.0] {
            let figures = Figures { pods: 64, seconds: 10.0 - at, ..Figures::default() };
            happenings.note(at, Note { figures, ..Note::new(Kind::Settled, "", "", "") });
        }
        assert_eq!(happenings.as_told()[0].what, "all 64 pods run");
    }

    #[test]
    fn the_chapters_of_a_story_are_told_one_by_one() {
        let mut happenings = Happenings::default();
        let chapter = |title| Note::new(Kind::Story, "story", title, "because");
        happenings.note(0.0, chapter("one"));
        happenings.note(0.0, chapter("two"));
        assert_eq!(happenings.as_told().len(), 2);
    }
}
