//! Tags and their categories, over `/rest/com/vmware/cis`.

use std::collections::BTreeMap;

use crate::MoRef;

/// Tags of a vCenter. Cheap to clone; shares the credentials and the limits of its [`crate::Vim`].
#[derive(Clone)]
pub struct Tags {}

/// A category of tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Its identifier, `urn:vmomi:InventoryServiceCategory:…`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether an object has at most one tag of it.
    pub cardinality: Cardinality,
    /// Which kinds of objects may have its tags; empty is all.
    pub associable_types: Vec<String>,
}

/// How many tags of a category an object may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cardinality {
    /// At most one.
    Single,
    /// Any number.
    Multiple,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Its identifier, `urn:vmomi:InventoryServiceTag:…`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its category's identifier.
    pub category_id: String,
}

/// A category that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    Vim(crate::VimError),
}

impl Tags {
    /// All categories.
    pub async fn categories(&self) -> Result<Vec<Category>, TagError> {
        todo!()
    }

    /// A category by its identifier.
    pub async fn category(&self, _id: &str) -> Result<Category, TagError> {
        todo!()
    }

    /// All tags of a category.
    pub async fn tags_of(&self, _category_id: &str) -> Result<Vec<Tag>, TagError> {
        todo!()
    }

    /// A tag by its identifier.
    pub async fn tag(&self, _id: &str) -> Result<Tag, TagError> {
        todo!()
    }

    /// Makes a category and returns its identifier.
    pub async fn create_category(&self, _category: &NewCategory) -> Result<String, TagError> {
        todo!()
    }

    /// Makes a tag and returns its identifier.
    pub async fn create_tag(
        &self,
        _category_id: &str,
        _name: &str,
        _description: &str,
    ) -> Result<String, TagError> {
        todo!()
    }

    /// Attaches tags to an object; those that it has already are no error. All, or an error that
    /// says which failed.
    pub async fn attach(&self, _object: &MoRef, _tag_ids: &[String]) -> Result<(), TagError> {
        todo!()
    }

    /// Takes tags off an object.
    pub async fn detach(&self, _object: &MoRef, _tag_ids: &[String]) -> Result<(), TagError> {
        todo!()
    }

    /// Which objects have each of these tags.
    pub async fn objects_with(
        &self,
        _tag_ids: &[String],
    ) -> Result<BTreeMap<String, Vec<MoRef>>, TagError> {
        todo!()
    }

    /// Which tags each of these objects has.
    pub async fn tags_on(
        &self,
        _objects: &[MoRef],
    ) -> Result<BTreeMap<MoRef, Vec<String>>, TagError> {
        todo!()
    }
}
