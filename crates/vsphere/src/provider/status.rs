//! What is said of a class: whether it can be used, and what it comes to.

use std::collections::BTreeMap;

use joiner_cloud::{
    CloudError,
    class::{self, BOOTSTRAP_READY, ClassCondition, ClassStatus},
    inputs::ClassInputs,
    notes::Note,
};
use joiner_vim::{MoRef, VimError};

use super::{
    Inner,
    resolve::{KEPT_FOR, NotResolved},
};
use crate::{
    NODE_CLASS_KIND,
    machines::Machines,
    node_class::NodeClass,
    places::{
        COMPUTE_READY, CONDITIONS, DATASTORE_READY, FOLDER_READY, IMAGE_READY, NETWORK_READY,
        Resolution, Trouble,
    },
    privileges::{self, Role},
    user_data::{self, Fetched, Recipient},
};

const VALIDATION: &str = "ValidationSucceeded";
const VCENTER: &str = "VCenterReady";
const ORDERS_ACCEPTED: &str = "OrdersAccepted";

impl Inner {
    /// What is to be said of a class.
    pub(super) async fn resolve_class(
        &self,
        class: &class::NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        let fetched = inputs.and_then(Fetched::of);
        let read = match NodeClass::read(&class.object()) {
            Ok(read) => read,
            Err(error) => {
                let refused = condition(VALIDATION, Some(false), "InvalidSpec", error.to_string());
                return Ok(ClassStatus { conditions: vec![refused], ..ClassStatus::default() });
            }
        };
        let mut status = ClassStatus::default();
        status.conditions.push(self.validation(&read));
        status.conditions.push(self.orders_accepted(class));
        match self.resolve(class, &read).await {
            Ok(resolution) => {
                self.state().told_unresolved.remove(&class.name);
                status.conditions.push(condition(VCENTER, Some(true), "", String::new()));
                status.fields = resolution.status();
                let missing = self.missing_privileges(&resolution).await?;
                status.conditions.extend(CONDITIONS.map(|type_| {
                    let lacking = missing.get(type_);
                    lacking.map_or_else(
                        || condition(type_, Some(true), "", String::new()),
                        |text| condition(type_, Some(false), "PermissionDenied", text.clone()),
                    )
                }));
                let read = read.with_template_disk(resolution.image.disk_gib());
                status
                    .conditions
                    .extend(fetched.as_ref().map(|fetched| self.bootstrap(&read, fetched)));
            }
            Err(NotResolved::Troubles(troubles)) => {
                self.tell_unresolved(class, &troubles);
                status.conditions.push(condition(VCENTER, Some(true), "", String::new()));
                status.conditions.extend(CONDITIONS.map(|type_| told(type_, &troubles)));
                status
                    .conditions
                    .extend(fetched.as_ref().map(|fetched| self.bootstrap(&read, fetched)));
            }
            Err(NotResolved::Tags(error)) => {
                let text = format!("vCenter does not say what carries the class's tags: {error}");
                status.conditions.push(condition(VCENTER, None, "TagsUnknown", text));
            }
            Err(NotResolved::Vim(error)) => {
                // A vCenter that restarts must not take classes out of use with it: what was said
                // last stands for a while.
                if error_is_passing(&error) && self.kept(class, KEPT_FOR).is_some() {
                    return Err(CloudError::Unknown(format!("looking at the class: {error}")));
                }
                status.conditions.push(away(&error));
            }
        }
        if let Some(version) = fetched.as_ref().and_then(|fetched| fetched.facts.version.as_deref())
        {
            let version = version.trim_start_matches('v');
            let version = version.split_once('+').map_or(version, |(version, _)| version);
            status.fields.insert("kubernetesVersion".to_owned(), version.into());
        }
        Ok(status)
    }

    /// Whether vCenter understands the machines of a class.
    fn orders_accepted(&self, class: &class::NodeClass) -> ClassCondition {
        let state = self.state();
        match state.why_refused(class, self.now()) {
            None => condition(ORDERS_ACCEPTED, Some(true), "", String::new()),
            Some(why) => {
                let message = format!(
                    "{NODE_CLASS_KIND} {:?}: vCenter has refused its last machines as invalid; \
                     correct the class, or what it names: {why}",
                    class.name
                );
                condition(ORDERS_ACCEPTED, Some(false), "InvalidMachine", message)
            }
        }
    }

    /// Tells, once, that a class leads nowhere.
    fn tell_unresolved(&self, class: &class::NodeClass, troubles: &[Trouble]) {
        let texts: Vec<&str> = troubles.iter().map(|own| own.unresolved.message.as_str()).collect();
        let text = texts.join("; ");
        let told = self.state().told_unresolved.insert(class.name.clone(), text.clone());
        if told.as_ref() != Some(&text) {
            self.notes.write(Note::wrong_with_class(class, "ResolutionFailed", text));
        }
    }

    fn validation(&self, read: &NodeClass) -> ClassCondition {
        let problems = read.problems(&self.settings.machines);
        let Some(first) = problems.first() else {
            return condition(VALIDATION, Some(true), "", read.ignored().join("; "));
        };
        let texts: Vec<String> =
            problems.iter().map(|own| format!("{} {}", own.field, own.text)).collect();
        let message = format!("{NODE_CLASS_KIND} {:?}: {}", read.name(), texts.join("; "));
        condition(VALIDATION, Some(false), &first.reason.to_string(), message)
    }

    /// Whether a text can be made for machines of a class.
    fn bootstrap(&self, read: &NodeClass, fetched: &Fetched<'_>) -> ClassCondition {
        let Machines { types, .. } = read.machines(&self.settings.machines).unwrap_or_default();
        let Some(instance_type) = types.first() else {
            let why = "looked at once ValidationSucceeded is true".to_owned();
            return condition(BOOTSTRAP_READY, None, "WaitsForSizes", why);
        };
        let token = user_data::example_token(fetched.facts);
        let recipient = Recipient { node_name: "trial", instance_type, token, order: None };
        match user_data::text(read, fetched, &recipient) {
            Ok(text) => {
                let warnings: Vec<String> = text
                    .report
                    .warnings
                    .iter()
                    .map(|warning| format!("{}: {}", warning.field, warning.text))
                    .collect();
                condition(BOOTSTRAP_READY, Some(true), "", warnings.join("; "))
            }
            Err(error) => {
                condition(BOOTSTRAP_READY, Some(false), error.kind.reason(), error.to_string())
            }
        }
    }

    /// What the account may not do, by the condition that says it.
    async fn missing_privileges(
        &self,
        resolution: &Resolution,
    ) -> Result<BTreeMap<&'static str, String>, CloudError> {
        let image = &resolution.image;
        let role = if image.is_marked { Role::Template } else { Role::Source };
        let mut needed =
            vec![(IMAGE_READY, role, &image.named.reference, image.named.path.as_str())];
        for place in &resolution.places {
            let compute = &place.compute;
            needed.push((COMPUTE_READY, Role::Pool, &compute.pool, &compute.named.path));
            needed.push((FOLDER_READY, Role::Folder, &place.folder.reference, &place.folder.path));
            let network = &place.network.named;
            needed.push((NETWORK_READY, Role::Network, &network.reference, &network.path));
            for datastore in &place.datastores.usable {
                let named = &datastore.named;
                needed.push((DATASTORE_READY, Role::Datastore, &named.reference, &named.path));
            }
        }
        let mut objects: Vec<MoRef> = needed.iter().map(|(_, _, own, _)| (*own).clone()).collect();
        objects.sort();
        objects.dedup();
        let had = match self.vim.privileges(&objects).await {
            Ok(had) => had,
            // Whoever may not ask is told when something fails.
            Err(VimError::Fault(fault)) => {
                tracing::debug!("privileges cannot be asked for: {fault}");
                return Ok(BTreeMap::new());
            }
            Err(error) => return Err(super::troubles::unanswered("asking for privileges")(error)),
        };
        let mut missing: BTreeMap<&'static str, Vec<(&str, Vec<&'static str>)>> = BTreeMap::new();
        for (condition, role, object, path) in needed {
            if let Some(own) = had.get(object) {
                missing.entry(condition).or_default().push((path, role.missing(own)));
            }
        }
        let told = missing.into_iter();
        Ok(told.filter_map(|(type_, own)| Some((type_, privileges::message(&own)?))).collect())
    }
}

fn condition(
    type_: &'static str,
    holds: Option<bool>,
    reason: &str,
    message: String,
) -> ClassCondition {
    ClassCondition { type_, holds, reason: reason.to_owned(), message }
}

/// What a condition says where something leads nowhere.
fn told(type_: &'static str, troubles: &[Trouble]) -> ClassCondition {
    let own: Vec<&Trouble> = troubles.iter().filter(|trouble| trouble.condition == type_).collect();
    match own.first() {
        Some(first) => {
            let texts: Vec<&str> =
                own.iter().map(|trouble| trouble.unresolved.message.as_str()).collect();
            condition(type_, Some(false), first.unresolved.reason, texts.join("; "))
        }
        // What hangs on a cluster is not looked for before there is one.
        None if matches!(type_, DATASTORE_READY | NETWORK_READY)
            && troubles.iter().any(|trouble| trouble.condition == COMPUTE_READY) =>
        {
            condition(
                type_,
                None,
                "WaitsForCompute",
                "looked for once ComputeReady is true".to_owned(),
            )
        }
        None => condition(type_, Some(true), "", String::new()),
    }
}

fn error_is_passing(error: &VimError) -> bool {
    !matches!(error, VimError::InvalidLogin { .. } | VimError::Tls { .. })
}

/// What is said of a vCenter that does not answer.
fn away(error: &VimError) -> ClassCondition {
    let (holds, reason) = match error {
        VimError::InvalidLogin { .. } => (Some(false), "InvalidLogin"),
        VimError::Tls { .. } => (Some(false), "NotTrusted"),
        VimError::Fault(fault) if fault.is("NoPermission") => (Some(false), "PermissionDenied"),
        VimError::Fault(_) => (None, "Refused"),
        VimError::Unreachable(_) | VimError::Http(_) | VimError::Malformed(_) => {
            (None, "Unreachable")
        }
    };
    condition(VCENTER, holds, reason, error.to_string())
}
