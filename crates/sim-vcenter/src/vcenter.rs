//! The vCenter itself: what programs hold.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use joiner_clock::Clock;
use joiner_sim::{
    Answered, NoAnswer, Server, Simulation, World as _,
    log::{Call as Logged, Log},
    script::ScriptError,
    serve::{ServeError, Serving, serve},
    trouble::{Sighted, Trouble, around},
};

use crate::{
    fault::Fault,
    guest::GuestEvent,
    inventory::{Inventory, InventoryError},
    methods::wrap,
    rest::{self, Ask},
    soap::{self, Call, Inside},
    trouble::{Effect, VCenterTrouble},
    world::World,
};

/// A vCenter in the process. Clones are the same one.
#[derive(Clone, Debug)]
pub struct VCenter(Simulation<World>);

/// What was asked.
enum Asked {
    Soap(Result<Call, String>),
    /// Something about storage policies.
    Policies(Result<Call, String>),
    Rest(Ask),
    Versions,
    Nothing,
}

impl VCenter {
    /// A vCenter that looks after what is described, by this clock.
    pub fn new(inventory: Inventory, clock: Clock) -> Result<Self, InventoryError> {
        let world = World::new(inventory, &clock)?;
        Ok(Self(Simulation::new(world, clock)))
    }

    /// Sets the receiver of guest events. Events happen on time while this vCenter [runs](Self::run),
    /// and at the next call otherwise.
    pub fn on_guest(&self, hook: impl Fn(&GuestEvent) + Send + Sync + 'static) {
        self.0.on_event(hook);
    }

    /// Lets everything happen when it is due. Never ends.
    pub async fn run(&self) {
        self.0.run().await;
    }

    /// Serves this vCenter on any free port of the loopback interface, in plain text or with a
    /// self-signed certificate.
    pub async fn serve(&self, tls: bool) -> Result<Serving, ServeError> {
        serve(self.clone(), tls.then_some("vcenter.example")).await
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        let asked = match path {
            "/sdk" | "/sdk/" => Asked::Soap(Call::read(&head.headers, &body)),
            "/pbm" | "/pbm/" => Asked::Policies(Call::read(&head.headers, &body)),
            "/sdk/vimServiceVersions.xml" => Asked::Versions,
            _ if path.starts_with(rest::ROOT) || path.starts_with(rest::MODULES) => {
                Asked::Rest(Ask::read(&head.method, &head.uri, &head.headers, body))
            }
            _ => Asked::Nothing,
        };
        let method = match &asked {
            Asked::Soap(Ok(call)) | Asked::Policies(Ok(call)) => call.element.name.clone(),
            Asked::Soap(Err(_)) | Asked::Policies(Err(_)) => "unreadable".to_owned(),
            _ => {
                let path = head.uri.path_and_query().map_or(path, |all| all.as_str());
                format!("{} {path}", head.method)
            }
        };
        let effect = self.look(|world| {
            let names = match &asked {
                Asked::Soap(Ok(call)) => call.object_names(world),
                _ => Vec::new(),
            };
            let effect = world.trouble.strike(&Sighted { call: &method, names });
            if effect == Some(Effect::Cloud(VCenterTrouble::ExpireSessions)) {
                world.sessions.expire_all();
                world.forget_ended_sessions();
            }
            effect
        });
        let trouble = match &effect {
            Some(Effect::Cloud(trouble)) => Some(trouble),
            _ => None,
        };
        let truly = || self.answer_truly(&asked, trouble);
        let ending = around(effect.as_ref(), self.0.clock(), truly).await;
        self.note(&asked, method, ending.outcome().to_owned());
        ending.arrive().await
    }

    async fn answer_truly(&self, asked: &Asked, trouble: Option<&VCenterTrouble>) -> Answered {
        match asked {
            Asked::Soap(Err(problem)) | Asked::Policies(Err(problem)) => soap::unreadable(problem),
            Asked::Policies(Ok(call)) => {
                let fault = match trouble {
                    Some(VCenterTrouble::Fault(fault)) => Some(fault.clone()),
                    _ => None,
                };
                self.look(|world| world.answer_policies(call, fault))
            }
            Asked::Soap(Ok(call)) => {
                let inside = match trouble {
                    Some(VCenterTrouble::Fault(fault)) => {
                        Inside { fault: Some(fault.clone()), ..Inside::default() }
                    }
                    Some(VCenterTrouble::Task(task)) => {
                        Inside { task: Some(task.clone()), ..Inside::default() }
                    }
                    Some(VCenterTrouble::AllMissing) => {
                        Inside { all_missing: true, ..Inside::default() }
                    }
                    Some(VCenterTrouble::ExpireSessions) | None => Inside::default(),
                };
                if call.element.name == "WaitForUpdatesEx" && inside.fault.is_none() {
                    self.wait_for_updates(call).await
                } else {
                    self.look(|world| world.answer_soap(call, inside))
                }
            }
            Asked::Rest(ask) => self.look(|world| world.answer_rest(ask)),
            Asked::Versions => {
                let response = self.look(|world| soap::versions(world));
                Answered { response, outcome: "ok".to_owned() }
            }
            Asked::Nothing => soap::unavailable(404),
        }
    }

    /// Waits until there is something to tell, for as long as the client wants to.
    async fn wait_for_updates(&self, call: &Call) -> Answered {
        let options = call.element.child("options");
        let number = |name| options.and_then(|options| options.parse::<u64>(name));
        let patience = number("maxWaitSeconds").map(Duration::from_secs);
        let updates_max = number("maxObjectUpdates").filter(|max| *max > 0);
        let updates_max = updates_max.map_or(usize::MAX, |max| max as usize);
        let version = call.element.text_of("version").unwrap_or_default();
        let started = self.0.clock().running();
        let mut cancelled = None;
        loop {
            let changed = self.0.changed();
            let looked = self.look(|world| {
                let viewer = world.admit(call)?;
                let collector = world.present(call.element.child("_this"));
                let collector = collector.map_err(|fault| soap::failed(&fault))?;
                let times = world.collectors.cancelled(collector, &viewer.session);
                if *cancelled.get_or_insert(times) != times {
                    let message = "The wait was cancelled.";
                    return Err(soap::failed(&Fault::new("RequestCanceled", message)));
                }
                let updates = world.updates(&viewer, collector, version, updates_max);
                let updates = updates.map_err(|fault| soap::failed(&fault))?;
                Ok((updates, world.next_due()))
            });
            let (updates, due) = match looked {
                Ok(looked) => looked,
                Err(refusal) => return refusal,
            };
            if let Some(updates) = updates {
                return soap::succeeded("WaitForUpdatesEx", &wrap(&updates));
            }
            let left = patience
                .map(|patience| (started + patience).saturating_sub(self.0.clock().running()));
            if left.is_some_and(|left| left.is_zero()) {
                return soap::succeeded("WaitForUpdatesEx", "");
            }
            let due = [left, due].into_iter().flatten().min();
            self.0.until_change(changed, due).await;
        }
    }

    fn note(&self, asked: &Asked, method: String, outcome: String) {
        let (object, session) = match asked {
            Asked::Soap(Ok(call)) => (call.object(), call.session.clone()),
            Asked::Policies(Ok(call)) => (call.object(), call.session_in_envelope.clone()),
            Asked::Rest(ask) => (String::new(), ask.session.clone()),
            _ => (String::new(), None),
        };
        self.look(|world| {
            let caller = session.unwrap_or_default();
            let at = world.agenda.now();
            world.log.push(Logged { at, method, object, caller, outcome });
        });
    }

    /// Looks at the world as it is now, and tells what came of that.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        self.0.look(look)
    }

    /// Lets things go wrong as a script says, besides what goes wrong already. The words are those
    /// of `docs/sim-vcenter.md`.
    pub fn trouble(&self, script: &str) -> Result<(), ScriptError> {
        self.look(|world| world.trouble.add(script))
    }

    /// Nothing that a script said goes wrong any more.
    pub fn calm(&self) {
        self.look(|world| Trouble::clear(&mut world.trouble));
    }

    /// How many times something went wrong because a script said so.
    pub fn troubled(&self) -> u32 {
        self.look(|world| world.trouble.happened())
    }

    /// All calls that were answered or lost, oldest first.
    pub fn calls(&self) -> Vec<Logged> {
        self.look(|world| Log::calls(&world.log))
    }

    /// How many times a method was called; for REST, the verb, the path and the query.
    pub fn count(&self, method: &str) -> u64 {
        self.look(|world| world.log.count(method))
    }
}

impl Server for VCenter {
    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        VCenter::answer(self, request).await
    }
}
