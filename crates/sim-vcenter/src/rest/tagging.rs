//! Categories, tags, and what they are attached to.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value as Json, json};

use super::{Ask, Outcome, Refusal};
use crate::{identity::Identities, reference::Ref, session::Viewer, world::World};

/// All tags.
#[derive(Debug, Default)]
pub(crate) struct Tagging {
    categories: BTreeMap<String, Category>,
    tags: BTreeMap<String, Tag>,
    attached: BTreeMap<Ref, BTreeSet<String>>,
    identities: Identities,
}

#[derive(Debug)]
struct Category {
    name: String,
    description: String,
    /// Whether an object can have one tag of it only.
    single: bool,
    /// What its tags can be attached to; anything if empty.
    types: Vec<String>,
}

#[derive(Debug)]
struct Tag {
    name: String,
    description: String,
    category: String,
}

impl Tagging {
    /// Forgets what was attached to an object that is gone.
    pub(crate) fn forget(&mut self, object: Ref) {
        self.attached.remove(&object);
    }

    /// The tags of an object, each as its category and its name.
    pub(crate) fn of(&self, object: Ref) -> Vec<(String, String)> {
        let tags = self.attached.get(&object).into_iter().flatten();
        let named = tags.filter_map(|id| {
            let tag = self.tags.get(id)?;
            let category = self.categories.get(&tag.category)?;
            Some((category.name.clone(), tag.name.clone()))
        });
        let mut named: Vec<(String, String)> = named.collect();
        named.sort();
        named
    }

    /// The id of a category, which is made if it is not there.
    pub(crate) fn ensure_category(&mut self, name: &str) -> String {
        let known = self.categories.iter().find(|(_, category)| category.name == name);
        match known {
            Some((id, _)) => id.clone(),
            None => self.add_category(Category {
                name: name.to_owned(),
                description: String::new(),
                single: false,
                types: Vec::new(),
            }),
        }
    }

    /// Makes a category, or makes one anew that is there.
    pub(crate) fn define(&mut self, name: &str, single: bool, types: &[&str]) {
        let id = self.ensure_category(name);
        if let Some(own) = self.categories.get_mut(&id) {
            own.single = single;
            own.types = types.iter().map(|&kind| kind.to_owned()).collect();
        }
    }

    /// The id of a tag, which is made if it is not there.
    pub(crate) fn ensure_tag(&mut self, category: &str, name: &str) -> String {
        let category = self.ensure_category(category);
        let known = self.tags.iter().find(|(_, tag)| tag.category == category && tag.name == name);
        match known {
            Some((id, _)) => id.clone(),
            None => {
                let (name, description) = (name.to_owned(), String::new());
                self.add_tag(Tag { name, description, category })
            }
        }
    }

    /// Attaches a tag without a check of privileges.
    pub(crate) fn attach(&mut self, object: Ref, tag: String) {
        self.attached.entry(object).or_default().insert(tag);
    }

    /// Detaches a tag without a check of privileges.
    pub(crate) fn detach(&mut self, object: Ref, tag: &str) {
        if let Some(tags) = self.attached.get_mut(&object) {
            tags.remove(tag);
        }
    }

    fn add_category(&mut self, category: Category) -> String {
        let uuid = self.identities.uuid("category");
        let id = format!("urn:vmomi:InventoryServiceCategory:{uuid}:GLOBAL");
        self.categories.insert(id.clone(), category);
        id
    }

    fn add_tag(&mut self, tag: Tag) -> String {
        let id = format!("urn:vmomi:InventoryServiceTag:{}:GLOBAL", self.identities.uuid("tag"));
        self.tags.insert(id.clone(), tag);
        id
    }

    fn remove_tag(&mut self, id: &str) {
        self.tags.remove(id);
        for tags in self.attached.values_mut() {
            tags.remove(id);
        }
    }

    /// Why a tag cannot be attached to an object.
    fn objection(&self, object: Ref, id: &str) -> Option<Refusal> {
        let Some(tag) = self.tags.get(id) else { return Some(Refusal::not_found("such tag")) };
        let category = self.categories.get(&tag.category)?;
        let kind = object.kind;
        if !category.types.is_empty() && !category.types.iter().any(|name| kind.is(name)) {
            let message = format!(
                "tags of category {:?} cannot be attached to a {}",
                category.name,
                kind.name()
            );
            return Some(Refusal::invalid(message));
        }
        let others = self.attached.get(&object).into_iter().flatten().filter(|other| *other != id);
        let mut siblings = others.filter_map(|other| self.tags.get(other));
        if category.single && siblings.any(|other| other.category == tag.category) {
            let message =
                format!("the object has a tag of category {:?}, which allows one", category.name);
            return Some(Refusal::invalid(message));
        }
        None
    }

    fn objects_of(&self, tag: &str) -> Json {
        let objects = self.attached.iter().filter(|(_, tags)| tags.contains(tag));
        objects
            .map(|(object, _)| json!({ "type": object.kind.name(), "id": object.id() }))
            .collect()
    }

    fn tags_of(&self, object: Ref) -> Json {
        self.attached.get(&object).into_iter().flatten().map(|id| json!(id)).collect()
    }
}

impl World {
    pub(super) fn tag_call(
        &mut self,
        viewer: &Viewer,
        ask: &Ask,
        what: &str,
        id: Option<&str>,
    ) -> Outcome {
        match (&ask.method, what, id, ask.action.as_str()) {
            (&Method::GET, "category", None, "") => {
                Ok(Some(self.tagging.categories.keys().map(|id| json!(id)).collect()))
            }
            (&Method::POST, "category", None, "") => self.create_category(viewer, &ask.json()?),
            (&Method::GET, "category", Some(id), "") => self.category(id),
            (&Method::DELETE, "category", Some(id), "") => self.delete_category(viewer, id),
            (&Method::GET, "tag", None, "") => {
                Ok(Some(self.tagging.tags.keys().map(|id| json!(id)).collect()))
            }
            (&Method::POST, "tag", None, "") => self.create_tag(viewer, &ask.json()?),
            (&Method::GET, "tag", Some(id), "") => self.tag(id),
            (&Method::DELETE, "tag", Some(id), "") => {
                self.tag(id)?;
                self.may_tag(viewer, "InventoryService.Tagging.CreateTag")?;
                self.tagging.remove_tag(id);
                Ok(None)
            }
            (&Method::POST, "tag", Some(id), "list-tags-for-category") => {
                self.category(id)?;
                let of = self.tagging.tags.iter().filter(|(_, tag)| tag.category == id);
                Ok(Some(of.map(|(tag, _)| json!(tag)).collect()))
            }
            (&Method::POST, "tag-association", id, action) => {
                self.associate(viewer, id, action, &ask.json()?)
            }
            _ => Err(Refusal::not_found("such call")),
        }
    }

    fn may_tag(&self, viewer: &Viewer, privilege: &str) -> Result<(), Refusal> {
        let allowed = self.sessions.require(viewer, &self.estate, self.estate.root, privilege);
        allowed.map_err(|_| forbidden(privilege))
    }

    fn create_category(&mut self, viewer: &Viewer, body: &Json) -> Outcome {
        self.may_tag(viewer, "InventoryService.Tagging.CreateCategory")?;
        let spec = &body["create_spec"];
        let name = text(spec, "name")?;
        let single = match text(spec, "cardinality")?.as_str() {
            "SINGLE" => true,
            "MULTIPLE" => false,
            _ => return Err(Refusal::invalid("cardinality is neither SINGLE nor MULTIPLE")),
        };
        let types = texts(spec, "associable_types")?;
        if self.tagging.categories.values().any(|category| category.name == name) {
            return Err(exists(&format!("category {name:?}")));
        }
        let description = text(spec, "description").unwrap_or_default();
        let category = Category { name, description, single, types };
        Ok(Some(json!(self.tagging.add_category(category))))
    }

    fn category(&self, id: &str) -> Outcome {
        let category = self.tagging.categories.get(id);
        let category = category.ok_or_else(|| Refusal::not_found("such category"))?;
        Ok(Some(json!({
            "id": id,
            "name": category.name,
            "description": category.description,
            "cardinality": if category.single { "SINGLE" } else { "MULTIPLE" },
            "associable_types": category.types,
            "used_by": [],
        })))
    }

    fn delete_category(&mut self, viewer: &Viewer, id: &str) -> Outcome {
        self.category(id)?;
        self.may_tag(viewer, "InventoryService.Tagging.CreateCategory")?;
        self.tagging.categories.remove(id);
        let tags = self.tagging.tags.iter().filter(|(_, tag)| tag.category == id);
        for tag in tags.map(|(tag, _)| tag.clone()).collect::<Vec<_>>() {
            self.tagging.remove_tag(&tag);
        }
        Ok(None)
    }

    fn create_tag(&mut self, viewer: &Viewer, body: &Json) -> Outcome {
        self.may_tag(viewer, "InventoryService.Tagging.CreateTag")?;
        let spec = &body["create_spec"];
        let (name, category) = (text(spec, "name")?, text(spec, "category_id")?);
        self.category(&category)?;
        let same = |tag: &Tag| tag.category == category && tag.name == name;
        if self.tagging.tags.values().any(same) {
            return Err(exists(&format!("tag {name:?} of that category")));
        }
        let description = text(spec, "description").unwrap_or_default();
        Ok(Some(json!(self.tagging.add_tag(Tag { name, description, category }))))
    }

    fn tag(&self, id: &str) -> Outcome {
        let tag = self.tagging.tags.get(id).ok_or_else(|| Refusal::not_found("such tag"))?;
        Ok(Some(json!({
            "id": id,
            "name": tag.name,
            "description": tag.description,
            "category_id": tag.category,
            "used_by": [],
        })))
    }

    fn associate(
        &mut self,
        viewer: &Viewer,
        id: Option<&str>,
        action: &str,
        body: &Json,
    ) -> Outcome {
        match (action, id) {
            ("attach-multiple-tags-to-object", None) => {
                let object = self.may_attach(viewer, &body["object_id"])?;
                let mut problems = Vec::new();
                for tag in texts(body, "tag_ids")? {
                    match self.tagging.objection(object, &tag) {
                        Some(refusal) => problems.push(json!({
                            "id": format!("com.vmware.vapi.std.errors.{}", refusal.kind),
                            "default_message": format!("{tag}: {}", refusal.message),
                            "args": [],
                        })),
                        None => self.tagging.attach(object, tag),
                    }
                }
                Ok(Some(json!({ "success": problems.is_empty(), "error_messages": problems })))
            }
            ("detach-multiple-tags-from-object", None) => {
                let object = self.may_attach(viewer, &body["object_id"])?;
                let taken = texts(body, "tag_ids")?;
                if let Some(tags) = self.tagging.attached.get_mut(&object) {
                    tags.retain(|tag| !taken.contains(tag));
                }
                Ok(Some(json!({ "success": true, "error_messages": [] })))
            }
            ("attach", Some(tag)) => {
                let object = self.may_attach(viewer, &body["object_id"])?;
                match self.tagging.objection(object, tag) {
                    Some(refusal) => Err(refusal),
                    None => {
                        self.tagging.attach(object, tag.to_owned());
                        Ok(None)
                    }
                }
            }
            ("detach", Some(tag)) => {
                self.tag(tag)?;
                let object = self.may_attach(viewer, &body["object_id"])?;
                self.tagging.detach(object, tag);
                Ok(None)
            }
            ("list-attached-objects", Some(tag)) => {
                self.tag(tag)?;
                Ok(Some(self.tagging.objects_of(tag)))
            }
            ("list-attached-tags", None) => {
                let object = self.tagged_object(&body["object_id"])?;
                Ok(Some(self.tagging.tags_of(object)))
            }
            ("list-attached-objects-on-tags", None) => {
                let tags = texts(body, "tag_ids")?;
                let each = tags.iter().map(
                    |tag| json!({ "tag_id": tag, "object_ids": self.tagging.objects_of(tag) }),
                );
                Ok(Some(each.collect()))
            }
            ("list-attached-tags-on-objects", None) => {
                let objects = body["object_ids"].as_array();
                let objects = objects.ok_or_else(|| missing("object_ids", "a list"))?;
                // What is not there has no tags; only its own line says so, by being absent.
                let known =
                    objects.iter().filter_map(|of| Some((of, self.tagged_object(of).ok()?)));
                let each = known.map(|(of, object)| {
                    json!({ "object_id": of, "tag_ids": self.tagging.tags_of(object) })
                });
                Ok(Some(each.collect()))
            }
            _ => Err(Refusal::not_found("such call")),
        }
    }

    fn tagged_object(&self, body: &Json) -> Result<Ref, Refusal> {
        let (kind, id) = (text(body, "type")?, text(body, "id")?);
        let object = Ref::read(&kind, &id).filter(|object| self.estate.has(*object));
        object.ok_or_else(|| Refusal::not_found(&format!("object {kind}:{id}")))
    }

    /// An object whose tags the caller may change.
    fn may_attach(&self, viewer: &Viewer, body: &Json) -> Result<Ref, Refusal> {
        let object = self.tagged_object(body)?;
        self.may_tag(viewer, "InventoryService.Tagging.AttachTag")?;
        let attachable = "InventoryService.Tagging.ObjectAttachable";
        let allowed = self.sessions.require(viewer, &self.estate, object, attachable);
        allowed.map(|()| object).map_err(|_| forbidden(attachable))
    }
}

fn forbidden(privilege: &str) -> Refusal {
    Refusal::new(403, "unauthorized", format!("the account lacks {privilege}"))
}

fn exists(what: &str) -> Refusal {
    Refusal::new(400, "already_exists", format!("{what} is there already"))
}

fn missing(field: &str, what: &str) -> Refusal {
    Refusal::invalid(format!("{field} is not there, or is not {what}"))
}

fn text(body: &Json, field: &str) -> Result<String, Refusal> {
    body[field].as_str().map(str::to_owned).ok_or_else(|| missing(field, "a text"))
}

fn texts(body: &Json, field: &str) -> Result<Vec<String>, Refusal> {
    let list = body[field].as_array().ok_or_else(|| missing(field, "a list of texts"))?;
    let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
    texts.collect::<Option<_>>().ok_or_else(|| missing(field, "a list of texts"))
}
