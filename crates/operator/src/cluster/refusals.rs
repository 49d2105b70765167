//! What the API server does not let us do, as far as it was tried.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, futures::Notified};

use crate::{probes::NotReady, trouble::Trouble};

/// Deeds that were refused for want of a permission, until they work. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    by_deed: Mutex<BTreeMap<String, NotReady>>,
    changed: Notify,
}

impl Refusals {
    /// Every permission that is missing.
    pub fn missing(&self) -> Vec<NotReady> {
        self.deeds().values().cloned().collect()
    }

    /// Waits until that has changed.
    pub fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// Takes note of a deed that failed, if it did for want of a permission.
    pub(super) fn failed(&self, trouble: &Trouble) {
        let Trouble::Api { what, .. } = trouble else { return };
        let forbidden = trouble.status().filter(|status| status.code == 403);
        let Some(missing) = forbidden.and_then(|status| permission(&status.message)) else {
            return;
        };
        self.deeds().insert(deed(what).to_owned(), missing);
        self.0.changed.notify_waiters();
    }

    /// Takes note of a deed that worked: whoever may do it to one object may do it to all.
    pub(super) fn worked(&self, what: impl FnOnce() -> String) {
        let mut deeds = self.deeds();
        if !deeds.is_empty() && deeds.remove(deed(&what())).is_some() {
            drop(deeds);
            self.0.changed.notify_waiters();
        }
    }

    fn deeds(&self) -> MutexGuard<'_, BTreeMap<String, NotReady>> {
        self.0.by_deed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was done, without the object it was done to: `create NodeClaim` of `create NodeClaim web-1`.
fn deed(what: &str) -> &str {
    match what.rsplit_once(' ') {
        Some((deed, _)) if deed.contains(' ') => deed,
        // A deed to a whole kind, such as `list NodeClaims`.
        _ => what,
    }
}

/// The permission that a refusal is about. Quotas and admission refuse with the same code, and no
/// role would help against them.
fn permission(message: &str) -> Option<NotReady> {
    let (_, rest) = message.split_once(" cannot ")?;
    let (verb, rest) = rest.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once('"')?;
    let (_, rest) = rest.split_once("in API group \"")?;
    let (group, _) = rest.split_once('"')?;
    let (plural, part) = resource.split_once('/').unwrap_or((resource, ""));
    let mut resource = plural.to_owned();
    for (separator, more) in [('.', group), ('/', part)] {
        if !more.is_empty() {
            resource.push(separator);
            resource.push_str(more);
        }
    }
    Some(NotReady::Forbidden { verb: verb.to_owned(), resource })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_permission_is_told_as_roles_write_it() {
        let of = |message| permission(message).map(|missing| missing.to_string());
        let claims = "nodeclaims.karpenter.sh \"a\" is forbidden: User \"joiner\" cannot patch \
                      resource \"nodeclaims/status\" in API group \"karpenter.sh\" at the cluster \
                      scope";
        expect_test::expect![[r#"the service account may not patch nodeclaims.karpenter.sh/status: add the verb patch on nodeclaims.karpenter.sh/status to its role"#]]
            .assert_eq(&of(claims).unwrap());
        let eviction = "pods \"web\" is forbidden: User \"joiner\" cannot create resource \
                        \"pods/eviction\" in API group \"\" in the namespace \"shop\"";
        assert!(of(eviction).unwrap().contains("may not create pods/eviction:"));
    }

    #[test]
    fn what_no_role_could_help_against_is_no_missing_permission() {
        let quota = "pods \"web\" is forbidden: exceeded quota: small, requested: pods=1";
        assert_eq!(permission(quota), None);
    }
}
