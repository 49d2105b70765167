//! The simulated vCenter, as its administrator sees it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_clock::Clock;
use joiner_realparts::vcsim::{PASSWORD, USER, Vcsim};
use joiner_vim::{Credentials, Https, MoRef, Object, TlsSettings, Vim, VimSettings};

pub(super) struct VCenter(Vim);

/// A virtual machine that is no template.
#[derive(Debug)]
pub(super) struct Instance {
    reference: MoRef,
    pub(super) name: String,
    pub(super) provider_id: String,
    pub(super) is_on: bool,
    /// The name of the claim that it was made for.
    pub(super) claim: String,
    pub(super) cpus: u32,
    pub(super) memory_mib: u64,
    /// What its guest is told.
    pub(super) settings: BTreeMap<String, String>,
}

impl VCenter {
    pub(super) fn of(vcsim: &Vcsim) -> Self {
        let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
        let https = Https::new(vcsim.url().parse().unwrap(), &tls).unwrap();
        let settings = VimSettings::new(Credentials::new(USER, PASSWORD));
        Self(Vim::new(settings, Arc::new(https), Clock::wall()))
    }

    /// All instances that are no templates.
    pub(super) async fn instances(&self) -> Vec<Instance> {
        let root = self.0.service_content().await.unwrap().root_folder.clone();
        let paths = [
            "name",
            "config.uuid",
            "config.template",
            "config.extraConfig",
            "config.hardware.numCPU",
            "config.hardware.memoryMB",
            "runtime.powerState",
        ];
        let all = self.0.list(&root, "VirtualMachine", &paths).await.unwrap();
        let instances = all.iter().filter(|own| own.parse("config.template") != Some(true));
        instances.filter_map(instance).collect()
    }

    /// The tags of an instance, as category and name.
    pub(super) async fn tags_of(&self, instance: &Instance) -> BTreeSet<(String, String)> {
        let tags = self.0.tags();
        let on = tags.tags_on(std::slice::from_ref(&instance.reference)).await.unwrap();
        let mut named = BTreeSet::new();
        for id in &on[&instance.reference] {
            let tag = tags.tag(id).await.unwrap();
            let category = tags.category(&tag.category_id).await.unwrap();
            named.insert((category.name, tag.name));
        }
        named
    }

    /// Every tag that there is, as category and name.
    pub(super) async fn all_tags(&self) -> Vec<(String, String)> {
        let tags = self.0.tags();
        let mut all = Vec::new();
        for category in tags.categories().await.unwrap() {
            let own = tags.tags_of(&category.id).await.unwrap();
            all.extend(own.into_iter().map(|tag| (category.name.clone(), tag.name)));
        }
        all
    }
}

/// Reads an instance; none for one that is not all there, because it is made or destroyed just now.
fn instance(own: &Object) -> Option<Instance> {
    let settings: BTreeMap<String, String> = own
        .value("config.extraConfig")?
        .children
        .iter()
        .filter_map(|entry| {
            Some((entry.text_at("key")?.to_owned(), entry.text_at("value")?.to_owned()))
        })
        .collect();
    Some(Instance {
        reference: own.reference.clone(),
        name: own.text("name")?.to_owned(),
        provider_id: format!("vsphere://{}", own.text("config.uuid")?),
        is_on: own.text("runtime.powerState") == Some("poweredOn"),
        claim: settings.get("joiner.nodeclaim").cloned().unwrap_or_default(),
        cpus: own.parse("config.hardware.numCPU")?,
        memory_mib: own.parse("config.hardware.memoryMB")?,
        settings,
    })
}
