//! One waiter for all tasks.
//!
//! All waits share one query to the server, which is answered when a task changes. There is no
//! background work: one waiter queries for all of them. When it ends or is dropped, the next waiter
//! takes over.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joiner_line::Patience;
use tokio::sync::{Mutex as Turn, Notify, watch};

use super::{Task, TaskFailed, TaskResult, TaskState, info};
use crate::{
    Element, MoRef, Vim, VimError,
    client::Seat,
    collector::Collector,
    properties::{ObjectUpdate, Of, UpdateKind},
    soap::Call,
};

/// What is read of a task: all of it, so that state and result are of one moment.
const INFO: &str = "info";

/// Waits for all tasks of a vCenter.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    waited_for: Mutex<HashMap<MoRef, WaitedFor>>,
    /// Told when there is another task to wait for.
    more: Notify,
    /// The holder queries for all waiters.
    asking: Turn<Asking>,
}

#[derive(Debug)]
struct WaitedFor {
    known: watch::Sender<Known>,
    by: usize,
}

/// What is known of a task.
#[derive(Debug, Clone)]
enum Known {
    State(TaskState),
    Over(Result<TaskResult, TaskFailed>),
}

impl Known {
    fn result(&self) -> Option<Result<TaskResult, TaskFailed>> {
        match self {
            Self::State(_) => None,
            Self::Over(result) => Some(result.clone()),
        }
    }
}

/// The question to the server.
#[derive(Debug, Default)]
struct Asking {
    question: Option<Question>,
    /// How often in a row it could not be asked.
    failures: u32,
}

#[derive(Debug)]
struct Question {
    collector: Collector,
    list: List,
}

/// A list of tasks in the server.
#[derive(Debug)]
struct List {
    seat: Seat,
    view: MoRef,
    tasks: HashSet<MoRef>,
}

impl Waiter {
    pub(crate) async fn wait(
        &self,
        vim: &Vim,
        task: &Task,
        limit: Duration,
    ) -> Result<TaskResult, TaskFailed> {
        let began = vim.clock().running();
        let waiting = Waiting::new(self, vim, task);
        let over = async {
            let mut known = waiting.known.clone();
            loop {
                if let Some(result) = known.borrow_and_update().result() {
                    return result;
                }
                // The sender lives as long as a waiter exists.
                if known.changed().await.is_err() {
                    return Err(TaskFailed::Disappeared);
                }
            }
        };
        let ask = async {
            let mut asking = self.asking.lock().await;
            loop {
                // A waiter with a result ends before it makes another query.
                if let Some(result) = waiting.known.borrow().result() {
                    return result;
                }
                self.ask(vim, &mut asking).await;
            }
        };
        let result = tokio::select! {
            biased;
            result = over => result,
            state = self::deadline(vim, task, waiting.known.clone(), limit) => {
                Err(TaskFailed::Deadline(state))
            }
            result = ask => result,
        };
        waiting.tell(&result, vim.clock().running().saturating_sub(began));
        result
    }

    /// Queries once and informs all waiters. A transient error is no result: the query is repeated.
    async fn ask(&self, vim: &Vim, asking: &mut Asking) {
        match self.try_ask(vim, &mut asking.question).await {
            Ok(()) => asking.failures = 0,
            Err(error) => {
                if let Some(question) = &mut asking.question {
                    question.collector.failed(&error);
                }
                asking.failures += 1;
                match &error {
                    VimError::InvalidLogin { .. } | VimError::Tls { .. } => {
                        self.tell_all(&Known::Over(Err(TaskFailed::Vim(error))));
                    }
                    _ => self.tell_all(&Known::State(TaskState::Unknown)),
                }
                // An ended session is begun anew at once; everything else takes its time.
                if asking.failures > 1 {
                    let wait =
                        Patience::of(vim.settings().patience).wait_after(asking.failures - 1);
                    vim.clock().sleep(wait).await;
                }
            }
        }
    }

    async fn try_ask(&self, vim: &Vim, asked: &mut Option<Question>) -> Result<(), VimError> {
        if let Some(old) = asked.take_if(|question| !question.collector.is_of_use()) {
            old.end().await;
        }
        let question = match asked {
            Some(question) => question,
            None => asked.insert(Question::new(&vim.seat().await?).await?),
        };
        let Question { collector, list } = question;
        self.bring_up_to_date(list).await?;
        let updates = {
            let mut news = std::pin::pin!(collector.wait());
            loop {
                tokio::select! {
                    biased;
                    updates = &mut news => break updates?,
                    () = self.more.notified() => self.bring_up_to_date(list).await?,
                }
            }
        };
        for update in updates.into_iter().flat_map(|updates| updates.objects) {
            self.tell(&update.reference, known(&update));
        }
        Ok(())
    }

    /// Brings the list in the server in line with what is waited for.
    async fn bring_up_to_date(&self, list: &mut List) -> Result<(), VimError> {
        let wanted: HashSet<MoRef> = self.waited_for().keys().cloned().collect();
        let add: Vec<MoRef> = wanted.difference(&list.tasks).cloned().collect();
        let remove: Vec<MoRef> = list.tasks.difference(&wanted).cloned().collect();
        if add.is_empty() && remove.is_empty() {
            return Ok(());
        }
        let unknown = list.change(&add, &remove).await?;
        if !unknown.is_empty() {
            list.change(&[], &unknown).await?;
            for task in unknown {
                self.tell(&task, Known::Over(Err(TaskFailed::Disappeared)));
            }
        }
        Ok(())
    }

    fn tell(&self, task: &MoRef, known: Known) {
        if let Some(waited_for) = self.waited_for().get(task) {
            waited_for.tell(known);
        }
    }

    fn tell_all(&self, known: &Known) {
        for waited_for in self.waited_for().values() {
            waited_for.tell(known.clone());
        }
    }

    fn waited_for(&self) -> MutexGuard<'_, HashMap<MoRef, WaitedFor>> {
        self.waited_for.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitedFor {
    /// What is over stays over.
    fn tell(&self, news: Known) {
        self.known.send_if_modified(|known| {
            let open = matches!(known, Known::State(_));
            if open {
                *known = news;
            }
            open
        });
    }
}

/// What an update says of a task. Only this task's waiter suffers when it cannot be understood.
fn known(update: &ObjectUpdate) -> Known {
    if update.kind == UpdateKind::Leave {
        return Known::Over(Err(TaskFailed::Disappeared));
    }
    let unreadable = |why: String| Known::Over(Err(TaskFailed::Unreadable(why)));
    match (update.values.get(INFO), update.missing.get(INFO)) {
        (Some(Some(info)), _) => match info::state(info) {
            Ok(TaskState::Success) => {
                Known::Over(Ok(TaskResult { result: info.child("result").cloned() }))
            }
            Ok(TaskState::Error) => Known::Over(Err(info::failure(info))),
            Ok(state) => Known::State(state),
            Err(why) => unreadable(why),
        },
        (_, Some(fault)) if fault.is("ManagedObjectNotFound") => {
            Known::Over(Err(TaskFailed::Disappeared))
        }
        (_, Some(fault)) => unreadable(fault.to_string()),
        (_, None) => unreadable("nothing is said about it".to_owned()),
    }
}

/// Waits until a task's time is over. Time does not count while the task waits for its turn in the
/// server; it does while nothing is known. Keeps the task's own state up to date meanwhile.
async fn deadline(
    vim: &Vim,
    task: &Task,
    mut known: watch::Receiver<Known>,
    limit: Duration,
) -> TaskState {
    let clock = vim.clock();
    let mut left = limit;
    loop {
        let state = match &*known.borrow_and_update() {
            Known::State(state) => *state,
            Known::Over(Ok(_)) => TaskState::Success,
            Known::Over(Err(TaskFailed::Fault(_))) => TaskState::Error,
            Known::Over(Err(_)) => TaskState::Unknown,
        };
        task.state.send_replace(state);
        let since = clock.running();
        let over = async {
            match state {
                TaskState::Queued => std::future::pending().await,
                _ => clock.sleep(left).await,
            }
        };
        tokio::select! {
            biased;
            changed = known.changed() => if changed.is_err() { std::future::pending().await },
            () = over => return state,
        }
        if state != TaskState::Queued {
            left = left.saturating_sub(clock.running().saturating_sub(since));
        }
    }
}

/// A waiter for one task.
struct Waiting<'a> {
    waiter: &'a Waiter,
    vim: &'a Vim,
    task: &'a Task,
    known: watch::Receiver<Known>,
    /// Whether the result was recorded in the metrics.
    told: bool,
}

impl<'a> Waiting<'a> {
    fn new(waiter: &'a Waiter, vim: &'a Vim, task: &'a Task) -> Self {
        let known = {
            let mut waited_for = waiter.waited_for();
            let entry = waited_for.entry(task.reference.clone()).or_insert_with(|| WaitedFor {
                known: watch::Sender::new(Known::State(TaskState::Unknown)),
                by: 0,
            });
            entry.by += 1;
            entry.known.subscribe()
        };
        waiter.more.notify_one();
        vim.settings().observer.task_begins(&task.kind);
        Self { waiter, vim, task, known, told: false }
    }

    fn tell(mut self, result: &Result<TaskResult, TaskFailed>, took: Duration) {
        let observer = &self.vim.settings().observer;
        let (state, word) = match result {
            Ok(_) => (TaskState::Success, "success"),
            Err(TaskFailed::Fault(fault)) => {
                observer.fault(&fault.kind, "task");
                (TaskState::Error, "error")
            }
            Err(TaskFailed::Deadline(state)) => (*state, "unknown"),
            Err(_) => (TaskState::Unknown, "unknown"),
        };
        self.task.state.send_replace(state);
        observer.task_ends(&self.task.kind, word, took);
        self.told = true;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waited_for = self.waiter.waited_for();
        if let Some(entry) = waited_for.get_mut(&self.task.reference) {
            entry.by -= 1;
            if entry.by == 0 {
                waited_for.remove(&self.task.reference);
            }
        }
        if !self.told {
            self.vim.settings().observer.task_ends(&self.task.kind, "unknown", Duration::ZERO);
        }
    }
}

impl Question {
    async fn new(seat: &Seat) -> Result<Self, VimError> {
        let manager = &seat.content().view_manager;
        let view = seat.call(&Call::new(manager, "CreateListView", |_| {})).await?.reference()?;
        let of = Of::View { view: &view, kind: "Task" };
        let collector = Collector::new(seat, of, &[Arc::from(INFO)]).await?;
        let list = List { seat: seat.clone(), view, tasks: HashSet::new() };
        Ok(Self { collector, list })
    }

    async fn end(self) {
        self.collector.destroy().await;
        self.list.seat.destroy_view(&self.list.view).await;
    }
}

impl List {
    /// Adds and removes tasks; those that the server does not know are returned.
    async fn change(&mut self, add: &[MoRef], remove: &[MoRef]) -> Result<Vec<MoRef>, VimError> {
        let call = Call::new(&self.view, "ModifyListView", |xml| {
            for task in add {
                xml.reference("add", task);
            }
            for task in remove {
                xml.reference("remove", task);
            }
        });
        let unknown = self.seat.call(&call).await?.returned_all()?;
        self.tasks.extend(add.iter().cloned());
        for task in remove {
            self.tasks.remove(task);
        }
        Ok(unknown.iter().filter_map(Element::reference).collect())
    }
}
