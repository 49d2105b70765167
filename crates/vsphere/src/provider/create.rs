//! Making a machine.
//!
//! Whatever happened before, a creation begins by looking for the claim's machine and goes on from
//! what it finds: nothing, a machine that is off, one that runs. So it can be killed anywhere and
//! begun again.

use std::time::Duration;

use joiner_cloud::{CloudError, choice, machine::Machine, order::Order};
use joiner_core::{
    label,
    resources::{CPU, MEMORY},
};
use joiner_vim::{Fault, Method, MoRef, TaskFailed, VimError};

use super::{Inner, look::Found, state::ClassMemory, troubles::unanswered};
use crate::{
    NODE_CLASS_KIND,
    choose::by_room,
    clone_spec::{Copying, Making, clone_spec},
    faults::{Outcome, Phase, outcome},
    inventory::{DATASTORES, Datastore, Paths},
    limiter::Ending,
    marks::Mark,
    names,
    node_class::NodeClass,
    places::{Place, Resolution},
    tags,
    unavailable::Wanting,
    user_data::{self, Recipient},
    vm::{Power, Vm},
};

/// How often a name that is taken is looked at again: it may be our own, on its way.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How long switching a machine on may take.
const POWER_ON_WITHIN: Duration = Duration::from_mins(5);
/// How often trouble in one zone is taken for trouble and not for a want of room, and how often a
/// machine that is stuck is tried before it is made anew.
const TRIES_MAX: u32 = 3;

/// What is made for an order, and of what.
struct Work<'o> {
    order: &'o Order,
    class: &'o NodeClass,
    memory: &'o ClassMemory,
    resolution: &'o Resolution,
    name: String,
}

/// Why one way to make a machine has come to nothing.
enum Refused {
    /// Another type or zone may do.
    NoRoom(String),
    /// Another datastore may do.
    NoSpace(String),
    /// What the class names has gone.
    Stale(String),
    /// Nothing else will do now.
    Final(CloudError),
}

impl From<CloudError> for Refused {
    fn from(error: CloudError) -> Self {
        Self::Final(error)
    }
}

impl Inner {
    pub(super) async fn create(&self, order: &Order) -> Result<Machine, CloudError> {
        let class = self.read_class(&order.class)?;
        if let Some(problem) = class.problems(&self.settings.machines).first() {
            return Err(CloudError::NodeClassNotReady(format!(
                "{NODE_CLASS_KIND} {:?} is not ready: {problem}",
                class.name()
            )));
        }
        match self.create_once(order, &class).await {
            Err(Refused::Stale(why)) => {
                tracing::info!(
                    class = class.name(),
                    "looking anew for what the class names: {why}"
                );
                self.invalidate(class.name()).await;
                match self.create_once(order, &class).await {
                    Err(Refused::Stale(why)) => Err(CloudError::NodeClassNotReady(format!(
                        "{NODE_CLASS_KIND} {:?} names something that has gone: {why}",
                        class.name()
                    ))),
                    other => other.map_err(Refused::told),
                }
            }
            other => other.map_err(Refused::told),
        }
    }

    async fn create_once(&self, order: &Order, class: &NodeClass) -> Result<Machine, Refused> {
        let resolution = self.resolution(&order.class, class).await?;
        let class = class.clone().with_template_disk(resolution.image.disk_gib());
        let memory = self.class_memory(&order.class, &class)?;
        let name = names::machine(&self.settings.cluster, &order.claim.name);
        let work = Work { order, class: &class, memory: &memory, resolution: &resolution, name };
        match self.find_own(&work).await? {
            Found::Own(vm) => return self.finish(&work, *vm).await,
            Found::Foreign(vm) => return Err(name_taken(&work, &vm).into()),
            Found::Nothing => {}
        }
        let machine = self.make_somehow(&work).await?;
        Ok(machine)
    }

    async fn find_own(&self, work: &Work<'_>) -> Result<Found, CloudError> {
        let places = &work.resolution.places;
        let mut folders: Vec<String> = places.iter().map(|own| own.folder.path.clone()).collect();
        folders.sort();
        folders.dedup();
        let found = self.find(&work.order.claim, &folders).await;
        found.map_err(unanswered("looking for the claim's machine"))
    }

    /// Tries every way to make the machine, the cheapest first, until one is had.
    async fn make_somehow(&self, work: &Work<'_>) -> Result<Machine, Refused> {
        let types = self.offered(work.class.name(), &work.memory.types);
        let mut choices: Vec<choice::Choice<'_>> =
            choice::every(work.order, &types, &Self::well_known()).collect();
        choices.sort_by(|a, b| {
            let size = |choice: &choice::Choice<'_>| {
                let capacity = &choice.instance_type.capacity;
                (capacity.get(CPU), capacity.get(MEMORY))
            };
            (a.offering.price.total_cmp(&b.offering.price))
                .then_with(|| size(a).cmp(&size(b)))
                .then_with(|| a.instance_type.name.cmp(&b.instance_type.name))
        });
        let mut refusals: Vec<String> = Vec::new();
        for choice in &choices {
            let labels = choice.labels();
            let zone = labels.get(label::ZONE).map(String::as_str);
            let Some(place) = work.resolution.place(zone) else {
                refusals.push(format!("zone {zone:?} is not among spec.zones"));
                continue;
            };
            for datastore in self.datastores(place).await? {
                match self.make(work, choice, place, &datastore).await {
                    Ok(machine) => return Ok(machine),
                    Err(Refused::NoSpace(why)) => {
                        let space = Wanting::Space(datastore.named.reference.clone());
                        self.state().unavailable.remember(space, self.now());
                        refusals.push(why);
                    }
                    Err(Refused::NoRoom(why)) => {
                        let room = Wanting::Room {
                            class: work.class.name().to_owned(),
                            instance_type: choice.instance_type.name.clone(),
                            zone: zone.unwrap_or_default().to_owned(),
                        };
                        self.state().unavailable.remember(room, self.now());
                        refusals.push(why);
                        break;
                    }
                    Err(other) => return Err(other),
                }
            }
        }
        let why = if refusals.is_empty() {
            "no size of the class serves the claim and can be had now".to_owned()
        } else {
            refusals.join("; ")
        };
        Err(CloudError::InsufficientCapacity(format!(
            "NodeClaim {} has no place in {NODE_CLASS_KIND} {:?}: {why}",
            work.order.claim.name,
            work.class.name()
        ))
        .into())
    }

    /// The datastores of a place that may have space, the one with most of it first.
    async fn datastores(&self, place: &Place) -> Result<Vec<Datastore>, CloudError> {
        let now = self.now();
        let mut left = place.datastores.usable.clone();
        left.retain(|own| {
            let space = Wanting::Space(own.named.reference.clone());
            !self.state().unavailable.is(&space, now)
        });
        if left.len() > 1 {
            let references: Vec<MoRef> =
                left.iter().map(|own| own.named.reference.clone()).collect();
            let read = self.vim.read(&references, DATASTORES).await;
            let read = read.map_err(unanswered("looking for space in datastores"))?;
            for object in &read {
                let fresh = Datastore::read(object, &Paths::default());
                let own = left.iter_mut().find(|own| own.named.reference == object.reference);
                if let Some(own) = own {
                    (own.usable, own.free) = (fresh.usable, fresh.free);
                }
            }
            left.retain(|own| own.usable);
            by_room(&mut left);
        }
        Ok(left)
    }

    /// Makes the machine in one way.
    async fn make(
        &self,
        work: &Work<'_>,
        choice: &choice::Choice<'_>,
        place: &Place,
        datastore: &Datastore,
    ) -> Result<Machine, Refused> {
        let image = &work.resolution.image;
        let mark = self.mark(work, choice, place);
        let hardware = work.memory.hardware.get(&choice.instance_type.name).copied();
        let hardware = hardware.ok_or_else(|| {
            CloudError::Unknown(format!("type {:?} has no hardware", choice.instance_type.name))
        })?;
        let copying = Copying::choose(work.class, image, hardware.disk_gib)
            .map_err(|error| CloudError::NodeClassNotReady(error.message))?;
        let recipient = Recipient {
            node_name: &work.name,
            instance_type: choice.instance_type,
            token: work.order.inputs.token.clone(),
            order: Some(work.order),
        };
        let facts = work.order.inputs.class.joining.as_ref().ok_or_else(|| CloudError::Create {
            reason: "BootstrapNotReady",
            message: format!(
                "it is not known what machines of {NODE_CLASS_KIND} {:?} join with; see its \
                 condition BootstrapReady",
                work.class.name()
            ),
        })?;
        let text = user_data::text(work.class, facts, &recipient);
        let text = text.map_err(|error| CloudError::NodeClassNotReady(error.to_string()))?;
        let guestinfo = user_data::guestinfo(&text, &work.name, &mark.claim.uid);
        let spec = clone_spec(&Making {
            class: work.class,
            template: image,
            copying: &copying,
            folder: &place.folder.reference,
            pool: &place.compute.pool,
            datastore: &datastore.named.reference,
            network: &place.network,
            hardware,
            mark: &mark,
            guestinfo: &guestinfo,
        });
        let clone = Method::Clone {
            folder: place.folder.reference.clone(),
            name: work.name.clone(),
            spec: Box::new(spec),
        };
        let vm = self.cloned(work, &copying, clone).await?;
        self.finish(work, vm).await
    }

    fn mark(&self, work: &Work<'_>, choice: &choice::Choice<'_>, place: &Place) -> Mark {
        let mut labels = choice.labels();
        if let Some(region) = &place.region {
            labels.entry(label::REGION.to_owned()).or_insert_with(|| region.clone());
        }
        let own = |key: &str| labels.get(key).cloned().unwrap_or_default();
        Mark {
            cluster: self.settings.cluster.clone(),
            claim: work.order.claim.clone(),
            pool: work.order.node_pool.clone().unwrap_or_default(),
            class: work.class.name().to_owned(),
            class_hash: work.class.hash().to_owned(),
            instance_type: choice.instance_type.name.clone(),
            zone: own(label::ZONE),
            region: own(label::REGION),
            image: work.resolution.image.instance_uuid.clone(),
            made_here: true,
            labels,
        }
    }

    /// Has the template cloned and answers the clone.
    async fn cloned(
        &self,
        work: &Work<'_>,
        copying: &Copying,
        clone: Method,
    ) -> Result<Vm, Refused> {
        let image = &work.resolution.image;
        let host = image.details.host.as_ref().unwrap_or(&image.named.reference);
        let limits = &self.settings.limits;
        let (kind, limit) = match copying {
            Copying::Full => ("full clones", limits.full_clones),
            Copying::Linked(_) => ("linked clones", limits.linked_clones),
        };
        let since = self.clock.running();
        let pass = self.gates.pass(&format!("{kind} of {host}"), limit).await;
        // Somebody may have been quicker while this one waited.
        if self.clock.running() > since
            && let Found::Own(vm) = self.find_own(work).await?
        {
            return Ok(*vm);
        }
        let uid = work.order.claim.uid.clone();
        let ended = match self.vim.start(&image.named.reference, clone).await {
            Ok(task) => {
                self.state().clones.insert(uid.clone(), task.clone());
                let ended = self.vim.wait(&task, self.settings.launch_timeout).await;
                self.state().clones.remove(&uid);
                ended.map(|_| ())
            }
            Err(VimError::Fault(fault)) => Err(TaskFailed::Fault(fault)),
            Err(error) => {
                return Err(unanswered("asking for a clone")(error).into());
            }
        };
        let judged = match &ended {
            Err(TaskFailed::Fault(fault)) => Some(outcome(fault, Phase::Clone)),
            _ => None,
        };
        pass.end(match (&ended, judged) {
            (Ok(()), _) => Ending::Fine,
            (_, Some(Outcome::Throttled)) => Ending::TooMuch,
            _ => Ending::Failed,
        });
        match (ended, judged) {
            (Ok(()) | Err(TaskFailed::Disappeared), _) => self.own_or_unknown(work).await,
            (Err(TaskFailed::Fault(_)), Some(Outcome::NameTaken)) => self.wait_for_name(work).await,
            (Err(TaskFailed::Fault(fault)), Some(judged)) => {
                Err(self.refused(work, &fault, judged, "cloning"))
            }
            (Err(TaskFailed::Deadline(state)), _) => Err(CloudError::Create {
                reason: "CloneTimeout",
                message: format!(
                    "cloning {} for NodeClaim {} is not done after {:?} ({state:?}); it goes on, \
                     and the machine is used once it is there",
                    image.named.path, work.order.claim.name, self.settings.launch_timeout
                ),
            }
            .into()),
            (Err(other), _) => {
                Err(CloudError::Unknown(format!("waiting for a clone: {other}")).into())
            }
        }
    }

    /// The claim's machine, which has to be there.
    async fn own_or_unknown(&self, work: &Work<'_>) -> Result<Vm, Refused> {
        match self.find_own(work).await? {
            Found::Own(vm) => Ok(*vm),
            Found::Foreign(vm) => Err(name_taken(work, &vm).into()),
            Found::Nothing => Err(CloudError::Unknown(format!(
                "virtual machine {:?} was cloned and is not found",
                work.name
            ))
            .into()),
        }
    }

    /// Waits until it is known who has the name: an earlier attempt of this or of another process,
    /// or somebody else.
    async fn wait_for_name(&self, work: &Work<'_>) -> Result<Vm, Refused> {
        let since = self.clock.running();
        loop {
            match self.find_own(work).await? {
                Found::Own(vm) => return Ok(*vm),
                // A machine that is still being cloned has no configuration yet.
                Found::Foreign(vm) if vm.uuid.is_some() => return Err(name_taken(work, &vm).into()),
                Found::Foreign(_) | Found::Nothing => {}
            }
            if self.clock.running().saturating_sub(since) > self.settings.launch_timeout {
                return Err(CloudError::Create {
                    reason: "CloneTimeout",
                    message: format!(
                        "somebody is making virtual machine {:?}, and it is not there after {:?}",
                        work.name, self.settings.launch_timeout
                    ),
                }
                .into());
            }
            self.clock.sleep(LOOK_AGAIN_AFTER).await;
        }
    }

    /// Brings a machine that exists to where it has to be: with its tags on, and running.
    async fn finish(&self, work: &Work<'_>, vm: Vm) -> Result<Machine, Refused> {
        self.put_tags(work, &vm).await?;
        if vm.power != Power::On {
            self.switch_on(work, &vm).await?;
        }
        let read = self.read_machines(std::slice::from_ref(&vm.reference)).await;
        let read = read.map_err(unanswered("looking at the new machine"))?;
        let machine = read.first().and_then(|vm| self.machine(vm)).ok_or_else(|| {
            CloudError::Unknown(format!("virtual machine {:?} cannot be read", work.name))
        })?;
        self.state().forget(&work.order.claim.uid);
        Ok(machine)
    }

    /// Tags a machine. Those that the cloud controller reads when the guest starts have to be there
    /// before it does; others may fail.
    async fn put_tags(&self, work: &Work<'_>, vm: &Vm) -> Result<(), CloudError> {
        let mark = vm.mark.clone().unwrap_or_default();
        let wanted =
            tags::of_machine(&mark, work.class.spec.tags.as_ref(), &self.settings.topology);
        let Err(error) = self.tags.attach(&vm.reference, &wanted).await else { return Ok(()) };
        let what = format!("tagging virtual machine {:?}: {error}", work.name);
        if vm.power != Power::On && wanted.iter().any(|tag| tag.before_boot) {
            return Err(CloudError::Create { reason: "TaggingFailed", message: what });
        }
        tracing::warn!("{what}");
        Ok(())
    }

    /// Switches a machine on. Somebody may be doing the same: then it is enough that it runs.
    async fn switch_on(&self, work: &Work<'_>, vm: &Vm) -> Result<(), Refused> {
        let pass = self.gates.pass("power on", self.settings.limits.power_ons).await;
        let since = self.clock.running();
        let (fault, judged) = loop {
            let ended = match self.vim.start(&vm.reference, Method::PowerOn { host: None }).await {
                Ok(task) => self.vim.wait(&task, POWER_ON_WITHIN).await.map(|_| ()),
                Err(VimError::Fault(fault)) => Err(TaskFailed::Fault(fault)),
                Err(error) => return Err(unanswered("switching a machine on")(error).into()),
            };
            let fault = match ended {
                Ok(()) => return Ok(()),
                Err(TaskFailed::Fault(fault)) => fault,
                Err(other) => {
                    let what = format!("switching a machine on: {other}");
                    return Err(CloudError::Unknown(what).into());
                }
            };
            let judged = outcome(&fault, Phase::Machine);
            let passed = self.clock.running().saturating_sub(since);
            match judged {
                Outcome::Done => return Ok(()),
                Outcome::Busy if passed < POWER_ON_WITHIN => {
                    self.clock.sleep(LOOK_AGAIN_AFTER).await;
                }
                _ => break (fault, judged),
            }
        };
        drop(pass);
        let refused = self.refused(work, &fault, judged, "switching on");
        let tries = self.state().tries.get(&work.order.claim.uid).copied().unwrap_or_default();
        let is_given_up = match judged {
            Outcome::NotReady | Outcome::Invalid | Outcome::Unlicensed => true,
            Outcome::Stuck => tries >= TRIES_MAX,
            _ => matches!(refused, Refused::NoRoom(_) | Refused::NoSpace(_)),
        };
        if is_given_up {
            // Nothing half made may be left for a claim that may be given up.
            self.destroy(vm).await?;
        }
        Err(refused)
    }

    /// What becomes of an order after a fault.
    fn refused(&self, work: &Work<'_>, fault: &Fault, judged: Outcome, doing: &str) -> Refused {
        let claim = &work.order.claim;
        let class = work.class.name();
        let what = format!(
            "{doing} virtual machine {:?} for NodeClaim {}: {fault}",
            work.name, claim.name
        );
        let later = |reason: &'static str| {
            Refused::Final(CloudError::Create { reason, message: what.clone() })
        };
        match judged {
            Outcome::NoRoom => Refused::NoRoom(what),
            Outcome::NoSpace => Refused::NoSpace(what),
            Outcome::Stale => Refused::Stale(what),
            Outcome::Trouble => {
                let tries = self.state().count(&claim.uid);
                if tries >= TRIES_MAX {
                    Refused::NoRoom(what)
                } else {
                    later("CreateInstanceFailed")
                }
            }
            Outcome::Stuck | Outcome::Unknown => {
                let tries = self.state().count(&claim.uid);
                tracing::warn!(tries, fault = %fault.kind, detail = ?fault.detail, "{what}");
                later("CreateInstanceFailed")
            }
            Outcome::NotReady => Refused::Final(CloudError::NodeClassNotReady(format!(
                "{NODE_CLASS_KIND} {class:?} cannot be used: {what}"
            ))),
            Outcome::Invalid => later("InvalidMachine"),
            Outcome::Unlicensed => later("NotEnoughLicenses"),
            Outcome::NameTaken => later("NameConflict"),
            Outcome::Done
            | Outcome::Gone
            | Outcome::Throttled
            | Outcome::Busy
            | Outcome::Canceled => later("CreateInstanceFailed"),
        }
    }
}

impl Refused {
    fn told(self) -> CloudError {
        match self {
            Self::Final(error) => error,
            // A machine that was adopted has no other way to be made in.
            Self::NoRoom(why) | Self::NoSpace(why) => CloudError::InsufficientCapacity(why),
            Self::Stale(why) => CloudError::NodeClassNotReady(why),
        }
    }
}

fn name_taken(work: &Work<'_>, vm: &Vm) -> CloudError {
    CloudError::Create {
        reason: "NameConflict",
        message: format!(
            "virtual machine {:?} ({}) exists and was not made for NodeClaim {}: rename or remove \
             it, or give one of two clusters that share a folder another CLUSTER_NAME",
            work.name, vm.reference, work.order.claim.name
        ),
    }
}
