//! Tasks: steps that wait for time and for locks, and what is told of them.

mod act;
mod life;
mod lock;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

pub(crate) use act::{Act, ClonedDisk, Download, size_text};
pub(crate) use lock::{Locks, Mode, Resource};

use crate::{
    trouble::TaskTrouble,
    world::{Due, World},
};

pub(crate) type TaskNumber = u64;

/// A step of a task.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Lock(Resource, Mode),
    Unlock(Resource),
    Wait(Duration),
    Act(Act),
}

/// A task that is to begin.
#[derive(Clone, Debug)]
pub(crate) struct NewTask {
    pub(crate) node: String,
    pub(crate) kind: &'static str,
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) steps: Vec<Step>,
    /// The VM that it makes, which goes with it when it fails.
    pub(crate) makes: Option<u32>,
    /// Whether it is only the work of a call, without an entry in the lists of tasks.
    pub(crate) hidden: bool,
    pub(crate) trouble: Option<TaskTrouble>,
}

/// A task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) upid: String,
    pub(crate) node: String,
    pub(crate) kind: &'static str,
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) pid: u32,
    pub(crate) started: Duration,
    pub(crate) begun: i64,
    /// When it ended and how.
    pub(crate) ended: Option<(Duration, String)>,
    pub(crate) log: Vec<String>,
    pub(crate) hidden: bool,
    pub(crate) lost: bool,
    steps: VecDeque<Step>,
    /// Counts its steps, so that a time that was waited for in vain means nothing.
    turn: u32,
    makes: Option<u32>,
    trouble: Option<TaskTrouble>,
}

impl Task {
    pub(crate) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether it ended well.
    pub(crate) fn is_ok(status: &str) -> bool {
        status == "OK" || status.starts_with("WARNINGS")
    }
}

/// All tasks.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) all: BTreeMap<TaskNumber, Task>,
    by_upid: BTreeMap<String, TaskNumber>,
    begun: TaskNumber,
}

impl Tasks {
    pub(crate) fn find(&self, upid: &str) -> Option<(TaskNumber, &Task)> {
        let number = *self.by_upid.get(upid)?;
        Some((number, self.all.get(&number)?))
    }
}

impl World {
    /// Begins a task.
    pub(crate) fn begin(&mut self, new: NewTask) -> TaskNumber {
        self.tasks.begun += 1;
        let (number, now) = (self.tasks.begun, self.agenda.now());
        let pid = 1000 + number as u32;
        let begun = self.agenda.moment(now).as_second();
        let started = now.as_millis() as u64 / 10;
        let upid = format!(
            "UPID:{}:{pid:08X}:{started:08X}:{begun:08X}:{}:{}:{}:",
            new.node, new.kind, new.id, new.user
        );
        let mut steps = VecDeque::from(new.steps);
        if let Some(TaskTrouble::Lasts(lasts)) = new.trouble {
            let locks = steps.iter().take_while(|step| matches!(step, Step::Lock(..))).count();
            steps.insert(locks, Step::Wait(lasts));
        }
        let task = Task {
            upid: upid.clone(),
            node: new.node,
            kind: new.kind,
            id: new.id,
            user: new.user,
            pid,
            started: now,
            begun,
            ended: None,
            log: Vec::new(),
            hidden: new.hidden,
            lost: new.trouble == Some(TaskTrouble::Lost),
            steps,
            turn: 0,
            makes: new.makes,
            trouble: new.trouble,
        };
        if !task.hidden {
            self.tasks.by_upid.insert(upid, number);
        }
        self.tasks.all.insert(number, task);
        self.advance(number);
        number
    }

    /// Does the steps of a task until it has to wait.
    fn advance(&mut self, number: TaskNumber) {
        self.changes += 1;
        loop {
            let Some(task) = self.tasks.all.get_mut(&number).filter(|task| task.is_running())
            else {
                return;
            };
            task.turn += 1;
            let turn = task.turn;
            let is_last_wait = |steps: &VecDeque<Step>| {
                !steps.iter().any(|step| matches!(step, Step::Wait(_) | Step::Lock(..)))
            };
            match task.steps.pop_front() {
                None => return self.succeed(number),
                Some(Step::Wait(time)) => {
                    self.agenda.plan(time, Due::TaskGoesOn(number, turn));
                    return;
                }
                Some(Step::Unlock(resource)) => self.unlock(number, &resource),
                Some(Step::Lock(resource, mode)) => {
                    if !self.locks.acquire(number, &resource, mode) {
                        let patience = self.patience(&resource);
                        self.agenda.plan(patience, Due::LockTimesOut(number, turn));
                        if let Some(task) = self.tasks.all.get_mut(&number) {
                            task.log.push(format!("trying to acquire lock {resource}..."));
                            task.steps.push_front(Step::Lock(resource, mode));
                        }
                        return;
                    }
                }
                Some(Step::Act(act)) => {
                    // What a script says of a task comes before its last step takes effect.
                    let is_last = is_last_wait(&task.steps);
                    // A clone that breaks has no name yet.
                    let is_nameless = matches!(act, Act::CloneIsNamed(..));
                    let trouble = task.trouble.clone().filter(|trouble| {
                        is_last || (is_nameless && matches!(trouble, TaskTrouble::Breaks(_)))
                    });
                    match trouble {
                        Some(TaskTrouble::Fails(text)) => return self.fail(number, &text, true),
                        Some(TaskTrouble::Breaks(text)) => return self.fail(number, &text, false),
                        Some(TaskTrouble::NeverEnds) => return,
                        _ => {}
                    }
                    if let Err(text) = self.act(&act) {
                        return self.fail(number, &text, true);
                    }
                }
            }
        }
    }

    fn patience(&self, resource: &Resource) -> Duration {
        match resource {
            Resource::Storage(_, part) if part.is_empty() => self.behaviour.durations.shared_lock,
            _ => self.behaviour.durations.lock,
        }
    }

    /// A time that a task waited for has come.
    pub(crate) fn go_on(&mut self, number: TaskNumber, turn: u32) {
        if self.tasks.all.get(&number).is_some_and(|task| task.turn == turn) {
            self.advance(number);
        }
    }

    /// A lock was waited for long enough.
    pub(crate) fn lock_times_out(&mut self, number: TaskNumber, turn: u32) {
        let Some(task) = self.tasks.all.get(&number).filter(|task| task.turn == turn) else {
            return;
        };
        let Some(Step::Lock(resource, _)) = task.steps.front() else { return };
        let text = format!("can't lock file '{resource}' - got timeout");
        self.fail(number, &text, true);
    }

    fn succeed(&mut self, number: TaskNumber) {
        let warns = self.tasks.all.get(&number).and_then(|task| match task.trouble {
            Some(TaskTrouble::Warns(count)) => Some(count),
            _ => None,
        });
        let status = warns.map_or_else(|| "OK".to_owned(), |count| format!("WARNINGS: {count}"));
        self.end(number, status);
    }

    /// Ends a task with an error, and cleans up behind it unless it broke.
    fn fail(&mut self, number: TaskNumber, text: &str, cleans_up: bool) {
        let makes = self.tasks.all.get(&number).and_then(|task| task.makes);
        if let Some(vmid) = makes.filter(|_| cleans_up) {
            self.remove_vm(vmid);
        }
        self.end(number, text.to_owned());
    }

    fn end(&mut self, number: TaskNumber, status: String) {
        let now = self.agenda.now();
        if let Some(task) = self.tasks.all.get_mut(&number) {
            task.turn += 1;
            let line =
                if status == "OK" { "TASK OK".to_owned() } else { format!("TASK ERROR: {status}") };
            let line = if status.starts_with("WARNINGS") { format!("TASK {status}") } else { line };
            task.log.push(line);
            task.ended = Some((now, status));
            task.steps.clear();
        }
        self.changes += 1;
        for next in self.locks.release_all(number) {
            self.advance(next);
        }
    }

    fn unlock(&mut self, number: TaskNumber, resource: &Resource) {
        for next in self.locks.release(number, resource) {
            self.agenda.plan(Duration::ZERO, Due::LockIsFree(next));
        }
    }

    /// A lock that a task waits for is its own now.
    pub(crate) fn lock_is_free(&mut self, number: TaskNumber) {
        self.advance(number);
    }

    /// Ends a task from outside, and leaves everything as it is.
    pub(crate) fn interrupt(&mut self, number: TaskNumber) {
        if self.tasks.all.get(&number).is_some_and(Task::is_running) {
            self.fail(number, "interrupted by signal", false);
        }
    }

    /// Ends all tasks of a node, as when it goes away.
    pub(crate) fn interrupt_node(&mut self, node: &str) {
        let tasks = self.tasks.all.iter().filter(|(_, task)| task.node == node);
        let tasks: Vec<_> = tasks.map(|(number, _)| *number).collect();
        for number in tasks {
            if self.tasks.all.get(&number).is_some_and(Task::is_running) {
                self.fail(number, "unexpected status", false);
            }
        }
    }
}
