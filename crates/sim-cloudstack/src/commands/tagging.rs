//! Tags: putting them on objects, taking them away, listing them.

use serde_json::{Value, json};

use super::Call;
use crate::{
    estate::{Kind, Number, Owner, Taggable},
    job::Work,
    refusal::{Refusal, code},
    world::World,
};

/// The objects of a job about tags: their kind, numbers and ids.
pub(crate) type Tagged = (&'static Taggable, Vec<(Number, String)>);

impl World {
    pub(super) fn create_tags(&mut self, call: &Call) -> Result<Value, Refusal> {
        let tags = call.given.pairs("tags")?;
        let work = Work::CreateTags {
            kind: call.given.text("resourcetype").unwrap_or_default().to_owned(),
            ids: call.given.texts("resourceids").to_vec(),
            tags,
            caller: call.caller,
        };
        self.submit(call, work, None, None)
    }

    pub(super) fn delete_tags(&mut self, call: &Call) -> Result<Value, Refusal> {
        let fields = |name| call.given.pairs(name);
        // Tags to delete may be named by their keys alone.
        let tags = match fields("tags") {
            Ok(pairs) => pairs.into_iter().map(|(key, value)| (key, Some(value))).collect(),
            Err(_) => call.given.keys("tags").into_iter().map(|key| (key, None)).collect(),
        };
        let work = Work::DeleteTags {
            kind: call.given.text("resourcetype").unwrap_or_default().to_owned(),
            ids: call.given.texts("resourceids").to_vec(),
            tags,
            caller: call.caller,
        };
        self.submit(call, work, None, None)
    }

    pub(super) fn list_tags(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        let kind = given.text("resourcetype");
        let rows: Vec<(Kind, Number, &str, &str, Owner)> = self
            .estate
            .tags
            .all()
            .filter_map(|(kind, number, key, value)| {
                let owner = self.owner_of(kind, number)?;
                Some((kind, number, key, value, owner))
            })
            .filter(|(of, number, key, value, owner)| {
                self.shows(&scope, *owner)
                    && kind.is_none_or(|kind| {
                        Taggable::of(*of).is_some_and(|name| name.eq_ignore_ascii_case(kind))
                    })
                    && given
                        .text("resourceid")
                        .is_none_or(|id| self.estate.resolve(*of, id) == Some(*number))
                    && given.text("key").is_none_or(|wanted| wanted == *key)
                    && given.text("value").is_none_or(|wanted| wanted == *value)
                    && given.mentions(&[key, value])
            })
            .collect();
        Ok(call.listed(&rows, |(kind, number, key, value, owner)| {
            self.tag_row(*kind, *number, key, value, *owner)
        }))
    }

    /// Whose an object with tags is.
    pub(crate) fn owner_of(&self, kind: Kind, number: Number) -> Option<Owner> {
        match kind {
            Kind::Vm => self.estate.vms.get(&number).map(|vm| vm.owner),
            Kind::Volume => self.estate.volumes.get(&number).map(|volume| volume.owner),
            Kind::Template => self.estate.templates.get(&number).map(|it| Owner::Account(it.owner)),
            Kind::Network => self.estate.networks.get(&number).and_then(|network| network.owner),
            Kind::Project => Some(Owner::Project(number)),
            _ => None,
        }
    }

    fn tag_row(&self, kind: Kind, number: Number, key: &str, value: &str, owner: Owner) -> Value {
        let row = json!({
            "key": key,
            "value": value,
            "resourcetype": Taggable::of(kind),
            "resourceid": self.resource_id(kind, number),
        });
        self.owned(owner, row)
    }

    fn resource_id(&self, kind: Kind, number: Number) -> Option<&str> {
        let estate = &self.estate;
        match kind {
            Kind::Vm => estate.vms.get(&number).map(|vm| vm.id.as_str()),
            Kind::Volume => estate.volumes.get(&number).map(|volume| volume.id.as_str()),
            Kind::Template => estate.templates.get(&number).map(|template| template.id.as_str()),
            Kind::Network => estate.networks.get(&number).map(|network| network.id.as_str()),
            Kind::Project => estate.projects.get(&number).map(|project| project.id.as_str()),
            _ => None,
        }
    }

    /// The tags of an object, as its row has them.
    pub(super) fn tag_rows(&self, kind: Kind, number: Number, owner: Owner) -> Vec<Value> {
        let tags = self.estate.tags.of(kind, number);
        tags.map(|(key, value)| self.tag_row(kind, number, key, value, owner)).collect()
    }

    /// Finds the objects of a job about tags.
    pub(crate) fn tagged_objects(
        &self,
        kind: &str,
        ids: &[String],
        caller: crate::access::Caller,
    ) -> Result<Tagged, Refusal> {
        let kind = Taggable::read(kind).map_err(Refusal::value)?;
        let find = |id: &String| {
            let number = self.estate.resolve(kind.kind, id);
            let owner = number.and_then(|number| self.owner_of(kind.kind, number));
            let (Some(number), Some(owner)) = (number, owner) else {
                let text = format!("Unable to find resource by id {id} and type {}", kind.name);
                return Err(Refusal::plain(code::PARAMETER, text));
            };
            self.may_operate(caller, owner)?;
            Ok((number, id.clone()))
        };
        Ok((kind, ids.iter().map(find).collect::<Result<_, _>>()?))
    }
}
