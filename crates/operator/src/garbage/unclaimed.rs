//! Instances of a cluster without any claim. The claims may be lost, with etcd or with their CRD,
//! and the instances may still be needed. A user must permit their removal.

use jiff::{SignedDuration, Timestamp};
use joiner_cloud::CloudProvider;
use joiner_core::label::Labels;

use super::GarbageCollection;
use crate::{
    claims::name,
    events::{Event, Subject},
    marks::REMOVE_UNCLAIMED_UNTIL,
};

/// This many are removed without permission: interrupted creations may leave a few. The value was
/// chosen and not measured separately.
pub(super) const REMOVED_WITHOUT_CLAIMS: usize = 2;
/// The duration of the permission that an event proposes: several rounds of two minutes. The value
/// was chosen and not measured separately.
const PROPOSED: SignedDuration = SignedDuration::from_hours(1);
/// The longest permission: an old one must not apply by surprise. The value was chosen and not
/// measured separately.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// An object that can carry the permission.
struct Place {
    subject: Subject,
    /// Its name for `kubectl annotate`.
    called: String,
    /// The value of its annotation, if it has one.
    said: Option<Result<bool, String>>,
}

impl GarbageCollection {
    /// Whether a user permits the removal of instances without claims. Otherwise events on the
    /// pools and classes of the cloud explain how.
    pub(super) fn may_remove_unclaimed(&self, provider: &dyn CloudProvider, owned: usize) -> bool {
        let now = self.context.now();
        let places = self.places(provider, now);
        if places.iter().any(|place| place.said == Some(Ok(true))) {
            return true;
        }
        tracing::error!(
            provider = provider.name(),
            instances = owned,
            "the cluster has no nodeclaim, so none of its instances is removed: restore the \
             nodeclaims, or stop this controller, if the cluster is a copy; events on nodepools and \
             nodeclasses say how to have the instances removed"
        );
        let until = now.saturating_add(PROPOSED).unwrap_or(now);
        for place in places {
            let command = format!(
                "kubectl annotate --overwrite {} {REMOVE_UNCLAIMED_UNTIL}={until:.0}",
                place.called
            );
            let problem = place.said.and_then(Result::err);
            let event = Event::no_node_claims(&place.subject, owned, &command, problem.as_deref());
            self.context.events.tell(event);
        }
        false
    }

    /// The pools and classes of a cloud.
    fn places(&self, provider: &dyn CloudProvider, now: Timestamp) -> Vec<Place> {
        let pools = self.context.cache.read(|world| {
            let pools = world.node_pools.values().filter(|pool| {
                let class = pool.spec.template.spec.node_class_ref.as_ref();
                let own = self.context.provider(class);
                own.is_some_and(|own| own.name() == provider.name())
            });
            pools.cloned().collect::<Vec<_>>()
        });
        let of_pools = pools.iter().map(|pool| Place {
            subject: Subject::of(&**pool),
            called: format!("nodepools.karpenter.sh {}", name(&pool.metadata)),
            said: said(pool.metadata.annotations.as_ref(), now),
        });
        let classes = self.context.classes_of(provider.name());
        let of_classes = classes.iter().filter_map(|class| {
            let is_it = |kind: &&joiner_cloud::class::ClassKind| {
                kind.group == class.group && kind.kind == class.kind
            };
            let kind = provider.class_kinds().iter().find(is_it)?;
            Some(Place {
                subject: Subject::of_class(class),
                called: format!("{}.{} {}", kind.plural, kind.group, class.name),
                said: said(Some(&class.annotations), now),
            })
        });
        of_pools.chain(of_classes).collect()
    }
}

/// Whether annotations grant permission now; an error names the problem.
fn said(annotations: Option<&Labels>, now: Timestamp) -> Option<Result<bool, String>> {
    let text = annotations?.get(REMOVE_UNCLAIMED_UNTIL)?;
    let until = text.parse::<Timestamp>().map_err(|_| format!("{text:?} is no moment"));
    Some(until.and_then(|until| {
        if until.duration_since(now) > LONGEST {
            return Err(format!("{text} is more than a day ahead"));
        }
        Ok(until > now)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leave_is_a_moment_within_the_next_day() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let said = |text: &str| {
            let annotations = [(REMOVE_UNCLAIMED_UNTIL.to_owned(), text.to_owned())].into();
            said(Some(&annotations), now).expect("there is one")
        };
        assert_eq!(said("2026-01-01T13:00:00Z"), Ok(true));
        assert_eq!(said("2026-01-01T14:30:00+02:00"), Ok(true));
        assert_eq!(said("2026-01-01T12:00:00Z"), Ok(false), "it is over");
        assert_eq!(said("2026-01-02T12:00:00Z"), Ok(true));
        let refused = said("2026-01-02T12:00:01Z").unwrap_err();
        assert_eq!(refused, "2026-01-02T12:00:01Z is more than a day ahead");
        for text in ["", "true", "1h", "2026-01-01"] {
            assert_eq!(said(text).unwrap_err(), format!("{text:?} is no moment"));
        }
        assert_eq!(super::said(None, now), None);
    }
}
