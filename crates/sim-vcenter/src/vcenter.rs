//! The vCenter itself: what programs hold.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use joiner_clock::Clock;
use tokio::sync::Notify;

use crate::{
    fault::Fault,
    guest::GuestEvent,
    inventory::{Inventory, InventoryError},
    log::{Call as Logged, Log},
    methods::wrap,
    rest::{self, Ask},
    soap::{self, Answered, Call, Inside},
    trouble::{Effect, Sighted, Trouble, TroubleError},
    world::World,
};

/// A vCenter in the process. Clones are the same one.
#[derive(Clone, Debug)]
pub struct VCenter(Arc<Inner>);

struct Inner {
    world: Mutex<World>,
    clock: Clock,
    /// Wakes those who wait for something to change.
    changed: Notify,
    hook: Mutex<Option<GuestHook>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VCenter").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// Who is told what happens to guests.
pub type GuestHook = Arc<dyn Fn(&GuestEvent) + Send + Sync>;

/// The connection broke before an answer came. Whether the call took effect is not known to who
/// made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke before an answer came")]
pub struct NoAnswer;

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
        let world = Mutex::new(World::new(inventory, &clock)?);
        let (changed, hook) = (Notify::new(), Mutex::default());
        Ok(Self(Arc::new(Inner { world, clock, changed, hook })))
    }

    /// Tells somebody what happens to guests from now on. Things happen when they are due while
    /// somebody [runs](Self::run) this vCenter, and at the next call otherwise.
    pub fn on_guest(&self, hook: impl Fn(&GuestEvent) + Send + Sync + 'static) {
        *lock(&self.0.hook) = Some(Arc::new(hook));
    }

    /// Lets everything happen when it is due. Never ends.
    pub async fn run(&self) {
        loop {
            let changed = self.0.changed.notified();
            let due = self.look(|world| world.next_due());
            self.until_change(changed, due).await;
        }
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
            let effect = world.trouble.strike(&Sighted { method: &method, names });
            if effect == Some(Effect::ExpireSessions) {
                world.sessions.expire_all();
                world.forget_ended_sessions();
            }
            effect
        });
        let answered = match &effect {
            Some(Effect::Http(status)) => Ok(soap::unavailable(*status)),
            Some(Effect::Lost { after: false }) => Err("lost, no effect"),
            Some(Effect::Silence { after: false }) => Err("silence, no effect"),
            effect => {
                if let Some(Effect::Slow(delay)) = effect {
                    self.0.clock.sleep(*delay).await;
                }
                let answered = self.answer_truly(&asked, effect.as_ref()).await;
                match effect {
                    Some(Effect::Lost { .. }) => Err("lost, took effect"),
                    Some(Effect::Silence { .. }) => Err("silence, took effect"),
                    _ => Ok(answered),
                }
            }
        };
        let outcome = match &answered {
            Ok(answered) => answered.outcome.clone(),
            Err(why) => (*why).to_owned(),
        };
        self.note(&asked, method, outcome);
        match (answered, effect) {
            (Ok(answered), _) => Ok(answered.response),
            (Err(_), Some(Effect::Silence { .. })) => std::future::pending().await,
            (Err(_), _) => Err(NoAnswer),
        }
    }

    async fn answer_truly(&self, asked: &Asked, effect: Option<&Effect>) -> Answered {
        match asked {
            Asked::Soap(Err(problem)) | Asked::Policies(Err(problem)) => soap::unreadable(problem),
            Asked::Policies(Ok(call)) => {
                let fault = match effect {
                    Some(Effect::Fault(fault)) => Some(fault.clone()),
                    _ => None,
                };
                self.look(|world| world.answer_policies(call, fault))
            }
            Asked::Soap(Ok(call)) => {
                let inside = match effect {
                    Some(Effect::Fault(fault)) => {
                        Inside { fault: Some(fault.clone()), ..Inside::default() }
                    }
                    Some(Effect::Task(task)) => {
                        Inside { task: Some(task.clone()), ..Inside::default() }
                    }
                    Some(Effect::AllMissing) => Inside { all_missing: true, ..Inside::default() },
                    _ => Inside::default(),
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
        let started = self.0.clock.running();
        let mut cancelled = None;
        loop {
            let changed = self.0.changed.notified();
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
                .map(|patience| (started + patience).saturating_sub(self.0.clock.running()));
            if left.is_some_and(|left| left.is_zero()) {
                return soap::succeeded("WaitForUpdatesEx", "");
            }
            let due = [left, due].into_iter().flatten().min();
            self.until_change(changed, due).await;
        }
    }

    /// Waits until something was changed, or until something is due.
    async fn until_change(&self, changed: impl Future<Output = ()>, due: Option<Duration>) {
        let time = async {
            match due {
                Some(due) => self.0.clock.sleep(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = changed => {}
            () = time => {}
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
            let session = session.unwrap_or_default();
            let at = world.now;
            world.log.push(Logged { at, method, object, session, outcome });
        });
    }

    /// Looks at the world as it is now, and tells what came of that.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        let (result, changed, events) = {
            let mut world = lock(&self.0.world);
            let before = world.changes.now();
            world.catch_up(&self.0.clock);
            let result = look(&mut world);
            (result, world.changes.now() != before, std::mem::take(&mut world.guest_events))
        };
        if changed {
            self.0.changed.notify_waiters();
        }
        if !events.is_empty() {
            let hook = lock(&self.0.hook).clone();
            for event in events {
                if let Some(hook) = &hook {
                    hook(&event);
                }
            }
        }
        result
    }

    /// Lets things go wrong as a script says, besides what goes wrong already. The words are those
    /// of `docs/sim-vcenter.md`.
    pub fn trouble(&self, script: &str) -> Result<(), TroubleError> {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl tower_service::Service<Request<Bytes>> for VCenter {
    type Response = Response<Bytes>;
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, NoAnswer>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoAnswer>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let vcenter = self.clone();
        Box::pin(async move { vcenter.answer(request).await })
    }
}
