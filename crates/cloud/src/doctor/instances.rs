//! The instances that already exist.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClaimSeen, Finding, Subject};
use crate::mark::Mark;

/// The number of names in a text. More would not be read.
const NAMED: usize = 10;

/// The owner of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The cluster that is examined.
    Ours,
    /// Another owner, or an unfinished clone.
    Others,
    /// It may be ours: its mark cannot be read now.
    Unreadable,
}

/// An instance as the cloud shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceSeen {
    /// Its name in the cloud.
    pub name: String,
    /// Its provider id, where it is known.
    pub provider_id: Option<String>,
    /// Its mark.
    pub mark: Option<Mark>,
    /// Its owner.
    pub owner: Owner,
    /// Where it carries a mark of this cluster and is not the instance that the mark was written for:
    /// what to say of it.
    pub copy: Option<String>,
}

/// What to say about the instances of a cluster's name. Those without a mark were made by
/// `predecessor` and are known by its tag.
pub fn instances(
    cluster: &str,
    predecessor: &str,
    seen: &[InstanceSeen],
    claims: Result<&[ClaimSeen], &str>,
) -> Vec<Finding> {
    let object = format!("cluster {cluster:?}");
    let subject = Subject::new("instances", &object);
    let of = |owner: Owner| seen.iter().filter(move |own| own.owner == owner);
    let ours: Vec<&InstanceSeen> = of(Owner::Ours).collect();
    let unreadable: Vec<&InstanceSeen> = of(Owner::Unreadable).collect();
    let unmarked: Vec<&InstanceSeen> =
        ours.iter().copied().filter(|own| own.mark.is_none()).collect();
    let mut found = vec![subject.fine(format!("{} belong to this cluster", ours.len()))];
    if !unmarked.is_empty() {
        found.push(subject.fine(format!(
            "{} of them were made by {predecessor} and are known by its tag: {}",
            unmarked.len(),
            names_of(&unmarked)
        )));
    }
    if !unreadable.is_empty() {
        found.push(subject.problem(
            "InstancesUnreadable",
            &format!(
                "{} cannot be read, because their host is away, and may be this cluster's, so that \
                 no list of instances can be made; bring the host back, or remove them from the \
                 inventory",
                names_of(&unreadable)
            ),
        ));
    }
    for copy in seen.iter().filter_map(|own| own.copy.as_deref()) {
        found.push(subject.warning("CopyFound", copy));
    }
    let clusters: BTreeSet<&str> = ours.iter().filter_map(|own| cluster_uid(own)).collect();
    if clusters.len() > 1 {
        found.push(subject.warning(
            "SeveralClusters",
            &format!(
                "clusters whose namespace kube-system has the UID {} have this name, and each leaves \
                 the instances of the others alone; give all but one another CLUSTER_NAME",
                clusters.into_iter().collect::<Vec<_>>().join(", ")
            ),
        ));
    }
    for (uid, twins) in doubles(&ours) {
        found.push(subject.warning(
            "TwoInstancesOfOneClaim",
            &format!(
                "{} were made for one NodeClaim, {uid}; the older one is used: look whether the \
                 other runs anything, and remove it",
                names_of(&twins)
            ),
        ));
    }
    found.push(orphans(Subject::new("orphans", &object), &ours, claims));
    found
}

/// The identity of the cluster that an instance's mark names.
fn cluster_uid(seen: &InstanceSeen) -> Option<&str> {
    seen.mark.as_ref().map(|mark| mark.cluster_uid.as_str()).filter(|uid| !uid.is_empty())
}

/// Instances that were made for one claim.
fn doubles<'v>(ours: &[&'v InstanceSeen]) -> BTreeMap<String, Vec<&'v InstanceSeen>> {
    let mut by_claim: BTreeMap<String, Vec<&InstanceSeen>> = BTreeMap::new();
    for own in ours {
        if let Some(mark) = own.mark.as_ref().filter(|mark| !mark.claim.uid.is_empty()) {
            by_claim.entry(mark.claim.uid.clone()).or_default().push(own);
        }
    }
    by_claim.retain(|_, all| all.len() > 1);
    by_claim
}

/// Instances without a claim.
fn orphans(
    subject: Subject<'_>,
    ours: &[&InstanceSeen],
    claims: Result<&[ClaimSeen], &str>,
) -> Finding {
    let claims = match claims {
        Ok(claims) => claims,
        Err(why) => return subject.not_checked(why),
    };
    let uids: BTreeSet<&str> = claims.iter().map(|claim| claim.uid.as_str()).collect();
    let ids: BTreeSet<&str> =
        claims.iter().filter_map(|claim| claim.provider_id.as_deref()).collect();
    let is_claimed = |own: &&InstanceSeen| {
        let by_mark = own.mark.as_ref().is_some_and(|mark| uids.contains(mark.claim.uid.as_str()));
        by_mark || own.provider_id.as_deref().is_some_and(|id| ids.contains(id))
    };
    let orphans: Vec<&InstanceSeen> = ours.iter().copied().filter(|own| !is_claimed(own)).collect();
    if orphans.is_empty() {
        return subject.fine("every instance has its NodeClaim");
    }
    subject.warning(
        "Orphans",
        &format!(
            "{} of {} instances have no NodeClaim: {}; correct CLUSTER_NAME or the kubeconfig, if they \
             are another cluster's, since the controller removes them once they are older than five \
             minutes",
            orphans.len(),
            ours.len(),
            names_of(&orphans)
        ),
    )
}

fn names_of(all: &[&InstanceSeen]) -> String {
    let mut names: Vec<&str> = all.iter().map(|own| own.name.as_str()).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let listed = names.join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{doctor::Severity, order::ClaimId};

    const CLUSTER: &str = "prod";

    fn seen(name: &str, claim: Option<&str>) -> InstanceSeen {
        let mark = claim.map(|uid| Mark {
            cluster: CLUSTER.to_owned(),
            claim: ClaimId { name: name.to_owned(), uid: uid.to_owned() },
            ..Mark::default()
        });
        InstanceSeen {
            name: format!("prod-karp-{name}"),
            provider_id: Some(format!("test://uuid-{name}")),
            mark,
            owner: Owner::Ours,
            copy: None,
        }
    }

    fn claim(uid: &str, provider_id: Option<&str>) -> ClaimSeen {
        ClaimSeen { uid: uid.to_owned(), provider_id: provider_id.map(str::to_owned) }
    }

    fn told(seen: &[InstanceSeen], claims: Result<&[ClaimSeen], &str>) -> Vec<String> {
        let found = instances(CLUSTER, "the predecessor", seen, claims);
        let told = found.iter().filter(|own| own.severity != Severity::Ok);
        told.map(|own| format!("{} {}", own.code, own.text)).collect()
    }

    #[test]
    fn an_instance_without_a_claim_is_named() {
        let all = [seen("a", Some("uid-a")), seen("b", Some("uid-b")), seen("old", None)];
        let claims = [claim("uid-a", None), claim("uid-old", Some("test://uuid-old"))];
        let told = told(&all, Ok(&claims));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("Orphans 1 of 3 instances have no NodeClaim: prod-karp-b"));
    }

    #[test]
    fn without_a_cluster_orphans_are_unknown() {
        let all = [seen("a", Some("uid-a"))];
        assert_eq!(told(&all, Err("no cluster")), ["NotChecked no cluster"]);
    }

    #[test]
    fn two_instances_of_one_claim_are_named() {
        let all = [seen("a", Some("uid-a")), seen("b", Some("uid-a"))];
        let told = told(&all, Ok(&[claim("uid-a", None)]));
        assert!(told[0].contains("prod-karp-a, prod-karp-b were made for one NodeClaim, uid-a"));
    }

    #[test]
    fn a_copy_is_named_and_is_no_orphan() {
        let copy = InstanceSeen {
            owner: Owner::Others,
            copy: Some("copy of prod-karp-a; remove it".to_owned()),
            ..seen("a", Some("uid-a"))
        };
        assert_eq!(told(&[copy], Ok(&[])), ["CopyFound copy of prod-karp-a"]);
    }

    #[test]
    fn clusters_that_share_the_name_are_named() {
        let of = |uid: &str| {
            let mut seen = seen(uid, Some(uid));
            seen.mark.as_mut().expect("it has one").cluster_uid = uid.to_owned();
            seen
        };
        let claims = [claim("a", None), claim("b", None)];
        assert_eq!(told(&[of("a")], Ok(&claims)), [] as [String; 0]);
        let told = told(&[of("a"), of("b")], Ok(&claims));
        assert!(told[0].starts_with("SeveralClusters clusters whose"), "{told:?}");
        assert!(told[0].contains("UID a, b"), "{told:?}");
    }

    #[test]
    fn an_instance_that_cannot_be_read_may_be_ours() {
        let away = InstanceSeen { owner: Owner::Unreadable, ..seen("a", None) };
        let told = told(&[away], Ok(&[]));
        assert!(told[0].starts_with("InstancesUnreadable prod-karp-a"), "{told:?}");
    }
}
