//! Jobs: what async commands begin, in the clock's time.
//!
//! Jobs about one VM wait for each other. A job is queued, begins, and ends; what it does is its
//! [`Work`].

mod destroy;
mod start;
mod work;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde_json::{Value, json};

pub(crate) use work::Work;

use crate::{
    access::Caller,
    commands::{Call, table::Execution},
    estate::{Kind, Number, is_uuid},
    refusal::{Refusal, code},
    trouble::JobTrouble,
    world::{Due, World},
};

/// What a job has come to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    /// It waits for its turn.
    Queued,
    Running,
    /// It has done its work, and writes the result.
    Ending,
    Succeeded(Value),
    Failed(Refusal),
    /// The server was restarted: the job failed, and has no result.
    Interrupted,
    Cancelled,
}

/// A job.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) account: Number,
    caller: Caller,
    work: Work,
    vm: Option<Number>,
    /// The kind and the id of the object that it is about.
    instance: Option<(&'static str, String)>,
    created: Duration,
    completed: Option<Duration>,
    state: State,
    trouble: Option<JobTrouble>,
}

impl Job {
    pub(crate) fn is_pending(&self) -> bool {
        matches!(self.state, State::Queued | State::Running)
    }

    pub(crate) fn is_about(&self, id: &str) -> bool {
        self.instance.as_ref().is_some_and(|(_, known)| known.eq_ignore_ascii_case(id))
    }

    pub(crate) fn class(&self) -> &'static str {
        self.work.class()
    }
}

/// All jobs.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: BTreeMap<Number, Job>,
    /// The jobs about each VM that are not done, in their order.
    queues: BTreeMap<Number, VecDeque<Number>>,
}

impl Jobs {
    pub(crate) fn get(&self, number: Number) -> Option<&Job> {
        self.jobs.get(&number)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    pub(crate) fn forget(&mut self, number: Number) {
        self.jobs.remove(&number);
    }

    /// The id and the status of the job that a VM is in.
    pub(crate) fn pending_of(&self, vm: Number) -> Option<(String, u32)> {
        let job = self.queues.get(&vm)?.front()?;
        self.jobs.get(job).filter(|job| job.is_pending()).map(|job| (job.id.clone(), 0))
    }

    /// The job that is pending on an object.
    pub(crate) fn pending_on(&self, id: &str) -> Option<Number> {
        let found = self.jobs.iter().find(|(_, job)| job.is_pending() && job.is_about(id));
        found.map(|(number, _)| *number)
    }

    fn pending(&self) -> Vec<Number> {
        let pending = self.jobs.iter().filter(|(_, job)| job.is_pending());
        pending.map(|(number, _)| *number).collect()
    }
}

impl World {
    /// Begins a job, and answers with its id.
    pub(crate) fn submit(
        &mut self,
        call: &Call,
        work: Work,
        vm: Option<Number>,
        instance: Option<(&'static str, &str)>,
    ) -> Result<Value, Refusal> {
        if call.no_job {
            return Ok(json!({}));
        }
        let (number, id) = match call.given.text("customjobid") {
            None => self.estate.identify(Kind::Job),
            Some(id) => {
                if !is_uuid(id) || id != id.to_ascii_lowercase() {
                    let text =
                        format!("Invalid customjobid {id}: a UUID in lower case is expected");
                    return Err(Refusal::value(text));
                }
                if self.estate.knows(id) {
                    return Err(Refusal::value(format!(
                        "job with id {id} already exists so can't create/update with custom id"
                    )));
                }
                (self.estate.register(Kind::Job, id), id.to_owned())
            }
        };
        let instance = instance.map(|(kind, id)| (kind, id.to_owned()));
        let mut answer = json!({ "jobid": id });
        if let (Execution::Create, Some((_, made))) = (call.command.execution, &instance) {
            answer["id"] = made.clone().into();
        }
        let job = Job {
            id,
            account: call.caller.account,
            caller: call.caller,
            work,
            vm,
            instance,
            created: self.agenda.now(),
            completed: None,
            state: State::Queued,
            trouble: call.job_trouble.clone(),
        };
        self.jobs.jobs.insert(number, job);
        self.agenda.plan(self.behaviour.durations.job_cancelled, Due::JobIsCancelled(number));
        let queue = vm.map(|vm| self.jobs.queues.entry(vm).or_default());
        let is_first = queue.is_none_or(|queue| {
            queue.push_back(number);
            queue.len() == 1
        });
        if is_first {
            self.agenda.plan(self.behaviour.durations.queued, Due::JobBegins(number));
        }
        self.changes += 1;
        Ok(answer)
    }

    /// The turn of a job has come.
    pub(crate) fn begin_job(&mut self, number: Number) {
        let Some(job) = self.jobs.jobs.get_mut(&number).filter(|job| job.state == State::Queued)
        else {
            return;
        };
        job.state = State::Running;
        let (work, vm, trouble) = (job.work.clone(), job.vm, job.trouble.clone());
        if let Err(refusal) = self.begin_work(&work, vm) {
            self.finish_job(number, State::Failed(refusal));
            return;
        }
        let usual = self.duration_of(&work);
        let lasts = match trouble {
            Some(JobTrouble::NeverEnds) => return,
            Some(JobTrouble::Lasts(lasts) | JobTrouble::Fails { after: Some(lasts), .. }) => lasts,
            _ => usual,
        };
        self.agenda.plan(lasts, Due::JobEnds(number));
    }

    /// A job has done its work, or fails at it.
    pub(crate) fn end_job(&mut self, number: Number) {
        let Some(job) = self.jobs.jobs.get_mut(&number).filter(|job| job.state == State::Running)
        else {
            return;
        };
        job.state = State::Ending;
        let (work, vm, caller) = (job.work.clone(), job.vm, job.caller);
        let state = match job.trouble.clone() {
            Some(JobTrouble::Fails { code, text, .. }) => {
                self.abandon_work(&work, vm, true);
                State::Failed(Refusal::plain(code, text))
            }
            Some(JobTrouble::Interrupted) => {
                self.abandon_work(&work, vm, false);
                State::Interrupted
            }
            Some(JobTrouble::Cancelled) => {
                self.abandon_work(&work, vm, false);
                State::Cancelled
            }
            _ => match self.end_work(&work, vm, caller) {
                Ok(result) => State::Succeeded(result),
                Err(refusal) => State::Failed(refusal),
            },
        };
        self.finish_job(number, state);
    }

    /// The server gives up a job that does not end.
    pub(crate) fn cancel_job(&mut self, number: Number) {
        let Some(job) = self.jobs.jobs.get(&number).filter(|job| job.is_pending()) else { return };
        let (work, vm) = (job.work.clone(), job.vm);
        self.abandon_work(&work, vm, false);
        self.finish_job(number, State::Interrupted);
    }

    fn finish_job(&mut self, number: Number, state: State) {
        let now = self.agenda.now();
        let Some(job) = self.jobs.jobs.get_mut(&number) else { return };
        job.state = state;
        job.completed = Some(now);
        let vm = job.vm;
        self.agenda.plan(self.behaviour.durations.job_kept, Due::JobIsForgotten(number));
        self.changes += 1;
        let Some(vm) = vm else { return };
        let Some(queue) = self.jobs.queues.get_mut(&vm) else { return };
        queue.retain(|job| *job != number);
        match queue.front() {
            Some(next) => {
                self.agenda.plan(self.behaviour.durations.queued, Due::JobBegins(*next));
            }
            None => {
                self.jobs.queues.remove(&vm);
            }
        }
    }

    /// Ends all jobs as a restart of the server does.
    pub(crate) fn interrupt_jobs(&mut self) {
        for number in self.jobs.pending() {
            self.cancel_job(number);
        }
    }

    /// A job as `queryAsyncJobResult` tells it.
    pub(crate) fn job_row(&self, job: &Job) -> Value {
        let account = &self.estate.accounts[&job.account];
        let domain = &self.estate.domains[&account.domain];
        let (status, result_code, result) = match &job.state {
            State::Queued | State::Running | State::Ending => (0, 0, None),
            State::Succeeded(result) => (1, 0, Some(result.clone())),
            State::Failed(refusal) => {
                let result = json!({ "errorcode": refusal.code, "errortext": refusal.text });
                (2, refusal.code, Some(result))
            }
            State::Interrupted => (2, code::INTERNAL, None),
            State::Cancelled => (3, 0, None),
        };
        let mut row = json!({
            "jobid": job.id,
            "accountid": account.id,
            "account": account.name,
            "userid": account.user_id,
            "domainid": domain.id,
            "domainpath": domain.name,
            "cmd": job.work.class(),
            "jobstatus": status,
            "jobprocstatus": 0,
            "jobresultcode": result_code,
            "created": self.time(job.created),
            "managementservername": "simulated",
        });
        if let Some(result) = result {
            row["jobresulttype"] = "object".into();
            row["jobresult"] = result;
        }
        if let Some((kind, id)) = &job.instance {
            row["jobinstancetype"] = (*kind).into();
            row["jobinstanceid"] = id.clone().into();
        }
        if let Some(completed) = job.completed {
            row["completed"] = self.time(completed).into();
        }
        row
    }
}
