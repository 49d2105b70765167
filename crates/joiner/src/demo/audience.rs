//! The viewers of the demonstration: their picture and their messages.

use std::{cell::RefCell, convert::Infallible, rc::Rc};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{ChangeKind, Feed};
use joiner_clock::Clock;
use joiner_view::{
    Change, Seen, View,
    prices::Prices,
    scene::{Happening, Scene, Totals},
    stage::{Chapter, Stage},
};

use super::{story::Summary, vsphere::Estate};
use crate::output;

/// How often figures are noted.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// What is shown of a demonstration. Everything but the chapters comes from API objects.
#[derive(Debug)]
pub(super) struct Audience {
    view: View,
    stage: Stage,
    summary: Summary,
    /// Where instances are made, if that can be looked into.
    estate: Option<Estate>,
    start: Timestamp,
    /// The number of the next happening to tell, for viewers of the line output.
    next_line: u64,
}

impl Audience {
    /// Sees nothing yet.
    pub(super) fn new(start: Timestamp, stage: Stage, estate: Option<Estate>) -> Self {
        let prices = match &estate {
            Some(_) => Estate::prices(),
            None => Prices::of(&joiner_kwok::instance_types()),
        };
        let view = View::new(start, prices);
        Self { view, stage, summary: Summary::default(), estate, start, next_line: 0 }
    }

    /// A new chapter begins.
    pub(super) fn chapter(&mut self, now: Timestamp, chapter: Chapter, burst: bool) {
        self.view.tell(now, &chapter.title, &chapter.text);
        if burst {
            self.summary.burst_begins(self.seconds(now));
        }
        self.stage.chapter = Some(chapter);
    }

    /// The story is over.
    pub(super) fn end(&mut self, now: Timestamp) {
        let summary = self.summary();
        self.view.tell(now, "The story is over", &summary);
        self.stage.summary = Some(summary);
    }

    /// Whether the story is over.
    pub(super) fn has_ended(&self) -> bool {
        self.stage.summary.is_some()
    }

    /// What came of the story so far.
    pub(super) fn summary(&self) -> String {
        self.summary.in_words(&self.totals())
    }

    pub(super) fn scene(&self, now: Timestamp) -> Scene {
        self.view.scene(now)
    }

    pub(super) fn totals(&self) -> Totals {
        self.view.totals()
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    pub(super) fn stage_mut(&mut self) -> &mut Stage {
        &mut self.stage
    }

    /// What happened since this was last asked, each thing once.
    pub(super) fn news(&mut self, now: Timestamp) -> Vec<Happening> {
        let news = self.view.told(now, self.next_line);
        if let Some(last) = news.last() {
            self.next_line = last.number + 1;
        }
        news
    }

    fn see(&mut self, change: &joiner_apiserver::Change) {
        let (group, plural) = (&change.resource.group, &change.resource.plural);
        let became = match change.kind {
            ChangeKind::Added | ChangeKind::Modified => Change::There,
            ChangeKind::Deleted => Change::Gone,
        };
        match Seen::read(group, plural, change.object.value()) {
            Ok(Some(seen)) => self.view.see(change.at, &seen, became),
            Ok(None) => {}
            // The server refuses what is not as its kind must be, so this is a bug worth a line.
            Err(error) => output::talk(&format!("joiner: {error}")),
        }
    }

    fn pass(&mut self, now: Timestamp) {
        if let Some(estate) = &self.estate {
            self.view.see_site(now, estate.look());
        }
        self.view.pass(now);
        self.summary.note(self.seconds(now), &self.view.totals());
    }

    fn seconds(&self, now: Timestamp) -> f64 {
        now.duration_since(self.start).as_secs_f64()
    }
}

/// Watches a server for ever.
pub(super) async fn watch(feed: Feed, clock: Clock, audience: Rc<RefCell<Audience>>) -> Infallible {
    let mut next = clock.now();
    loop {
        for change in feed.drain() {
            audience.borrow_mut().see(&change);
        }
        if clock.now() >= next {
            audience.borrow_mut().pass(clock.now());
            next = clock.now().saturating_add(SECOND).unwrap_or(Timestamp::MAX);
        }
        tokio::select! {
            biased;
            () = feed.changed() => {}
            () = clock.sleep_until(next) => {}
        }
    }
}
