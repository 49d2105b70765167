//! The management server itself: what programs hold.

use bytes::Bytes;
use http::{Request, Response};
use joiner_clock::Clock;
use joiner_sim::{
    Answered, NoAnswer, Server, Simulation,
    log::Call as Logged,
    script::ScriptError,
    serve::{ServeError, Serving, serve},
    trouble::{Ending, Sighted, around},
};

use crate::{
    answer::{self, Format},
    commands::{Call, table::Command},
    guest::GuestEvent,
    inventory::{Inventory, InventoryError},
    refusal::Refusal,
    request::Asked,
    trouble::{CloudStackTrouble, Effect},
    world::World,
};

/// A CloudStack management server in the process. Clones are the same one.
#[derive(Clone, Debug)]
pub struct CloudStack(pub(crate) Simulation<World>);

/// Something that a client should not have sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The command.
    pub command: String,
    /// The parameter, as it was sent.
    pub parameter: String,
    /// What is wrong with it.
    pub problem: String,
}

impl CloudStack {
    /// A server that looks after what is described, by this clock.
    pub fn new(inventory: Inventory, clock: Clock) -> Result<Self, InventoryError> {
        let world = World::new(inventory, &clock)?;
        Ok(Self(Simulation::new(world, clock)))
    }

    /// Tells a listener what happens to guests from now on. Things happen when they are due while
    /// this server [runs](Self::run), and at the next call otherwise.
    pub fn on_guest(&self, hook: impl Fn(&GuestEvent) + Send + Sync + 'static) {
        self.0.on_event(hook);
    }

    /// Lets everything happen when it is due. Never ends.
    pub async fn run(&self) {
        self.0.run().await;
    }

    /// Serves it on a free port of the loopback interface, in plain text or with a self-signed
    /// certificate. The API is under `/client/api`.
    pub async fn serve(&self, tls: bool) -> Result<Serving, ServeError> {
        serve(self.clone(), tls.then_some("cloudstack.example")).await
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        let asked = match Asked::read(&request) {
            Ok(asked) => asked,
            Err(problem) => {
                let answered = self.look(|world| answer::not_api(problem, world.server_time()));
                self.note(request.uri().path(), None, &answered.outcome);
                return Ok(answered.response);
            }
        };
        let command = asked.value("command").unwrap_or_default().to_owned();
        let effect = self.look(|world| {
            let names = ["name", "id", "resourceids", "jobid"];
            let names = names.iter().filter_map(|name| asked.value(name)).map(str::to_owned);
            let names = names.collect();
            world.trouble.strike(&Sighted { call: &command, names })
        });
        let trouble = match &effect {
            Some(Effect::Cloud(trouble)) => Some(trouble.clone()),
            _ => None,
        };
        let no_job = trouble == Some(CloudStackTrouble::NoJob);
        let truly = async || self.look(|world| world.answer(&asked, trouble));
        let mut ending = around(effect.as_ref(), self.0.clock(), truly).await;
        if let (true, Ending::Answer(Answered { outcome, .. })) = (no_job, &ending)
            && outcome == "ok"
        {
            ending = Ending::Lost { after: true };
        }
        self.note(&command, asked.value("apikey"), ending.outcome());
        ending.arrive().await
    }

    fn note(&self, command: &str, api_key: Option<&str>, outcome: &str) {
        self.look(|world| {
            let account = world
                .estate
                .accounts
                .values()
                .find(|account| api_key.is_some_and(|key| key == account.api_key));
            let caller = account.map(|account| account.name.clone()).unwrap_or_default();
            world.log.push(Logged {
                at: world.agenda.now(),
                method: command.to_owned(),
                object: String::new(),
                caller,
                outcome: outcome.to_owned(),
            });
        });
    }

    /// Looks at the world as it is now.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        self.0.look(look)
    }

    /// Lets things go wrong as a script says, besides what goes wrong already. The words are those
    /// of `docs/sim-cloudstack.md`.
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

    /// How many times a command was sent.
    pub fn count(&self, command: &str) -> u64 {
        self.look(|world| world.log.count(command))
    }

    /// What clients sent that commands do not have, oldest first. A test of a client fails on any.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.look(|world| world.complaints.clone())
    }
}

impl Server for CloudStack {
    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        CloudStack::answer(self, request).await
    }
}

impl World {
    fn answer(&mut self, asked: &Asked, trouble: Option<CloudStackTrouble>) -> Answered {
        let now = self.server_time();
        let json = asked.value("response").is_some_and(|it| it.eq_ignore_ascii_case("json"));
        let format = if json { Format::Json } else { Format::Xml };
        let command = asked.value("command").and_then(|name| self.commands.find(name)).cloned();
        let Some(command) = command else {
            return answer::refused(None, &Refusal::unauthorized(), format, now);
        };
        let envelope = command.envelope();
        match self.carry_out(asked, command, trouble) {
            Ok(body) => answer::succeeded(&envelope, &body, format, now),
            Err(refusal) => answer::refused(Some(&envelope), &refusal, format, now),
        }
    }

    fn carry_out(
        &mut self,
        asked: &Asked,
        command: Command,
        trouble: Option<CloudStackTrouble>,
    ) -> Result<serde_json::Value, Refusal> {
        self.refuse_wrong_method(asked, &command)?;
        let caller = self.authenticate(asked)?;
        self.admit(caller, &command)?;
        let given = self.read(&command, asked)?;
        let page = crate::commands::page(&given, self.behaviour.page_size_max)?;
        if let Some(CloudStackTrouble::Fail { code, text }) = trouble {
            return Err(Refusal::plain(code, text));
        }
        let no_job = trouble == Some(CloudStackTrouble::NoJob);
        let job_trouble = match trouble {
            Some(CloudStackTrouble::Job(trouble)) => Some(trouble),
            _ => None,
        };
        let is_get = asked.is_get;
        self.run(&Call { command, caller, given, page, is_get, job_trouble, no_job })
    }
}
