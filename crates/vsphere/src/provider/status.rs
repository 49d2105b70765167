//! The status of a class: its conditions and its resolution.

use std::collections::BTreeMap;

use joiner_cloud::{
    CloudError,
    bootstrap::{self, Encoded, class_text::Fetched},
    class::{self, ClassCondition, ClassStatus},
    inputs::ClassInputs,
    judgement::{
        VALIDATION, add_bootstrap, add_version, condition, orders_accepted, refuse, validation, was,
    },
    notes::Note,
};
use joiner_vim::{MoRef, VimError};

use super::{
    Inner,
    resolve::{KEPT_FOR, NotResolved},
};
use crate::{
    NODE_CLASS_KIND, image,
    instances::Instances,
    networks,
    node_class::NodeClass,
    places::{
        COMPUTE_READY, CONDITIONS, DATASTORE_READY, FOLDER_READY, IMAGE_READY, LedTo,
        NETWORK_READY, Resolution, Trouble, VCENTER,
    },
    privileges::{self, Role},
    user_data,
    vm_settings::AntiAffinity,
};

impl Inner {
    /// What is to be said of a class.
    pub(super) async fn resolve_class(
        &self,
        class: &class::NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        Ok(self.judge(class, inputs).await?.0)
    }

    /// What is to be said of a class, and where its selectors lead.
    pub(super) async fn judge(
        &self,
        class: &class::NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<(ClassStatus, LedTo), CloudError> {
        let fetched = inputs.and_then(Fetched::of);
        let read = match NodeClass::read(&class.object()) {
            Ok(read) => read,
            Err(error) => {
                let refused = condition(VALIDATION, Some(false), "InvalidSpec", error.to_string());
                let conditions = vec![refused];
                return Ok((ClassStatus { conditions, ..ClassStatus::default() }, LedTo::new()));
            }
        };
        let (mut status, mut led_to) = (ClassStatus::default(), LedTo::new());
        status.conditions.push(self.validation(&read));
        let named = format!("{NODE_CLASS_KIND} {:?}", class.name);
        status.conditions.push({
            let state = self.state();
            let why = state.invalid_orders.why(class, self.now());
            orders_accepted(&named, "vCenter", why)
        });
        match self.resolve(class, &read).await {
            Ok(resolution) => {
                self.state().told_unresolved.forget(&class.name);
                status.conditions.push(self.vcenter_ready());
                status.fields = resolution.status();
                led_to = resolution.led_to();
                let missing =
                    self.missing_privileges(&read, &resolution).await?.unwrap_or_default();
                status.conditions.extend(CONDITIONS.map(|type_| {
                    let lacking = missing.get(type_);
                    lacking.map_or_else(
                        || condition(type_, Some(true), "", doubts(type_, &read, &resolution)),
                        |text| condition(type_, Some(false), "PermissionDenied", text.clone()),
                    )
                }));
                let tags = self.tags_ready(&read, &resolution).await;
                // Tags that cannot be read at the moment leave a class ready.
                if tags.holds.is_none() && was(class, tags.type_, "True") {
                    return Err(CloudError::Unknown(format!(
                        "looking at the class: {}",
                        tags.message
                    )));
                }
                status.conditions.push(tags);
                status.conditions.push(self.zones_ready(&read, &resolution).await);
                let read = read.with_template_disk(resolution.image.disk_gib());
                self.say_of_texts(&mut status, &read, fetched.as_ref());
            }
            Err(NotResolved::Troubles(stuck)) => {
                let troubles = stuck.troubles;
                led_to = stuck.led_to;
                self.tell_unresolved(class, &troubles);
                status.conditions.push(self.vcenter_ready());
                status.conditions.extend(CONDITIONS.map(|type_| told(type_, &troubles)));
                // Nothing is looked for before it is known in which datacenter.
                let of_class = troubles.iter().find(|own| own.condition == VALIDATION);
                if let Some(Trouble { unresolved, .. }) = of_class {
                    let message =
                        format!("{NODE_CLASS_KIND} {:?}: {}", read.name(), unresolved.message);
                    refuse(&mut status, unresolved.reason, message);
                }
                self.say_of_texts(&mut status, &read, fetched.as_ref());
            }
            Err(NotResolved::Tags(error)) => {
                let text = format!("vCenter does not say what carries the class's tags: {error}");
                status.conditions.push(condition(VCENTER, None, "TagsUnknown", text));
            }
            Err(NotResolved::Vim(error)) => {
                // Classes stay ready while a vCenter restarts: the last status is kept for a while.
                if error_is_passing(&error) && self.kept(class, KEPT_FOR).is_some() {
                    return Err(CloudError::Unknown(format!("looking at the class: {error}")));
                }
                status.conditions.push(away(&error));
            }
        }
        add_version(&mut status, fetched.as_ref().map(|fetched| fetched.facts));
        Ok((status, led_to))
    }

    /// Whether a vCenter that answers makes instances.
    fn vcenter_ready(&self) -> ClassCondition {
        match self.state().why_unlicensed(self.now()) {
            None => condition(VCENTER, Some(true), "", String::new()),
            Some(why) => {
                let message = format!(
                    "vCenter lacks a licence, and nothing is made in it for 15 minutes; add or renew \
                     the licence of its hosts: {why}"
                );
                condition(VCENTER, Some(false), "NotEnoughLicenses", message)
            }
        }
    }

    /// Tells, once, that a class leads nowhere.
    fn tell_unresolved(&self, class: &class::NodeClass, troubles: &[Trouble]) {
        let texts: Vec<&str> = troubles.iter().map(|own| own.unresolved.message.as_str()).collect();
        let text = texts.join("; ");
        if self.state().told_unresolved.is_new(&class.name, &text) {
            self.notes.write(Note::wrong_with_class(class, "ResolutionFailed", text));
        }
    }

    fn validation(&self, read: &NodeClass) -> ClassCondition {
        let problems = read.problems(&self.settings.instances);
        validation(&format!("{NODE_CLASS_KIND} {:?}", read.name()), &problems, &read.ignored())
    }

    /// Says whether a text can be made for instances of a class. A text that is wrong is the class's
    /// fault, everything else is about joining.
    fn say_of_texts(
        &self,
        status: &mut ClassStatus,
        read: &NodeClass,
        fetched: Option<&Fetched<'_>>,
    ) {
        let Some(fetched) = fetched else { return };
        let trial = self.trial(read, fetched);
        add_bootstrap(status, trial, |format| networks::untold(&read.spec, format));
    }

    /// The text of an instance of a class that there never is; none where the class has no sizes.
    pub(super) fn trial(
        &self,
        read: &NodeClass,
        fetched: &Fetched<'_>,
    ) -> Option<Result<Encoded, bootstrap::Error>> {
        let Instances { types, .. } = read.instances(&self.settings.instances).unwrap_or_default();
        Some(user_data::class_text(read).trial(fetched, types.first()?))
    }

    /// The account's missing privileges by condition; none where they are unknown.
    pub(super) async fn missing_privileges(
        &self,
        read: &NodeClass,
        resolution: &Resolution,
    ) -> Result<Option<BTreeMap<&'static str, String>>, CloudError> {
        let image = &resolution.image;
        let role = if image.is_marked { Role::Template } else { Role::Source };
        let mut needed =
            vec![(IMAGE_READY, role, &image.named.reference, image.named.path.as_str())];
        for place in &resolution.places {
            let compute = &place.compute;
            needed.push((COMPUTE_READY, Role::Pool, &compute.pool, &compute.named.path));
            let anti_affinity = AntiAffinity::read(read.spec.anti_affinity.as_deref());
            if place.vm_group.is_some() || anti_affinity == Ok(AntiAffinity::Preferred) {
                let (role, path) = (Role::GroupsCluster, &compute.named.path);
                needed.push((COMPUTE_READY, role, &compute.cluster, path));
            }
            let folder = &place.folder;
            needed.push((FOLDER_READY, Role::Folder, &folder.reference, &folder.path));
            let mut sizes = read.spec.instance_types.iter().flatten();
            let further = [
                (Role::UpgradeFolder, read.spec.hardware_version.is_some()),
                (
                    Role::DevicesFolder,
                    sizes.any(|size| size.pci_devices.is_some() || size.vgpu.is_some()),
                ),
            ];
            for (role, _) in further.into_iter().filter(|(_, is_needed)| *is_needed) {
                needed.push((FOLDER_READY, role, &folder.reference, &folder.path));
            }
            for network in &place.networks {
                let named = &network.named;
                needed.push((NETWORK_READY, Role::Network, &named.reference, &named.path));
            }
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
            // An account that may not query privileges gets the error of the failing call instead.
            Err(VimError::Fault(fault)) => {
                tracing::debug!("privileges cannot be asked for: {fault}");
                return Ok(None);
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
        let told = told.filter_map(|(type_, own)| Some((type_, privileges::message(&own)?)));
        Ok(Some(told.collect()))
    }
}

/// What may be wrong although a condition holds.
fn doubts(type_: &'static str, read: &NodeClass, resolution: &Resolution) -> String {
    if type_ != IMAGE_READY {
        return String::new();
    }
    let doubts = image::doubts(read, &resolution.image);
    let told: Vec<String> =
        doubts.iter().map(|doubt| format!("{}; {}", doubt.text, doubt.remedy)).collect();
    told.join("; ")
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
        None if troubles.iter().any(|trouble| trouble.condition == VALIDATION) => condition(
            type_,
            None,
            "WaitsForDatacenter",
            "looked for once it is known in which datacenter".to_owned(),
        ),
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
pub(super) fn away(error: &VimError) -> ClassCondition {
    let (holds, reason) = match error {
        VimError::InvalidLogin { .. } => (Some(false), "InvalidLogin"),
        VimError::Tls { .. } => (Some(false), "NotTrusted"),
        VimError::Fault(fault) if fault.is("NoPermission") => (Some(false), "PermissionDenied"),
        VimError::Fault(_) => (None, "Refused"),
        VimError::Unreachable(_) | VimError::Http(_) | VimError::Malformed(_) => {
            (None, "Unreachable")
        }
    };
    let remedy = match error {
        VimError::InvalidLogin { .. } => {
            "; correct GOVC_USERNAME and GOVC_PASSWORD (--vsphere-username, --vsphere-password), or \
             unlock the account, if it gave a wrong password too often"
        }
        VimError::Unreachable(_) | VimError::Http(_) => {
            "; see whether GOVC_URL (--vsphere-endpoint) is right, and what is between here and there"
        }
        _ => "",
    };
    condition(VCENTER, holds, reason, format!("{error}{remedy}"))
}
