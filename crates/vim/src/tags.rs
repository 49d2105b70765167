//! Tags and their categories, over `/rest/com/vmware/cis`.

mod rest;
mod wording;

use std::{
    collections::BTreeMap,
    fmt::{self, Debug, Formatter},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
pub(crate) use rest::{Again, Question, RestSession};
use serde::de::DeserializeOwned;
use serde_json::json;
pub(crate) use wording::list;
use wording::{AttachedObjects, AttachedTags, BatchResult, ObjectId};

use crate::{MoRef, Vim, VimError};

/// How many identifiers go into one question at most; servers refuse very long lists.
const BATCH: usize = 500;

/// How many of a list's members are asked about at once.
const AT_ONCE: usize = 8;

/// Tags of a vCenter. Cheap to clone; shares the credentials and the limits of its [`Vim`].
#[derive(Clone)]
pub struct Tags {
    vim: Vim,
}

/// A category of tags.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Category {
    /// Its identifier, `urn:vmomi:InventoryServiceCategory:…`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether an object has at most one tag of it.
    pub cardinality: Cardinality,
    /// Which kinds of objects may have its tags; empty is all.
    #[serde(default, deserialize_with = "wording::list")]
    pub associable_types: Vec<String>,
}

/// How many tags of a category an object may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Cardinality {
    /// At most one.
    Single,
    /// Any number.
    Multiple,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Tag {
    /// Its identifier, `urn:vmomi:InventoryServiceTag:…`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its category's identifier.
    pub category_id: String,
}

/// A category that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NewCategory {
    /// Its name.
    pub name: String,
    /// What people read about it.
    pub description: String,
    /// Whether an object has at most one tag of it.
    pub cardinality: Cardinality,
    /// Which kinds of objects may have its tags; empty is all.
    pub associable_types: Vec<String>,
}

/// Why a question about tags has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// There is one of that name already.
    #[error("there is one of that name already")]
    AlreadyExists,
    /// There is none.
    #[error("vCenter knows no such category, tag or object")]
    NotFound,
    /// The session is over and a new one did not help.
    #[error("vCenter does not accept the session")]
    Unauthenticated,
    /// The account may not.
    #[error("the account lacks a privilege for it: {0}")]
    Forbidden(String),
    /// The question was refused for another reason.
    #[error("vCenter refused: {0}")]
    Refused(String),
    /// There is no answer, or none that can be used; also when the login was refused.
    #[error("{0}")]
    Vim(VimError),
}

impl Tags {
    pub(crate) fn new(vim: Vim) -> Self {
        Self { vim }
    }

    /// All categories.
    pub async fn categories(&self) -> Result<Vec<Category>, TagError> {
        let ids = self.identifiers(Question::get("category.list", "tagging/category")).await?;
        self.each(ids, |id| Question::get("category.get", format!("tagging/category/id:{id}")))
            .await
    }

    /// A category by its identifier.
    pub async fn category(&self, id: &str) -> Result<Category, TagError> {
        self.ask(&Question::get("category.get", format!("tagging/category/id:{id}"))).await
    }

    /// All tags of a category.
    pub async fn tags_of(&self, category_id: &str) -> Result<Vec<Tag>, TagError> {
        let path = format!("tagging/tag/id:{category_id}?~action=list-tags-for-category");
        let question = Question::post("tag.list-tags-for-category", path, json!({}), Again::Yes);
        let ids = self.identifiers(question).await?;
        self.each(ids, |id| Question::get("tag.get", format!("tagging/tag/id:{id}"))).await
    }

    /// A tag by its identifier.
    pub async fn tag(&self, id: &str) -> Result<Tag, TagError> {
        self.ask(&Question::get("tag.get", format!("tagging/tag/id:{id}"))).await
    }

    /// Makes a category and returns its identifier. Not repeated when the answer was lost.
    pub async fn create_category(&self, category: &NewCategory) -> Result<String, TagError> {
        let body = json!({ "create_spec": category });
        let question = Question::post("category.create", "tagging/category", body, Again::No);
        self.ask(&question).await
    }

    /// Makes a tag and returns its identifier. Not repeated when the answer was lost.
    pub async fn create_tag(
        &self,
        category_id: &str,
        name: &str,
        description: &str,
    ) -> Result<String, TagError> {
        let spec = json!({ "category_id": category_id, "name": name, "description": description });
        let body = json!({ "create_spec": spec });
        self.ask(&Question::post("tag.create", "tagging/tag", body, Again::No)).await
    }

    /// Attaches tags to an object; those that it has already are no error. All, or an error that
    /// says which failed.
    pub async fn attach(&self, object: &MoRef, tag_ids: &[String]) -> Result<(), TagError> {
        self.associate("attach-multiple-tags-to-object", object, tag_ids).await
    }

    /// Takes tags off an object; those that it does not have are no error.
    pub async fn detach(&self, object: &MoRef, tag_ids: &[String]) -> Result<(), TagError> {
        self.associate("detach-multiple-tags-from-object", object, tag_ids).await
    }

    /// Which objects have each of these tags. A tag without objects has an empty list.
    pub async fn objects_with(
        &self,
        tag_ids: &[String],
    ) -> Result<BTreeMap<String, Vec<MoRef>>, TagError> {
        let mut found: BTreeMap<_, _> = tag_ids.iter().map(|id| (id.clone(), Vec::new())).collect();
        for batch in tag_ids.chunks(BATCH) {
            let question =
                association("list-attached-objects-on-tags", json!({ "tag_ids": batch }));
            let attached: Option<Vec<AttachedObjects>> = self.ask(&question).await?;
            for AttachedObjects { tag_id, object_ids } in attached.into_iter().flatten() {
                let objects = object_ids.into_iter().map(MoRef::from);
                found.entry(tag_id).or_default().extend(objects);
            }
        }
        Ok(found)
    }

    /// Which tags each of these objects has. An object without tags is there with none.
    pub async fn tags_on(
        &self,
        objects: &[MoRef],
    ) -> Result<BTreeMap<MoRef, Vec<String>>, TagError> {
        let mut found: BTreeMap<_, _> = objects.iter().map(|o| (o.clone(), Vec::new())).collect();
        for batch in objects.chunks(BATCH) {
            let batch: Vec<ObjectId> = batch.iter().map(ObjectId::from).collect();
            let question =
                association("list-attached-tags-on-objects", json!({ "object_ids": batch }));
            let attached: Option<Vec<AttachedTags>> = self.ask(&question).await?;
            for AttachedTags { object_id, tag_ids } in attached.into_iter().flatten() {
                found.entry(object_id.into()).or_default().extend(tag_ids);
            }
        }
        Ok(found)
    }

    async fn associate(
        &self,
        action: &'static str,
        object: &MoRef,
        tag_ids: &[String],
    ) -> Result<(), TagError> {
        for batch in tag_ids.chunks(BATCH) {
            let body = json!({ "object_id": ObjectId::from(object), "tag_ids": batch });
            let result: BatchResult = self.ask(&association(action, body)).await?;
            if !result.success {
                return Err(TagError::Refused(result.messages()));
            }
        }
        Ok(())
    }

    /// The identifiers that a list consists of.
    async fn identifiers(&self, question: Question) -> Result<Vec<String>, TagError> {
        let ids: Option<Vec<String>> = self.ask(&question).await?;
        Ok(ids.unwrap_or_default())
    }

    /// The objects of identifiers. Objects that were removed meanwhile are left out.
    async fn each<T: DeserializeOwned>(
        &self,
        ids: Vec<String>,
        question: impl Fn(&str) -> Question,
    ) -> Result<Vec<T>, TagError> {
        let questions: Vec<Question> = ids.iter().map(|id| question(id)).collect();
        let answers = questions.into_iter().map(async |question| match self.ask(&question).await {
            Ok(found) => Ok(Some(found)),
            Err(TagError::NotFound) => Ok(None),
            Err(error) => Err(error),
        });
        let found: Vec<Option<T>> = stream::iter(answers).buffered(AT_ONCE).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// A query or change of tag associations. Repeating it is safe, attaching included.
fn association(action: &'static str, body: serde_json::Value) -> Question {
    let path = format!("tagging/tag-association?~action={action}");
    Question { name: action, method: Method::POST, path, body: Some(body), again: Again::Yes }
}

impl Debug for Tags {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tags").field("vim", &self.vim).finish()
    }
}
