//! Storage policies: which there are, which datastores meet them, and the calls that tell.

use std::collections::BTreeSet;

use joiner_sim::Answered;

use crate::{
    estate::Estate,
    fault::Fault,
    inventory::{InventoryError, StoragePolicy},
    methods::returned,
    reference::Ref,
    session::{Standing, Viewer},
    soap::{Call, failed, succeeded_in},
    wire::{element::Element, value::Value},
    world::World,
};

/// The namespace of this service's words.
const NAMESPACE: &str = "urn:pbm";

/// Who answers what, by kind and id.
const PROFILES: (&str, &str) = ("PbmProfileProfileManager", "ProfileManager");
const PLACEMENT: (&str, &str) = ("PbmPlacementSolver", "placementSolver");

/// A storage policy.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The datastores that meet it.
    datastores: BTreeSet<Ref>,
}

impl Policy {
    /// The policies that a description stands for.
    pub(crate) fn build(
        described: &[StoragePolicy],
        estate: &mut Estate,
    ) -> Result<Vec<Self>, InventoryError> {
        let mut policies = Vec::new();
        for of in described {
            let mut datastores = BTreeSet::new();
            for name in &of.datastores {
                let known = estate.datastores.keys().find(|own| estate.name(**own) == name);
                datastores.insert(*known.ok_or_else(|| InventoryError {
                    object: format!("storage policy {:?}", of.name),
                    field: "datastores",
                    value: name.clone(),
                    problem: "is no datastore",
                    remedy: "write the name of one".to_owned(),
                })?);
            }
            let id = estate.identities.uuid("policy");
            policies.push(Self { id, name: of.name.clone(), datastores });
        }
        Ok(policies)
    }
}

impl World {
    /// Answers a call to the service that knows storage policies.
    pub(crate) fn answer_policies(&mut self, call: &Call, fault: Option<Fault>) -> Answered {
        // A session is told in the envelope; cookies are another service's.
        let key = call.session_in_envelope.as_deref();
        let standing = self.sessions.standing(key, false, self.agenda.now(), &self.behaviour);
        self.forget_ended_sessions();
        let Standing::Live(viewer) = standing else {
            return failed(&Fault::not_authenticated());
        };
        if let Some(fault) = fault {
            return failed(&fault);
        }
        let element = &call.element;
        match self.tell_policies(&viewer, element) {
            Ok(content) => succeeded_in(NAMESPACE, &element.name, &content),
            Err(fault) => failed(&fault),
        }
    }

    fn tell_policies(&self, viewer: &Viewer, call: &Element) -> Result<String, Fault> {
        let this = call.child("_this").map(|this| (this.object_type.as_deref(), &*this.text));
        let is_to = |(kind, id)| this == Some((Some(kind), id));
        let privilege = "StorageProfile.View";
        match call.name.as_str() {
            "PbmRetrieveServiceContent" => Ok(returned(&Value::Data(
                "PbmServiceInstanceContent",
                vec![
                    ("profileManager", reference(PROFILES)),
                    ("placementSolver", reference(PLACEMENT)),
                ],
            ))),
            "PbmQueryProfile" if is_to(PROFILES) => {
                self.sessions.require(viewer, &self.estate, self.estate.root, privilege)?;
                Ok(self.estate.policies.iter().map(|own| returned(&profile_id(&own.id))).collect())
            }
            "PbmRetrieveContent" if is_to(PROFILES) => {
                self.sessions.require(viewer, &self.estate, self.estate.root, privilege)?;
                let asked = call.all("profileIds").map(|id| id.text_of("uniqueId"));
                asked
                    .map(|id| {
                        let own = self.policy(id.unwrap_or_default())?;
                        Ok(returned(&Value::sub(
                            "PbmCapabilityProfile",
                            vec![
                                ("profileId", profile_id(&own.id)),
                                ("name", Value::text(own.name.clone())),
                            ],
                        )))
                    })
                    .collect()
            }
            "PbmCheckRequirements" if is_to(PLACEMENT) => self.check_policy(call),
            other => {
                let message = format!("there is no method {other} of that object");
                Err(Fault::new("InvalidRequest", message))
            }
        }
    }

    fn policy(&self, id: &str) -> Result<&Policy, Fault> {
        let known = self.estate.policies.iter().find(|own| own.id == id);
        known.ok_or_else(|| Fault::invalid_argument("profileId", "there is no such policy"))
    }

    fn check_policy(&self, call: &Element) -> Result<String, Fault> {
        let id = call.at(&["placementSubjectRequirement", "profileId", "uniqueId"]);
        let policy = self.policy(id.map(|id| id.text.as_str()).unwrap_or_default())?;
        let hub = |hub: &Element| {
            let text = |name| hub.text_of(name).unwrap_or_default().to_owned();
            (text("hubType"), text("hubId"))
        };
        let asked: Vec<(String, String)> = call.all("hubsToSearch").map(hub).collect();
        let mut told = String::new();
        for (kind, id) in asked {
            let datastores = self.estate.datastores.keys();
            let own = datastores.into_iter().find(|own| own.kind.name() == kind && own.id() == id);
            let Some(own) = own else {
                return Err(Fault::invalid_argument("hubsToSearch", "there is no such datastore"));
            };
            let mut fields = vec![(
                "hub",
                Value::Data(
                    "PbmPlacementHub",
                    vec![("hubType", Value::text(kind)), ("hubId", Value::text(id))],
                ),
            )];
            if !policy.datastores.contains(own) {
                let why = Fault::new("PbmFault", "The datastore does not meet the policy.");
                fields.push(("error", why.localized()));
            }
            let result = Value::Data("PbmPlacementCompatibilityResult", fields);
            told.push_str(&returned(&result));
        }
        Ok(told)
    }
}

impl Estate {
    /// The name of the policy that an element asks for, if it asks for one.
    pub(crate) fn policy_asked_for(
        &self,
        element: &Element,
        field: &str,
    ) -> Result<Option<String>, Fault> {
        let Some(id) = element.child("profile").and_then(|own| own.text_of("profileId")) else {
            return Ok(None);
        };
        let known = self.policies.iter().find(|own| own.id == id);
        let known =
            known.ok_or_else(|| Fault::invalid_argument(field, "there is no such policy"))?;
        Ok(Some(known.name.clone()))
    }
}

fn profile_id(id: &str) -> Value<'static> {
    Value::Data("PbmProfileId", vec![("uniqueId", Value::text(id.to_owned()))])
}

fn reference((kind, id): (&'static str, &'static str)) -> Value<'static> {
    Value::NoSuchRef(kind.into(), id.into())
}
