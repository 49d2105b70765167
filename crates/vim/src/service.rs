//! What a vCenter says about itself.

use crate::{Element, MoRef, VimError};

/// Which server this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The product with its version, for people.
    pub full_name: String,
    /// The product's version, `8.0.3`.
    pub version: String,
    /// The build's number.
    pub build: String,
    /// The interface's version, `8.0.3.0`.
    pub api_version: String,
    /// `VirtualCenter`, or `HostAgent` for a single host.
    pub api_type: String,
    /// The server's own identifier; not all have one.
    pub instance_uuid: Option<String>,
}

/// The references of the other services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceContent {
    /// Which server this is.
    pub about: About,
    /// Where the inventory begins.
    pub root_folder: MoRef,
    /// The property collector.
    pub property_collector: MoRef,
    /// The view manager.
    pub view_manager: MoRef,
    /// The search index.
    pub search_index: MoRef,
    /// The session manager.
    pub session_manager: MoRef,
    /// The authorization manager.
    pub authorization_manager: MoRef,
    /// The storage resource manager, where datastore clusters exist.
    pub storage_resource_manager: Option<MoRef>,
}

impl ServiceContent {
    /// What `RetrieveServiceContent` returned.
    pub(crate) fn of(element: &Element) -> Result<Self, VimError> {
        let missing = |name: &str| VimError::Malformed(format!("ServiceContent without {name}"));
        let reference = |name: &str| element.reference_at(name).ok_or_else(|| missing(name));
        let about = element.child("about").ok_or_else(|| missing("about"))?;
        let text = |name: &str| about.text_at(name).unwrap_or_default().to_owned();
        Ok(Self {
            about: About {
                full_name: text("fullName"),
                version: text("version"),
                build: text("build"),
                api_version: text("apiVersion"),
                api_type: text("apiType"),
                instance_uuid: about.text_at("instanceUuid").map(str::to_owned),
            },
            root_folder: reference("rootFolder")?,
            property_collector: reference("propertyCollector")?,
            view_manager: reference("viewManager")?,
            search_index: reference("searchIndex")?,
            session_manager: reference("sessionManager")?,
            authorization_manager: reference("authorizationManager")?,
            storage_resource_manager: element.reference_at("storageResourceManager"),
        })
    }
}
