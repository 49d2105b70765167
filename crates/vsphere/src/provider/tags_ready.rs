//! Whether instances of a class can carry their tags.

use std::collections::BTreeMap;

use joiner_cloud::{class::ClassCondition, judgement::condition};
use joiner_vim::tags::TagError;

use super::Inner;
use crate::{
    choose::Unresolved,
    node_class::NodeClass,
    places::{Place, Resolution},
    tags::{
        self, WantedTag,
        objections::{Objections, Rights, objection},
    },
};

/// The condition that instances can be tagged as the class asks for.
const TAGS_READY: &str = "TagsReady";

impl Inner {
    /// The tags that all instances of a class carry.
    pub(super) fn tags_of_class(&self, read: &NodeClass) -> Vec<WantedTag> {
        let settings = &self.settings;
        let own = read.spec.tags.as_ref();
        tags::of_class(&settings.cluster, read.name(), own, &settings.topology)
    }

    /// Why instances could not be tagged, as far as is known without asking about privileges.
    pub(super) async fn tag_objections(
        &self,
        read: &NodeClass,
        rights: Rights<'_>,
    ) -> Result<Objections, TagError> {
        let wanted = self.tags_of_class(read);
        let known = self.tags.survey(&wanted).await?;
        let by_class = read.spec.tags.as_ref();
        let mut objections = Objections::default();
        for (tag, known) in wanted.iter().zip(&known) {
            let Some(unresolved) = objection(tag, known, rights) else { continue };
            if tags::is_asked_for(&tag.category, by_class, &self.settings.topology) {
                objections.of_class.push(unresolved);
            } else {
                objections.others.push(unresolved);
            }
        }
        Ok(objections)
    }

    /// Says whether instances of a class can be tagged.
    pub(super) async fn tags_ready(
        &self,
        read: &NodeClass,
        resolution: &Resolution,
    ) -> ClassCondition {
        match self.objections_by_rights(read, resolution).await {
            Ok(objections) => {
                let told = |own: &[Unresolved]| -> String {
                    own.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ")
                };
                match objections.of_class.first() {
                    Some(first) => {
                        condition(TAGS_READY, Some(false), first.reason, told(&objections.of_class))
                    }
                    None => condition(TAGS_READY, Some(true), "", told(&objections.others)),
                }
            }
            Err(error) => {
                // Only requested tags block the class.
                let holds = read.spec.tags.as_ref().is_none_or(BTreeMap::is_empty);
                let text = format!("vCenter does not say which tags there are: {error}");
                condition(TAGS_READY, holds.then_some(true), "TagsUnknown", text)
            }
        }
    }

    /// Why instances could not be tagged, privileges included.
    pub(super) async fn objections_by_rights(
        &self,
        read: &NodeClass,
        resolution: &Resolution,
    ) -> Result<Objections, TagError> {
        let root = self.vim.service_content().await.map_err(TagError::Vim)?.root_folder.clone();
        let folder = resolution.places.first().map(|Place { folder, .. }| folder);
        let mut objects = vec![root.clone()];
        objects.extend(folder.map(|folder| folder.reference.clone()));
        // An account that may not query privileges gets the error of the failing call instead.
        let had = self.vim.privileges(&objects).await.unwrap_or_default();
        let rights = Rights {
            root: had.get(&root),
            folder: folder.and_then(|own| Some((had.get(&own.reference)?, own.path.as_str()))),
        };
        let objections = self.tag_objections(read, rights).await?;
        if !objections.are_there() {
            return Ok(objections);
        }
        // The cached state may be corrected by now.
        self.tags.forget().await;
        self.tag_objections(read, rights).await
    }
}
