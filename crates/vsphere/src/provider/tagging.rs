//! Tags by name: looked up once, and remembered for a while.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_vim::{
    MoRef, Tags,
    tags::{Cardinality, Category, NewCategory, TagError},
};

use crate::{
    tags::{WantedTag, objections},
    zones::Carried,
};

/// How long names of categories and tags are remembered.
const REMEMBERED_FOR: Duration = Duration::from_mins(10);
/// What people read about categories and tags that are made here.
const DESCRIPTION: &str = "Made by Joiner for its nodes.";
/// The tag of a selector that stands for any of its category.
const ANY: &str = "*";

/// Categories and tags of a vCenter by their names.
pub(super) struct TagDirectory {
    tags: Tags,
    clock: Clock,
    known: tokio::sync::Mutex<Known>,
}

#[derive(Default)]
struct Known {
    since: Option<Timestamp>,
    /// Categories by name.
    categories: BTreeMap<String, Category>,
    /// Identifiers of tags by name, by the identifier of their category.
    tags: BTreeMap<String, BTreeMap<String, String>>,
}

impl TagDirectory {
    pub(super) fn new(tags: Tags, clock: Clock) -> Self {
        Self { tags, clock, known: tokio::sync::Mutex::default() }
    }

    /// Objects that carry every one of these tags.
    pub(super) async fn objects_with_all(
        &self,
        wanted: &BTreeMap<String, String>,
    ) -> Result<BTreeSet<MoRef>, TagError> {
        let mut all: Option<BTreeSet<MoRef>> = None;
        for (category, tag) in wanted {
            let ids = self.ids(category, tag).await?;
            let found: BTreeSet<MoRef> = if ids.is_empty() {
                BTreeSet::new()
            } else {
                self.tags.objects_with(&ids).await?.into_values().flatten().collect()
            };
            all = Some(match all {
                Some(before) => before.intersection(&found).cloned().collect(),
                None => found,
            });
        }
        Ok(all.unwrap_or_default())
    }

    /// Whether an object carries a tag.
    pub(super) async fn carries(
        &self,
        object: &MoRef,
        category: &str,
        tag: &str,
    ) -> Result<bool, TagError> {
        let ids = self.ids(category, tag).await?;
        if ids.is_empty() {
            return Ok(false);
        }
        let on = self.tags.tags_on(std::slice::from_ref(object)).await?;
        Ok(on.get(object).is_some_and(|own| own.iter().any(|id| ids.contains(id))))
    }

    /// Names of tags of each of these categories that objects carry. Objects are only queried when
    /// all of the categories exist.
    pub(super) async fn carried(
        &self,
        objects: &[MoRef],
        categories: [&str; 2],
    ) -> Result<[Carried; 2], TagError> {
        let mut known = self.known.lock().await;
        self.refresh(&mut known).await?;
        let ids = categories.map(|name| known.categories.get(name).map(|own| own.id.clone()));
        let [Some(one), Some(other)] = ids else { return Ok(<[Carried; 2]>::default()) };
        let on = self.tags.tags_on(objects).await?;
        let mut carried = <[Carried; 2]>::default();
        for (category, carried) in [one, other].iter().zip(&mut carried) {
            let tags = self.named_tags(category).await?;
            for (object, ids) in &on {
                let names = tags.iter().filter(|(_, id)| ids.contains(id));
                carried.insert(object.clone(), names.map(|(name, _)| name.clone()).collect());
            }
        }
        Ok(carried)
    }

    /// Puts tags on an object. Categories and tags that are missing are made; those that are there
    /// are used as they are.
    pub(super) async fn attach(
        &self,
        object: &MoRef,
        wanted: &[WantedTag],
    ) -> Result<(), TagError> {
        let mut ids = Vec::new();
        for tag in wanted {
            ids.push(self.ensured(tag).await?);
        }
        self.tags.attach(object, &ids).await
    }

    /// Forgets all categories and tags, because they may have changed.
    pub(super) async fn forget(&self) {
        self.known.lock().await.since = None;
    }

    /// What there is of tags that are wanted, in their order.
    pub(super) async fn survey(
        &self,
        wanted: &[WantedTag],
    ) -> Result<Vec<objections::Known>, TagError> {
        let mut known = self.known.lock().await;
        self.refresh(&mut known).await?;
        let mut found = Vec::new();
        for WantedTag { category, tag, .. } in wanted {
            let Some(id) = self.category(&mut known, category).await? else {
                found.push(objections::Known::default());
                continue;
            };
            let has_tag = self.tags_of(&mut known, &id, tag).await?.contains_key(tag);
            let category = known.categories.get(category).cloned();
            found.push(objections::Known { category, has_tag });
        }
        Ok(found)
    }

    /// Identifiers of the tags that a name stands for; none where there is no such tag.
    async fn ids(&self, category: &str, tag: &str) -> Result<Vec<String>, TagError> {
        let mut known = self.known.lock().await;
        self.refresh(&mut known).await?;
        let Some(category) = self.category(&mut known, category).await? else {
            return Ok(Vec::new());
        };
        let tags = self.tags_of(&mut known, &category, tag).await?;
        Ok(if tag == ANY {
            tags.values().cloned().collect()
        } else {
            tags.get(tag).into_iter().cloned().collect()
        })
    }

    /// The identifier of a tag, which is made if it is missing. What is not remembered is made at
    /// once where everything of its kind was read lately: a vCenter says so if it is there by now.
    async fn ensured(&self, wanted: &WantedTag) -> Result<String, TagError> {
        let mut known = self.known.lock().await;
        self.refresh(&mut known).await?;
        let category = match known.categories.get(&wanted.category) {
            Some(category) => category.id.clone(),
            None => self.make_category(&mut known, wanted).await?,
        };
        if !known.tags.contains_key(&category) {
            let tags = self.named_tags(&category).await?;
            known.tags.insert(category.clone(), tags);
        }
        let tags = known.tags.entry(category.clone()).or_default();
        if let Some(id) = tags.get(&wanted.tag) {
            return Ok(id.clone());
        }
        let made = self.tags.create_tag(&category, &wanted.tag, DESCRIPTION).await;
        let id = match made {
            Ok(id) => id,
            // Another process was faster; an account without the right to create it can still use it.
            Err(error @ (TagError::AlreadyExists | TagError::Forbidden(_))) => {
                *tags = self.named_tags(&category).await?;
                return tags.get(&wanted.tag).cloned().ok_or(error);
            }
            Err(error) => return Err(error),
        };
        tags.insert(wanted.tag.clone(), id.clone());
        Ok(id)
    }

    async fn make_category(
        &self,
        known: &mut Known,
        wanted: &WantedTag,
    ) -> Result<String, TagError> {
        let category = NewCategory {
            name: wanted.category.clone(),
            description: DESCRIPTION.to_owned(),
            cardinality: if wanted.single { Cardinality::Single } else { Cardinality::Multiple },
            associable_types: vec!["VirtualMachine".to_owned()],
        };
        let id = match self.tags.create_category(&category).await {
            Ok(id) => id,
            // Another process was faster; an account without the right to create it can still use it.
            Err(error @ (TagError::AlreadyExists | TagError::Forbidden(_))) => {
                known.categories = self.categories().await?;
                let found = known.categories.get(&wanted.category);
                return found.map(|own| own.id.clone()).ok_or(error);
            }
            Err(error) => return Err(error),
        };
        let NewCategory { name, cardinality, associable_types, .. } = category;
        let made = Category { id: id.clone(), name: name.clone(), cardinality, associable_types };
        known.categories.insert(name, made);
        // A new category has no tags yet.
        known.tags.insert(id.clone(), BTreeMap::new());
        Ok(id)
    }

    /// Forgets everything that has been remembered for too long.
    async fn refresh(&self, known: &mut Known) -> Result<(), TagError> {
        let now = self.clock.now();
        let is_fresh = known
            .since
            .is_some_and(|since| now.duration_since(since).unsigned_abs() < REMEMBERED_FOR);
        if !is_fresh {
            let categories = self.categories().await?;
            *known = Known { since: Some(now), categories, tags: BTreeMap::new() };
        }
        Ok(())
    }

    async fn categories(&self) -> Result<BTreeMap<String, Category>, TagError> {
        let categories = self.tags.categories().await?;
        Ok(categories.into_iter().map(|own| (own.name.clone(), own)).collect())
    }

    async fn category(&self, known: &mut Known, name: &str) -> Result<Option<String>, TagError> {
        if !known.categories.contains_key(name) {
            // It may have been made since.
            known.categories = self.categories().await?;
        }
        Ok(known.categories.get(name).map(|own| own.id.clone()))
    }

    async fn tags_of<'k>(
        &self,
        known: &'k mut Known,
        category: &str,
        tag: &str,
    ) -> Result<&'k BTreeMap<String, String>, TagError> {
        let is_known = known.tags.get(category).is_some_and(|tags| tags.contains_key(tag));
        if !is_known {
            let tags = self.named_tags(category).await?;
            known.tags.insert(category.to_owned(), tags);
        }
        Ok(known.tags.entry(category.to_owned()).or_default())
    }

    /// Identifiers of all tags of a category by name.
    async fn named_tags(&self, category: &str) -> Result<BTreeMap<String, String>, TagError> {
        let tags = self.tags.tags_of(category).await?;
        Ok(tags.into_iter().map(|own| (own.name, own.id)).collect())
    }
}
