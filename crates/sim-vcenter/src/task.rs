//! Tasks: what takes time. They wait for their turn, run, and end well or badly.

mod clone;
mod instance;
mod job;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

pub(crate) use clone::{CloneDisk, CloneOrder};
pub(crate) use job::Job;

use crate::{
    fault::Fault,
    reference::{Kind, Ref},
    trouble::TaskTrouble,
    world::{Due, World},
};

/// A task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) method: &'static str,
    pub(crate) description_id: &'static str,
    pub(crate) entity: Ref,
    pub(crate) entity_name: String,
    /// The name of what comes of it, if anything does.
    pub(crate) makes: Option<String>,
    pub(crate) user: String,
    pub(crate) state: State,
    pub(crate) cancelled: bool,
    pub(crate) queued: Duration,
    pub(crate) started: Option<Duration>,
    pub(crate) completed: Option<Duration>,
    percent: i32,
    job: Job,
    trouble: Option<TaskTrouble>,
    /// What it has of a host while it runs.
    holds: Option<(Ref, u32)>,
}

/// How far a task is.
#[derive(Debug)]
pub(crate) enum State {
    Queued,
    Running,
    /// With what came of it.
    Done(Option<Ref>),
    Failed(Fault),
}

impl State {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done(_) => "success",
            Self::Failed(_) => "error",
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

impl Task {
    /// Clones and queued tasks can be cancelled.
    pub(crate) fn is_cancelable(&self) -> bool {
        match self.state {
            State::Queued => true,
            State::Running => matches!(self.job, Job::Clone(_)),
            State::Done(_) | State::Failed(_) => false,
        }
    }

    pub(crate) fn progress(&self) -> Option<i32> {
        matches!(self.state, State::Running).then_some(self.percent)
    }
}

/// All tasks that can still be asked about.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    all: BTreeMap<Ref, Task>,
    made: u32,
    /// The queue of tasks whose host had no room, first come first served.
    waiting: VecDeque<Ref>,
    /// What hosts have given away.
    units: BTreeMap<Ref, u32>,
}

impl Tasks {
    pub(crate) fn get(&self, task: Ref) -> Option<&Task> {
        self.all.get(&task)
    }

    pub(crate) fn is_unreadable(&self, task: Ref) -> bool {
        self.get(task).is_some_and(|task| task.trouble == Some(TaskTrouble::Garbage))
    }

    /// Those under way, and those that ended not long ago.
    pub(crate) fn recent(&self) -> Vec<Ref> {
        self.all.keys().copied().collect()
    }

    pub(crate) fn recent_of(&self, object: Ref) -> Vec<Ref> {
        let of = self.all.iter().filter(|(_, task)| task.entity == object);
        of.map(|(task, _)| *task).collect()
    }

    /// Those that failed and can still be asked about, with why.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (Ref, &Task, &Fault)> {
        self.all.iter().filter_map(|(reference, task)| match &task.state {
            State::Failed(fault) => Some((*reference, task, fault)),
            _ => None,
        })
    }

    /// Those that have not ended.
    pub(crate) fn open(&self) -> impl Iterator<Item = (Ref, &Task)> {
        self.all.iter().filter(|(_, task)| task.state.is_open()).map(|(task, of)| (*task, of))
    }
}

/// How many steps a client sees a task advance by at most, and how long a step takes at least.
const STEPS_MAX: u64 = 10;
const STEP_MIN: Duration = Duration::from_secs(2);

impl World {
    /// Begins a task for something that was asked of an object.
    pub(crate) fn new_task(
        &mut self,
        entity: Ref,
        user: &str,
        job: Job,
        trouble: Option<TaskTrouble>,
    ) -> Ref {
        self.tasks.made += 1;
        let reference = Ref::new(Kind::Task, self.tasks.made);
        let (method, description_id) = job.names();
        if let Some(vm) = job.has_to_itself()
            && let Some(vm) = self.estate.vms.get_mut(&vm)
        {
            vm.busy = Some(reference);
        }
        let task = Task {
            method,
            description_id,
            entity,
            entity_name: self.estate.name(entity).to_owned(),
            makes: job.makes().map(str::to_owned),
            user: user.to_owned(),
            state: State::Queued,
            cancelled: false,
            queued: self.agenda.now(),
            started: None,
            completed: None,
            percent: 0,
            job,
            trouble,
            holds: None,
        };
        self.tasks.all.insert(reference, task);
        self.touch(reference);
        self.plan(self.behaviour.durations.queued, Due::TaskStarts(reference));
        reference
    }

    /// A task's turn has come: it runs, or waits until its host has room.
    pub(crate) fn start_task(&mut self, reference: Ref) {
        let Some(task) = self.tasks.all.get(&reference) else { return };
        if !matches!(task.state, State::Queued) {
            return;
        }
        let wants = self.wants(task);
        if let Some((host, units)) = wants {
            let given = self.tasks.units.get(&host).copied().unwrap_or(0);
            // A small one behind a large one does not pass it, or the large one might never run.
            if given + units > self.behaviour.host_units || self.is_waited_for(host) {
                self.tasks.waiting.push_back(reference);
                return;
            }
            *self.tasks.units.entry(host).or_default() += units;
        }
        self.run_task(reference, wants);
    }

    fn wants(&self, task: &Task) -> Option<(Ref, u32)> {
        task.job.units(&self.behaviour, &self.estate)
    }

    /// Whether a task waits for room on a host.
    fn is_waited_for(&self, host: Ref) -> bool {
        let waiting = self.tasks.waiting.iter().filter_map(|task| self.tasks.get(*task));
        waiting.filter_map(|task| self.wants(task)).any(|(wanted, _)| wanted == host)
    }

    fn run_task(&mut self, reference: Ref, holds: Option<(Ref, u32)>) {
        let Some(task) = self.tasks.all.get_mut(&reference) else { return };
        task.holds = holds;
        task.state = State::Running;
        task.started = Some(self.agenda.now());
        let trouble = task.trouble.clone();
        let mut job = std::mem::replace(&mut task.job, Job::Nothing);
        let begun = job.begin(self);
        if let Some(task) = self.tasks.all.get_mut(&reference) {
            task.job = job;
        }
        self.touch(reference);
        let lasts = match begun {
            Ok(lasts) => lasts,
            Err(fault) => return self.close_task(reference, State::Failed(fault)),
        };
        let lasts = match trouble {
            Some(TaskTrouble::NeverEnds) => return,
            Some(TaskTrouble::Lasts(lasts) | TaskTrouble::Fails { after: lasts, .. }) => lasts,
            Some(TaskTrouble::Garbage) | None => lasts,
        };
        let steps = (lasts.as_secs() / STEP_MIN.as_secs()).clamp(1, STEPS_MAX) as u32;
        for step in 1..steps {
            let percent = (step * 100 / steps) as i32;
            self.plan(lasts * step / steps, Due::TaskAdvances(reference, percent));
        }
        self.plan(lasts, Due::TaskEnds(reference));
    }

    pub(crate) fn advance_task(&mut self, reference: Ref, percent: i32) {
        if let Some(task) = self.tasks.all.get_mut(&reference)
            && matches!(task.state, State::Running)
        {
            task.percent = percent;
            self.touch(reference);
        }
    }

    pub(crate) fn end_task(&mut self, reference: Ref) {
        let Some(task) = self.tasks.all.get_mut(&reference) else { return };
        if !matches!(task.state, State::Running) {
            return;
        }
        if let Some(TaskTrouble::Fails { fault, .. }) = &task.trouble {
            let fault = fault.clone();
            return self.close_task(reference, State::Failed(fault));
        }
        let mut job = std::mem::replace(&mut task.job, Job::Nothing);
        let finished = job.finish(self);
        if let Some(task) = self.tasks.all.get_mut(&reference) {
            task.job = job;
        }
        let state = match finished {
            Ok(result) => State::Done(result),
            Err(fault) => State::Failed(fault),
        };
        self.close_task(reference, state);
    }

    /// Ends a task, however; what it had is free again.
    fn close_task(&mut self, reference: Ref, state: State) {
        let Some(task) = self.tasks.all.get_mut(&reference) else { return };
        let failed = matches!(state, State::Failed(_));
        task.state = state;
        task.completed = Some(self.agenda.now());
        let holds = task.holds.take();
        let mut job = std::mem::replace(&mut task.job, Job::Nothing);
        if failed {
            job.give_up(self);
        }
        if let Some(vm) = job.has_to_itself()
            && let Some(vm) = self.estate.vms.get_mut(&vm)
            && vm.busy == Some(reference)
        {
            vm.busy = None;
        }
        self.tasks.waiting.retain(|waiting| *waiting != reference);
        self.touch(reference);
        self.plan(self.behaviour.durations.task_kept, Due::TaskForgotten(reference));
        if let Some((host, units)) = holds
            && let Some(given) = self.tasks.units.get_mut(&host)
        {
            *given = given.saturating_sub(units);
            // Tasks that still find no room keep their order in the queue.
            for waiting in std::mem::take(&mut self.tasks.waiting) {
                self.start_task(waiting);
            }
        }
    }

    pub(crate) fn forget_task(&mut self, reference: Ref) {
        self.tasks.all.remove(&reference);
        self.changes.gone(reference);
    }

    /// Cancels a task, if it can be.
    pub(crate) fn cancel_task(&mut self, reference: Ref) -> Result<(), Fault> {
        let Some(task) = self.tasks.all.get_mut(&reference) else {
            return Err(Fault::gone(reference));
        };
        if !task.state.is_open() {
            let message = "The task has already ended.";
            return Err(Fault::new("InvalidState", message));
        }
        if !task.is_cancelable() {
            let message = "The operation is not supported on the object: it cannot be cancelled.";
            return Err(Fault::new("NotSupported", message));
        }
        task.cancelled = true;
        let message = "The task was canceled by a user.";
        self.close_task(reference, State::Failed(Fault::new("RequestCanceled", message)));
        Ok(())
    }
}
