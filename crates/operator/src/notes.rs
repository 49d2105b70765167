//! Notes from clouds, shown to users: as events on claims and classes, and as progress in a claim's
//! condition `Launched`.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use joiner_api::{condition::find, node_claim::NodeClaim};
use joiner_cloud::{
    notes::{About, Note, Notes, Says},
    order::ClaimId,
};

use crate::{
    claims::{is_deleting, uid},
    cluster::Lock,
    conditions::{Conditioned, LAUNCHED, Status},
    context::Context,
    events::{Event, EventType, Subject},
    garbage,
    world::{Change, Kept, Key, class_key},
};

/// Progress of one instance is not written more often than this: it is read by people.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);
/// A claim whose progress was last written so long ago is not on its way any more.
const FORGOTTEN_AFTER: Duration = Duration::from_hours(1);
/// The reason of a condition that shows progress.
const UNDER_WAY: &str = "InstanceUnderWay";

/// Shows the notes of one cloud. Never ends.
pub async fn tell(context: Context, cloud: &'static str, notes: Notes) {
    let mut written = Written::default();
    loop {
        let Note { about, says } = notes.next().await;
        match (about, says) {
            (About::Claim(claim), Says::Progress(text)) => {
                if written.may_write(&claim, context.clock.running()) {
                    show(&context, &claim, &text).await;
                }
            }
            (about, Says::Happened { reason, message }) => {
                publish(&context, cloud, &about, EventType::Normal, reason, &message);
            }
            (about, Says::WentWrong { reason, message }) => {
                publish(&context, cloud, &about, EventType::Warning, reason, &message);
            }
            (About::Claim(claim), Says::LookAgain) => {
                if let Err(trouble) = garbage::look_at(&context, &claim).await {
                    tracing::warn!(
                        NodeClaim = claim.name,
                        "whether the instance is lost is looked at in the next round: {trouble}"
                    );
                }
            }
            (about, Says::LookAgain) => look_again(&context, cloud, &about),
            (about, Says::Progress(text)) => {
                tracing::debug!("progress is shown of claims alone: {about:?}: {text}");
            }
        }
    }
}

/// When the progress of claims was last written, by their identity.
#[derive(Debug, Default)]
struct Written(BTreeMap<String, Duration>);

impl Written {
    /// Whether the progress of a claim may be written now; it counts as written then.
    fn may_write(&mut self, claim: &ClaimId, now: Duration) -> bool {
        self.0.retain(|_, at| now.saturating_sub(*at) < FORGOTTEN_AFTER);
        let last = self.0.get(&claim.uid);
        let may = last.is_none_or(|last| now.saturating_sub(*last) >= PROGRESS_EVERY);
        if may {
            self.0.insert(claim.uid.clone(), now);
        }
        may
    }
}

fn publish(
    context: &Context,
    cloud: &str,
    about: &About,
    kind: EventType,
    reason: &'static str,
    text: &str,
) {
    let told = subjects(context, cloud, about);
    // Notes about the whole cloud are also logged, and so are notes without an object: it may be
    // gone meanwhile.
    if told.is_empty() || *about == About::Cloud {
        match kind {
            EventType::Normal => tracing::info!(?about, reason, "{text}"),
            EventType::Warning => tracing::warn!(?about, reason, "{text}"),
        }
    }
    for about in told {
        context.events.tell(Event::of_cloud(&about, kind, reason, text));
    }
}

/// Has classes judged now: the one that is meant, or all of a cloud.
fn look_again(context: &Context, cloud: &str, about: &About) {
    let keys: Vec<Key> = match about {
        About::Class { group, kind, name } => vec![class_key(group, kind, name)],
        About::Cloud => context.classes_of(cloud).iter().map(|class| class.key()).collect(),
        About::Claim(_) => Vec::new(),
    };
    for key in keys {
        context.cache.announce(&Change::LookAgain(key));
    }
}

/// The existing objects that a note is about.
fn subjects(context: &Context, cloud: &str, about: &About) -> Vec<Subject> {
    let found = match about {
        About::Cloud => {
            let classes = context.classes_of(cloud);
            return classes.iter().map(|class| Subject::of_class(class)).collect();
        }
        About::Claim(claim) => context.cache.read(|world| {
            let known = world.node_claims.get(&Key::cluster(&claim.name))?;
            (uid(&known.metadata) == claim.uid).then(|| Subject::of(&**known))
        }),
        About::Class { group, kind, name } => context
            .cache
            .read(|world| world.class(group, kind, name).map(|class| Subject::of_class(class))),
    };
    found.into_iter().collect()
}

/// Shows the progress of an instance. Best effort: another controller may write at the same time.
async fn show(context: &Context, claim: &ClaimId, text: &str) {
    let known = context.cache.read(|world| {
        let known = world.node_claims.get(&Key::cluster(&claim.name)).cloned();
        known.filter(|known| uid(&known.metadata) == claim.uid)
    });
    let Some(known) = known else { return };
    let Some(next) = progressed(&known, text, context.now()) else { return };
    if let Err(trouble) = context.cluster.patch_status(&*known, &next, Lock::Version).await {
        tracing::debug!(NodeClaim = claim.name, "progress is not shown: {trouble}");
    }
}

/// The claim with how far its instance has come; nothing if it has its instance, is leaving, or says so
/// already.
fn progressed(claim: &NodeClaim, text: &str, now: Timestamp) -> Option<NodeClaim> {
    let launched = find(claim.conditions(), LAUNCHED);
    let says_so = launched.is_some_and(|launched| launched.message == text);
    if claim.status(LAUNCHED) != Status::Unknown || is_deleting(claim) || says_so {
        return None;
    }
    let mut next = claim.clone();
    next.conditions_mut(now).set(LAUNCHED, Status::Unknown, UNDER_WAY, text);
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(uid: &str) -> ClaimId {
        ClaimId { name: "web-1".to_owned(), uid: uid.to_owned() }
    }

    #[test]
    fn progress_of_an_instance_is_written_twice_a_minute_at_most() {
        let mut written = Written::default();
        let second = Duration::from_secs;
        assert!(written.may_write(&claim("a"), second(0)));
        assert!(!written.may_write(&claim("a"), second(29)));
        assert!(written.may_write(&claim("b"), second(29)), "each has its own turn");
        assert!(written.may_write(&claim("a"), second(30)));
        written.may_write(&claim("c"), second(4000));
        assert_eq!(written.0.len(), 1, "what is long over is forgotten");
    }

    #[test]
    fn progress_is_shown_only_while_an_instance_is_made_and_only_when_it_is_news() {
        let now = Timestamp::UNIX_EPOCH;
        let waiting = NodeClaim::default();
        let half = progressed(&waiting, "half done", now).unwrap();
        let shown = find(half.conditions(), LAUNCHED).unwrap();
        assert_eq!((shown.status.as_str(), shown.message.as_str()), ("Unknown", "half done"));
        assert_eq!(progressed(&half, "half done", now), None);
        let mut made = half;
        made.conditions_mut(now).set_true(LAUNCHED);
        assert_eq!(progressed(&made, "nearly done", now), None);
    }
}
