//! Read-only queries, which are repeated while errors may be transient.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;

use super::{Seat, Vim};
use crate::{
    About, Element, MoRef, Object, VimError,
    properties::{self, Of, PAGE},
    soap::Call,
};

/// Which of a virtual machine's two identifiers is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uuid {
    /// The BIOS's, `config.uuid`: what the guest sees. Copies may share it.
    Bios,
    /// The vCenter's, `config.instanceUuid`.
    Instance,
}

impl Vim {
    /// Which server this is.
    pub async fn about(&self) -> Result<About, VimError> {
        self.service_content().await.map(|content| content.about.clone())
    }

    /// The server's time.
    pub async fn current_time(&self) -> Result<Timestamp, VimError> {
        let instance = MoRef::new("ServiceInstance", "ServiceInstance");
        let call = &Call::new(&instance, "CurrentTime", |_| {});
        self.asked_in_session(async |seat: Seat| {
            let time = seat.call(call).await?.returned()?;
            let unreadable = || VimError::Malformed("no time is returned".to_owned());
            time.and_then(|time| time.parse()).ok_or_else(unreadable)
        })
        .await
    }

    /// Reads properties of objects. All or an error: an object that is gone is a
    /// `ManagedObjectNotFound` for the whole question.
    pub async fn read(&self, objects: &[MoRef], paths: &[&str]) -> Result<Vec<Object>, VimError> {
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let paths = &shared(paths);
        self.asked_in_session(async |seat: Seat| seat.retrieve(Of::Objects(objects), paths).await)
            .await
    }

    /// Reads properties of all objects of a kind in a container and everything below it. The
    /// whole list or an error, never a part.
    pub async fn list(
        &self,
        container: &MoRef,
        kind: &str,
        paths: &[&str],
    ) -> Result<Vec<Object>, VimError> {
        self.list_kinds(container, &[(kind, paths)]).await
    }

    /// The same for objects of several kinds with one question, each kind with properties of its
    /// own. No kind may descend from another of them.
    pub async fn list_kinds(
        &self,
        container: &MoRef,
        kinds: &[(&str, &[&str])],
    ) -> Result<Vec<Object>, VimError> {
        let mut paths: Vec<&str> = kinds.iter().flat_map(|(_, paths)| *paths).copied().collect();
        paths.sort_unstable();
        paths.dedup();
        let paths = &shared(&paths);
        self.asked_in_session(async |seat: Seat| {
            let of = kinds.iter().map(|(kind, _)| *kind);
            let view = &seat.container_view(container, of).await?;
            let objects = seat.retrieve(Of::Kinds { view, kinds }, paths).await;
            // A view that stays is a burden for the server; it goes with the session at the latest.
            if objects.as_ref().err().is_none_or(|error| error.fault().is_some()) {
                seat.destroy_view(view).await;
            }
            objects
        })
        .await
    }

    /// The virtual machine with an identifier; the first the server finds, in a datacenter or
    /// anywhere.
    pub async fn find_by_uuid(
        &self,
        datacenter: Option<&MoRef>,
        uuid: &str,
        which: Uuid,
    ) -> Result<Option<MoRef>, VimError> {
        let found = self.search("FindByUuid", datacenter, uuid, which).await?;
        Ok(found.into_iter().next())
    }

    /// All virtual machines with an identifier.
    pub async fn find_all_by_uuid(
        &self,
        datacenter: Option<&MoRef>,
        uuid: &str,
        which: Uuid,
    ) -> Result<Vec<MoRef>, VimError> {
        self.search("FindAllByUuid", datacenter, uuid, which).await
    }

    async fn search(
        &self,
        method: &'static str,
        datacenter: Option<&MoRef>,
        uuid: &str,
        which: Uuid,
    ) -> Result<Vec<MoRef>, VimError> {
        self.asked_in_session(async |seat: Seat| {
            let call = Call::new(&seat.content().search_index, method, |xml| {
                xml.optional_reference("datacenter", datacenter);
                xml.leaf("uuid", uuid);
                xml.leaf("vmSearch", true);
                xml.leaf("instanceUuid", which == Uuid::Instance);
            });
            let found = seat.call(&call).await?.returned_all()?;
            Ok(found.iter().filter_map(Element::reference).collect())
        })
        .await
    }

    /// What is at an inventory path, `DC0/vm/folder/name`; names in it are escaped already.
    pub async fn find_by_path(&self, path: &str) -> Result<Option<MoRef>, VimError> {
        self.asked_in_session(async |seat: Seat| {
            let search_index = &seat.content().search_index;
            let call = Call::new(search_index, "FindByInventoryPath", |xml| {
                xml.leaf("inventoryPath", path);
            });
            seat.call(&call).await?.returned_reference()
        })
        .await
    }

    /// What we may do with objects: the ids of the privileges that the account has.
    pub async fn privileges(
        &self,
        objects: &[MoRef],
    ) -> Result<BTreeMap<MoRef, BTreeSet<String>>, VimError> {
        if objects.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.asked_in_session(async |seat: Seat| {
            let manager = &seat.content().authorization_manager;
            let call = Call::new(manager, "FetchUserPrivilegeOnEntities", |xml| {
                for object in objects {
                    xml.reference("entities", object);
                }
                xml.leaf("userName", seat.user());
            });
            let mut privileges = BTreeMap::new();
            for result in seat.call(&call).await?.returned_all()? {
                let nameless = || VimError::Malformed("privileges on no object".to_owned());
                let entity = result.reference_at("entity").ok_or_else(nameless)?;
                let ids = result.children_named("privileges").map(|id| id.text.to_string());
                privileges.insert(entity, ids.collect());
            }
            Ok(privileges)
        })
        .await
    }
}

/// Paths as many objects share them.
pub(crate) fn shared(paths: &[&str]) -> Vec<Arc<str>> {
    paths.iter().map(|path| Arc::from(*path)).collect()
}

impl Seat {
    /// Reads properties, page by page.
    async fn retrieve(&self, of: Of<'_>, paths: &[Arc<str>]) -> Result<Vec<Object>, VimError> {
        let collector = &self.content().property_collector;
        let first = Call::new(collector, "RetrievePropertiesEx", |xml| {
            properties::filter(xml, "specSet", of, paths);
            xml.nested("options", |xml| xml.leaf("maxObjects", PAGE));
        });
        let mut page = properties::page(&self.call(&first).await?, paths)?;
        let mut objects = page.objects;
        while let Some(token) = page.token {
            let next = Call::new(collector, "ContinueRetrievePropertiesEx", |xml| {
                xml.leaf("token", &token);
            });
            page = properties::page(&self.call(&next).await?, paths)?;
            objects.append(&mut page.objects);
        }
        Ok(objects)
    }

    /// A view of all objects of some kinds in a container and everything below it.
    pub(crate) async fn container_view<'k>(
        &self,
        container: &MoRef,
        kinds: impl Iterator<Item = &'k str>,
    ) -> Result<MoRef, VimError> {
        let call = Call::new(&self.content().view_manager, "CreateContainerView", |xml| {
            xml.reference("container", container);
            for kind in kinds {
                xml.leaf("type", kind);
            }
            xml.leaf("recursive", true);
        });
        self.call(&call).await?.reference()
    }

    /// Ends a view. Best effort: it ends with the session at the latest.
    pub(crate) async fn destroy_view(&self, view: &MoRef) {
        if let Err(error) = self.call(&Call::new(view, "DestroyView", |_| {})).await {
            tracing::debug!(%error, %view, "a view in vCenter is left to its session");
        }
    }
}
