//! Storage policies: a service of its own (`/pbm`), on the same session.

use std::collections::BTreeSet;

use crate::{
    Element, MoRef, Vim, VimError,
    client::Seat,
    soap::{Call, Service},
};

/// A rule about where disks may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoragePolicy {
    /// The id by which instances and disks request it.
    pub id: String,
    /// Its name, as people gave it.
    pub name: String,
}

/// The services for queries about policies.
struct Servants {
    profiles: MoRef,
    placement: MoRef,
}

impl Vim {
    /// All storage policies that disks can be asked to have.
    pub async fn storage_policies(&self) -> Result<Vec<StoragePolicy>, VimError> {
        self.asked_in_session(async |seat: Seat| {
            let Servants { profiles, .. } = servants(&seat).await?;
            let call = Call::to(Service::Policies, &profiles, "PbmQueryProfile", |xml| {
                xml.nested("resourceType", |xml| xml.leaf("resourceType", "STORAGE"));
                xml.leaf("profileCategory", "REQUIREMENT");
            });
            let found = seat.call(&call).await?.returned_all()?;
            let ids: Vec<&str> = found.iter().filter_map(|own| own.text_at("uniqueId")).collect();
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            let call = Call::to(Service::Policies, &profiles, "PbmRetrieveContent", |xml| {
                for id in ids {
                    xml.nested("profileIds", |xml| xml.leaf("uniqueId", id));
                }
            });
            let policies = seat.call(&call).await?.returned_all()?;
            policies.iter().map(policy).collect()
        })
        .await
    }

    /// Which of some datastores meet a policy.
    pub async fn meeting_policy(
        &self,
        policy: &str,
        datastores: &[MoRef],
    ) -> Result<BTreeSet<MoRef>, VimError> {
        if datastores.is_empty() {
            return Ok(BTreeSet::new());
        }
        self.asked_in_session(async |seat: Seat| {
            let Servants { placement, .. } = servants(&seat).await?;
            let call = Call::to(Service::Policies, &placement, "PbmCheckRequirements", |xml| {
                for datastore in datastores {
                    xml.nested("hubsToSearch", |xml| {
                        xml.leaf("hubType", &datastore.kind);
                        xml.leaf("hubId", &datastore.id);
                    });
                }
                let requirement = "PbmPlacementCapabilityProfileRequirement";
                xml.typed("placementSubjectRequirement", requirement, |xml| {
                    xml.nested("profileId", |xml| xml.leaf("uniqueId", policy));
                });
            });
            let results = seat.call(&call).await?.returned_all()?;
            let meeting = results.iter().filter(|own| own.child("error").is_none());
            let meeting: BTreeSet<MoRef> = meeting
                .filter_map(|own| {
                    Some(MoRef::new(own.text_at("hub.hubType")?, own.text_at("hub.hubId")?))
                })
                .collect();
            // Some servers also return datastores that were not requested.
            Ok(datastores.iter().filter(|own| meeting.contains(own)).cloned().collect())
        })
        .await
    }
}

async fn servants(seat: &Seat) -> Result<Servants, VimError> {
    let instance = MoRef::new("PbmServiceInstance", "ServiceInstance");
    let call = Call::to(Service::Policies, &instance, "PbmRetrieveServiceContent", |_| {});
    let content = seat.call(&call).await?.returned()?;
    let reference = |name: &str| {
        let missing = || VimError::Malformed(format!("the policies' service has no {name}"));
        content.as_ref().and_then(|content| content.reference_at(name)).ok_or_else(missing)
    };
    Ok(Servants {
        profiles: reference("profileManager")?,
        placement: reference("placementSolver")?,
    })
}

fn policy(element: &Element) -> Result<StoragePolicy, VimError> {
    let text = |path: &str| {
        let missing = || VimError::Malformed(format!("a storage policy has no {path}"));
        element.text_at(path).map(str::to_owned).ok_or_else(missing)
    };
    Ok(StoragePolicy { id: text("profileId.uniqueId")?, name: text("name")? })
}
