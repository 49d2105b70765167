//! How questions and answers about tags are written.

use serde::{Deserialize, Deserializer, Serialize};

use crate::MoRef;

/// A reference to an object.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ObjectId {
    id: String,
    r#type: String,
}

impl From<&MoRef> for ObjectId {
    fn from(reference: &MoRef) -> Self {
        Self { id: reference.id.clone(), r#type: reference.kind.clone() }
    }
}

impl From<ObjectId> for MoRef {
    fn from(ObjectId { id, r#type }: ObjectId) -> Self {
        Self { kind: r#type, id }
    }
}

/// Objects that have a tag.
#[derive(Debug, Deserialize)]
pub(super) struct AttachedObjects {
    pub(super) tag_id: String,
    #[serde(default, deserialize_with = "list")]
    pub(super) object_ids: Vec<ObjectId>,
}

/// Tags that an object has.
#[derive(Debug, Deserialize)]
pub(super) struct AttachedTags {
    pub(super) object_id: ObjectId,
    #[serde(default, deserialize_with = "list")]
    pub(super) tag_ids: Vec<String>,
}

/// What came of several things at once.
#[derive(Debug, Deserialize)]
pub(super) struct BatchResult {
    pub(super) success: bool,
    #[serde(default, deserialize_with = "list")]
    error_messages: Vec<Message>,
}

impl BatchResult {
    /// What went wrong, in the server's words.
    pub(super) fn messages(&self) -> String {
        joined(&self.error_messages)
    }
}

/// Words for people.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    default_message: String,
}

/// A refusal.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Refusal {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    value: RefusalValue,
}

#[derive(Debug, Default, Deserialize)]
struct RefusalValue {
    #[serde(default, deserialize_with = "list")]
    messages: Vec<Message>,
}

impl Refusal {
    /// The last word of the refusal's type: `already_exists`.
    pub(super) fn word(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }

    /// What is said to people.
    pub(super) fn messages(&self) -> String {
        joined(&self.value.messages)
    }
}

fn joined(messages: &[Message]) -> String {
    let words: Vec<&str> = messages.iter().map(|message| &*message.default_message).collect();
    words.join("; ")
}

/// A list. Some servers write null for an empty one.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
