//! Reads for the doctor all that it judges. Nothing is changed, and the sessions are ended.

use std::collections::BTreeMap;

use joiner_cloud::{
    bootstrap::{Distro, Facts, GuestLookup, ProviderId, class_text::Fetched},
    class,
    doctor::{
        Finding, Patient, SecretSeen, Subject, clocks, instances, joining, reached, users_secret,
    },
    inputs::SecretData,
    judgement::VALIDATION,
    needs::SecretName,
};

use super::{Inner, resolve::KEPT_FOR, status::away};
use crate::{
    NODE_CLASS_KIND,
    choose::{self, Tagged},
    doctor::{self, room, template, version},
    node_class::NodeClass,
    places::Resolution,
    room::{HOSTS, Host, needed_space},
    tags, user_data,
    vm::{self, Vm},
};

/// The provider that this one replaces.
const PREDECESSOR: &str = "karpenter-provider-vsphere";

impl Inner {
    /// Examines everything that instances depend on. Nothing is changed.
    pub(super) async fn examine(&self, patient: &Patient) -> Vec<Finding> {
        let mut found = Vec::new();
        let address = patient.address.as_str();
        let in_the_way = self.examine_vcenter(address, &mut found).await.err();
        match in_the_way {
            None => {
                self.examine_places(address, &mut found).await;
                self.examine_instances(patient, &mut found).await;
            }
            Some(why) => found.extend(
                ["datacenter", "folder", "tags", "instances", "orphans"]
                    .map(|check| Subject::new(check, address).not_checked(why)),
            ),
        }
        match &patient.classes {
            Ok(classes) => {
                for class in classes {
                    found.extend(self.examine_class(class, &patient.secrets, in_the_way).await);
                }
            }
            Err(why) => found.push(Subject::new("class", "").not_checked(why)),
        }
        found
    }

    /// The way into the vCenter. An error says why nothing else can be asked.
    async fn examine_vcenter(
        &self,
        address: &str,
        found: &mut Vec<Finding>,
    ) -> Result<(), &'static str> {
        let not_checked = |check, why| Subject::new(check, address).not_checked(why);
        let about = self.vim.about().await;
        let refused = about.as_ref().err().map(away);
        found.push(reached("address", address, refused.as_ref(), "answers".to_owned()));
        let Ok(about) = about else {
            let why = "the vCenter is not reached";
            found.extend(["version", "login", "clock"].map(|check| not_checked(check, why)));
            return Err(why);
        };
        found.push(version(address, &about));
        let before = self.now();
        let theirs = self.vim.current_time().await;
        let refused = theirs.as_ref().err().map(away);
        found.push(reached("login", address, refused.as_ref(), "the account is known".to_owned()));
        let Ok(theirs) = theirs else {
            let why = "nobody is logged in";
            found.push(not_checked("clock", why));
            return Err(why);
        };
        // The network delay does not count as a clock difference.
        let taken = self.now().duration_since(before);
        found.push(clocks(address, before + taken / 2, theirs));
        Ok(())
    }

    /// What does not depend on any class.
    async fn examine_places(&self, address: &str, found: &mut Vec<Finding>) {
        let subject = |check| Subject::new(check, address);
        let setting = self.settings.datacenter.as_deref();
        found.push(match self.datacenters().await {
            Err(error) => subject("datacenter").not_checked(error.to_string()),
            Ok(all) => match choose::datacenter(None, setting, &Tagged::default(), &all) {
                Ok(only) => subject("datacenter").fine(only.path),
                // Classes may say it themselves; of each that does not it is told.
                Err(unresolved) if setting.is_none() && !all.is_empty() => {
                    subject("datacenter").warning(unresolved.reason, &unresolved.message)
                }
                Err(unresolved) => {
                    subject("datacenter").problem(unresolved.reason, &unresolved.message)
                }
            },
        });
        found.push(match self.own_folders().await {
            Ok(_) => subject("folder").fine(format!("{:?} is there", self.settings.folder)),
            Err(error) => subject("folder").problem("FolderNotFound", &error.to_string()),
        });
        found.push(match self.tags.survey(&[]).await {
            Ok(_) => subject("tags").fine("answers"),
            Err(error) => subject("tags").problem(
                "TagsUnknown",
                &format!("vCenter does not say which tags there are: {error}"),
            ),
        });
    }

    async fn examine_instances(&self, patient: &Patient, found: &mut Vec<Finding>) {
        let cluster = self.settings.cluster.as_str();
        let object = format!("cluster {cluster:?}");
        let claims = patient.claims.as_deref().map_err(String::as_str);
        let wanted = [(tags::CLUSTER.to_owned(), cluster.to_owned())].into();
        let legacy = self.tags.objects_with_all(&wanted).await.map_err(|error| error.to_string());
        let vms = self.vms_of_folders().await;
        match (vms, legacy) {
            (Ok(vms), Ok(legacy)) => {
                let seen = doctor::seen(cluster, &vms, &legacy);
                found.extend(instances(cluster, PREDECESSOR, &seen, claims));
            }
            (Err(why), _) | (_, Err(why)) => found.extend(
                ["instances", "orphans"]
                    .map(|check| Subject::new(check, &object).not_checked(&why)),
            ),
        }
    }

    /// Everything in the folders of instances, of any owner.
    async fn vms_of_folders(&self) -> Result<Vec<Vm>, String> {
        let properties = vm::properties();
        let paths: Vec<&str> = properties.iter().map(String::as_str).collect();
        let mut vms = Vec::new();
        for folder in self.own_folders().await.map_err(|error| error.to_string())? {
            let found = self.vim.list(&folder, "VirtualMachine", &paths).await;
            vms.extend(found.map_err(|error| error.to_string())?.iter().map(Vm::read));
        }
        Ok(vms)
    }

    /// One class, from what it says to where its instances would be.
    async fn examine_class(
        &self,
        class: &class::NodeClass,
        secrets: &BTreeMap<SecretName, SecretSeen>,
        in_the_way: Option<&'static str>,
    ) -> Vec<Finding> {
        let object = format!("{NODE_CLASS_KIND} {:?}", class.name);
        let subject = |check| Subject::new(check, object.as_str());
        let read = match NodeClass::read(&class.object()) {
            Ok(read) => read,
            Err(error) => return vec![subject("class").problem("InvalidSpec", &error.to_string())],
        };
        let mut found = Vec::new();
        for problem in read.problems(&self.settings.instances) {
            let message = format!("{} {}", problem.field, problem.text);
            found.push(subject("class").problem(&problem.reason.to_string(), &message));
        }
        if found.is_empty() {
            found.push(subject("class").fine("says what can be meant"));
        }
        let ignored = read.ignored();
        found.extend(ignored.iter().map(|text| subject("class").warning("FieldNotUsed", text)));
        found.extend(
            match users_secret(subject("userData"), user_data::secret_need(&read), secrets) {
                Ok(secrets) => self.examine_text(subject("userData"), &read, &secrets),
                Err(finding) => vec![finding],
            },
        );
        found.push(joining(subject("join"), class));
        if let Some(why) = in_the_way {
            found.push(subject("places").not_checked(why));
            return found;
        }
        let (status, led_to) = match self.judge(class, None).await {
            Ok(judged) => judged,
            Err(error) => {
                found.push(subject("places").not_checked(error.to_string()));
                return found;
            }
        };
        let resolution = self.kept(class, KEPT_FOR);
        found.extend(doctor::conditions(&object, &status, &led_to));
        match resolution {
            Some(own) => found.extend(self.examine_resolution(&object, &read, &own).await),
            None => found.extend(["tags", "privileges", "snapshot", "hosts"].map(|check| {
                subject(check).not_checked("looked at once every selector leads somewhere")
            })),
        }
        found
    }

    /// The text that instances would join with, as far as it does not depend on the cluster.
    fn examine_text(
        &self,
        subject: Subject<'_>,
        read: &NodeClass,
        secrets: &BTreeMap<SecretName, SecretData>,
    ) -> Vec<Finding> {
        let facts = example_facts(read);
        let fetched = Fetched { facts: &facts, secrets };
        let text = match self.trial(read, &fetched) {
            None => return vec![subject.not_checked("the class has no size to make it for")],
            Some(Err(error)) if error.kind.condition() == VALIDATION => {
                return vec![subject.problem(error.kind.reason(), &error.to_string())];
            }
            Some(Err(error)) => return vec![subject.not_checked(error.to_string())],
            Some(Ok(text)) => text,
        };
        let mut found = vec![subject.fine(format!(
            "{} bytes with an example of what instances join with",
            text.report.raw_len
        ))];
        // What is said of the example is not said of the class.
        let of_class = text.report.warnings.iter().filter(|own| own.field.starts_with("spec."));
        found.extend(of_class.map(|warning| {
            subject.warning("UserDataWarning", &format!("{}: {}", warning.field, warning.text))
        }));
        found
    }

    /// What a class came to, looked at more closely than its conditions do.
    async fn examine_resolution(
        &self,
        object: &str,
        read: &NodeClass,
        resolution: &Resolution,
    ) -> Vec<Finding> {
        let subject = |check| Subject::new(check, object);
        let mut found = Vec::new();
        match self.missing_privileges(read, resolution).await {
            Ok(Some(missing)) if missing.is_empty() => {
                found.push(subject("privileges").fine("the account has all that are needed"));
            }
            // Which are missing is said where the conditions are.
            Ok(Some(_)) => {}
            Ok(None) => found.push(
                subject("privileges").not_checked("the account may not ask what it is allowed"),
            ),
            Err(error) => found.push(subject("privileges").not_checked(error.to_string())),
        }
        found.extend(match self.objections_by_rights(read, resolution).await {
            Ok(objections) => doctor::tags(subject("tags"), &objections),
            Err(error) => vec![subject("tags").not_checked(error.to_string())],
        });
        let read = read.clone().with_template_disk(resolution.image.disk_gib());
        let instances = read.instances(&self.settings.instances).unwrap_or_default();
        found.extend(template(object, &read, &resolution.image, &instances));
        let sizes = instances.hardware.values();
        let needed = sizes.map(|own| needed_space(&read, &resolution.image, own.disk_gib));
        let needed = needed.max().unwrap_or_default();
        let pools = self.pools_room(resolution).await;
        if let Err(error) = &pools {
            found.push(subject("pool").not_checked(error.to_string()));
        }
        for place in &resolution.places {
            let compute = &place.compute;
            let pool = pools.as_ref().ok().and_then(|pools| pools.get(&compute.pool));
            found.extend(pool.and_then(|pool| {
                doctor::pool(subject("pool"), &compute.named.path, pool, &read, &instances)
            }));
            let usable = &place.datastores.usable;
            found.extend(usable.iter().map(|datastore| room(object, datastore, needed)));
            let unusable = place.datastores.meant.len() - usable.len();
            if unusable > 0 {
                found.push(subject("datastore").warning(
                    "DatastoreUnusable",
                    &format!(
                        "{unusable} more that spec.datastoreSelector leads to cannot be used from \
                         {}: out of reach, in maintenance or not mounted; mend that, if they are \
                         meant",
                        place.compute.named.path
                    ),
                ));
            }
            for network in &place.networks {
                let named = &network.named;
                let asked = std::slice::from_ref(&named.reference);
                let accessible = self.vim.read(asked, &["summary.accessible"]).await;
                found.push(doctor::network(subject("network"), &named.path, &accessible));
            }
            found.push(match self.vim.list(&place.compute.cluster, "HostSystem", HOSTS).await {
                Ok(hosts) => {
                    let hosts: Vec<Host> = hosts.iter().map(Host::read).collect();
                    doctor::hosts(object, place, &hosts)
                }
                Err(error) => subject("hosts").not_checked(error.to_string()),
            });
        }
        found
    }
}

/// Facts of a fictitious cluster, for a trial text.
fn example_facts(read: &NodeClass) -> Facts {
    let type_ = read.spec.user_data.as_ref().and_then(|own| own.type_.as_deref());
    let distro = if type_ == Some("talos") { Distro::Talos } else { Distro::Rke2 };
    Facts {
        provider_id: Some(ProviderId::Guest(GuestLookup::Dmi)),
        ..Facts::given(distro, "https://192.0.2.1:9345", "v1.33.0+rke2r1", "example")
    }
}
