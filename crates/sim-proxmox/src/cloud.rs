//! The cluster itself: what programs hold.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, header};
use joiner_clock::Clock;
use joiner_sim::{
    Answered, KeepAlive, NoAnswer, Server, Simulation,
    log::Call as Logged,
    script::ScriptError,
    serve::{ServeError, Serving, serve},
    trouble::{Sighted, around},
};
use serde_json::Value;

use crate::{
    answer,
    calls::Reply,
    guest::GuestEvent,
    inventory::{Inventory, InventoryError},
    refusal::Refusal,
    request::Asked,
    task::{Task, TaskNumber},
    trouble::{Effect, ProxmoxTrouble},
    world::World,
};

/// How long a connection may be idle, and how many requests it carries.
const KEEP_ALIVE: KeepAlive =
    KeepAlive { idle: Some(Duration::from_secs(5)), requests: Some(100), ends_after_errors: true };

/// A Proxmox VE cluster in the process. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Proxmox(pub(crate) Simulation<World>);

/// Something that a client should not have sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The endpoint: its method and its path.
    pub endpoint: String,
    /// The parameter, as it was sent.
    pub parameter: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Proxmox {
    /// A cluster that looks after what is described, by this clock.
    pub fn new(inventory: Inventory, clock: Clock) -> Result<Self, InventoryError> {
        let world = World::new(inventory, &clock)?;
        Ok(Self(Simulation::new(world, clock)))
    }

    /// Tells a listener what happens to guests from now on. Things happen when they are due while
    /// this cluster [runs](Self::run), and at the next call otherwise.
    pub fn on_guest(&self, hook: impl Fn(&GuestEvent) + Send + Sync + 'static) {
        self.0.on_event(hook);
    }

    /// Lets everything happen when it is due. Never ends.
    pub async fn run(&self) {
        self.0.run().await;
    }

    /// Serves it on a free port of the loopback interface, in plain text or with a self-signed
    /// certificate. The API is under `/api2/json`. Connections close as those of a real server do.
    pub async fn serve(&self, tls: bool) -> Result<Serving, ServeError> {
        serve(self.clone(), tls.then_some("proxmox.example")).await
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        let asked = match Asked::read(&request) {
            Ok(asked) => asked,
            Err(refusal) => {
                let style = self.look(|world| world.behaviour.errors);
                return Ok(answer::refused(&refusal, style).response);
            }
        };
        let (effect, endpoint) = self.look(|world| {
            let found = world.schema.find(&asked.method, &asked.path);
            let (call, endpoint, mut names) = match found {
                Some((endpoint, names)) => {
                    let title = format!("{} {}", endpoint.method, endpoint.path);
                    (endpoint.name.clone(), title, names.into_values().collect::<Vec<_>>())
                }
                None => (String::new(), format!("{} {}", asked.method, asked.path), Vec::new()),
            };
            names.extend(asked.parameters.values().filter(|it| it.len() <= 64).cloned());
            (world.trouble.strike(&Sighted { call: &call, names }), endpoint)
        });
        let trouble = match &effect {
            Some(Effect::Cloud(trouble)) => Some(trouble.clone()),
            _ => None,
        };
        let truly = async || self.carry_out(&asked, trouble).await;
        let ending = around(effect.as_ref(), self.0.clock(), truly).await;
        self.look(|world| {
            let caller = asked.header(header::AUTHORIZATION).and_then(|it| it.split('=').nth(1));
            world.log.push(Logged {
                at: world.agenda.now(),
                method: endpoint,
                object: asked.path.clone(),
                caller: caller.unwrap_or_default().to_owned(),
                outcome: ending.outcome().to_owned(),
            });
        });
        ending.arrive().await
    }

    async fn carry_out(&self, asked: &Asked, trouble: Option<ProxmoxTrouble>) -> Answered {
        let reply = self.look(|world| world.answer(asked, trouble));
        let ended = match reply {
            Ok(Reply::Done(data)) => Ok(data),
            Ok(Reply::Task(task)) => {
                Ok(self.look(|world| world.tasks.all[&task].upid.clone().into()))
            }
            Ok(Reply::Await { task, limit }) => self.wait(task, limit).await,
            Err(refusal) => Err(refusal),
        };
        let (style, delay) =
            self.look(|world| (world.behaviour.errors, world.behaviour.durations.unauthorized));
        match ended {
            Ok(data) => answer::succeeded(&data),
            Err(refusal) => {
                if refusal.status == 401 {
                    self.0.clock().sleep(delay).await;
                }
                answer::refused(&refusal, style)
            }
        }
    }

    /// Waits for a task, as long as the limit says: nothing if it is done by then, else its id.
    async fn wait(&self, task: TaskNumber, limit: Option<Duration>) -> Result<Value, Refusal> {
        let until = limit.map(|limit| self.look(|world| world.agenda.now()) + limit);
        loop {
            let changed = self.0.changed();
            let (ended, due, upid) = self.look(|world| {
                let now = world.agenda.now();
                let task = &world.tasks.all[&task];
                let left = until.map(|until| until.saturating_sub(now));
                let due = [world.agenda.next_due(), left].into_iter().flatten().min();
                let late = left == Some(Duration::ZERO);
                let upid = late.then(|| task.upid.clone());
                (task.ended.clone().map(|(_, status)| status), due, upid)
            });
            match (ended, upid) {
                (Some(status), _) if Task::is_ok(&status) => return Ok(Value::Null),
                (Some(status), _) => return Err(Refusal::failed(status)),
                (None, Some(upid)) => return Ok(upid.into()),
                (None, None) => self.0.until_change(changed, due).await,
            }
        }
    }

    /// Looks at the world as it is now.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        self.0.look(look)
    }

    /// Lets things go wrong as a script says, besides what goes wrong already. The words are those
    /// of `docs/sim-proxmox.md`.
    pub fn trouble(&self, script: &str) -> Result<(), ScriptError> {
        self.look(|world| world.trouble.add(script))
    }

    /// Nothing that a script said goes wrong any more.
    pub fn calm(&self) {
        self.look(|world| world.trouble.clear());
    }

    /// How many times something went wrong because a script said so.
    pub fn troubled(&self) -> u32 {
        self.look(|world| world.trouble.happened())
    }

    /// All calls that were answered or lost, oldest first.
    pub fn calls(&self) -> Vec<Logged> {
        self.look(|world| world.log.calls())
    }

    /// How many times an endpoint was called, such as `GET /cluster/resources` or
    /// `POST /nodes/{node}/qemu/{vmid}/clone`.
    pub fn count(&self, endpoint: &str) -> u64 {
        self.look(|world| world.log.count(endpoint))
    }

    /// Parameters that endpoints refused, oldest first. A test of a client fails on any.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.look(|world| world.complaints.clone())
    }
}

impl Server for Proxmox {
    fn keep_alive(&self) -> KeepAlive {
        KEEP_ALIVE
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        Proxmox::answer(self, request).await
    }
}
