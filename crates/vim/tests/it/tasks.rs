//! Waiting for tasks: one question for all, and each its own answer.

use std::time::Duration;

use futures_util::future::join_all;
use joiner_vim::{Method, MoRef, Task, TaskFailed, TaskState, Vim, VimError};
use tokio::time::Instant;

use crate::scripted::{Reply, Server, fault, returned};

const LIMIT: Duration = Duration::from_mins(15);

fn task(number: u32) -> Task {
    Task::new(MoRef::new("Task", format!("task-{number}")), "CloneVM_Task")
}

/// A server on which tasks can be waited for.
fn server() -> Server {
    let server = Server::new();
    server.reply("CreateListView", returned("<returnval type=\"ListView\">list-1</returnval>"));
    let collector = "<returnval type=\"PropertyCollector\">collector-1</returnval>";
    server.reply("CreatePropertyCollector", returned(collector));
    server.reply("CreateFilter", returned("<returnval type=\"PropertyFilter\">f-1</returnval>"));
    for call in ["ModifyListView", "DestroyPropertyCollector", "DestroyView"] {
        server.reply(call, returned(""));
    }
    server
}

fn update(number: u32, info: &str) -> String {
    format!(
        "<objectSet><kind>modify</kind><obj type=\"Task\">task-{number}</obj><changeSet>\
         <name>info</name><op>assign</op><val xsi:type=\"TaskInfo\">{info}</val></changeSet></objectSet>"
    )
}

fn news(version: u32, updates: &str) -> Reply {
    Reply::Returned(format!(
        "<returnval><version>{version}</version><filterSet><filter type=\"PropertyFilter\">f-1\
         </filter>{updates}</filterSet></returnval>"
    ))
}

const SUCCESS: &str = "<state>success</state><result type=\"VirtualMachine\" \
    xsi:type=\"ManagedObjectReference\">vm-7</result>";
const DUPLICATE: &str = "<state>error</state><error><fault xsi:type=\"DuplicateName\"><name>n1\
    </name></fault><localizedMessage>The name 'n1' already exists.</localizedMessage></error>";

async fn wait_all(vim: &Vim, tasks: &[Task]) -> Vec<Result<Option<String>, TaskFailed>> {
    let waits = tasks.iter().map(async |task| {
        let result = vim.wait(task, LIMIT).await?;
        Ok(result.object().map(|object| object.to_string()))
    });
    join_all(waits).await
}

#[tokio::test(start_paused = true)]
async fn many_wait_with_one_question_and_each_gets_its_own() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, &update(1, "<state>running</state>")));
    let both = update(1, SUCCESS) + &update(2, DUPLICATE);
    server.reply("WaitForUpdatesEx", news(2, &both).after(30));
    server.reply("WaitForUpdatesEx", news(3, &update(3, SUCCESS)).after(10));
    let results = wait_all(&server.client(), &[task(1), task(2), task(3)]).await;
    assert_eq!(results[0], Ok(Some("VirtualMachine:vm-7".to_owned())));
    let Err(TaskFailed::Fault(fault)) = &results[1] else { panic!("{:?}", results[1]) };
    assert_eq!(fault.to_string(), "DuplicateName: The name 'n1' already exists.");
    assert!(results[2].is_ok());
    assert_eq!(server.times("CreatePropertyCollector"), 1);
    assert_eq!(server.times("WaitForUpdatesEx"), 3);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_of_one_task_fails_its_waiter_alone() {
    let server = server();
    let both = update(1, "<state>daydreaming</state>") + &update(2, SUCCESS);
    server.reply("WaitForUpdatesEx", news(1, &both));
    let results = wait_all(&server.client(), &[task(1), task(2)]).await;
    let why = "no task is \"daydreaming\"".to_owned();
    assert_eq!(results[0], Err(TaskFailed::Unreadable(why)));
    assert!(results[1].is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_nobodys_result() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, &update(1, "<state>running</state>")));
    server.reply("WaitForUpdatesEx", Reply::Broken.after(5));
    server.reply("WaitForUpdatesEx", Reply::Status(503, String::new()));
    server.reply("WaitForUpdatesEx", news(1, &update(1, SUCCESS)));
    let results = wait_all(&server.client(), &[task(1)]).await;
    assert!(results[0].is_ok(), "{results:?}");
    assert_eq!(server.times("CreatePropertyCollector"), 3, "each time all is read anew");
    let asked = server.log();
    let versions = asked.iter().filter(|asked| asked.what == "WaitForUpdatesEx");
    let fresh: Vec<bool> =
        versions.map(|asked| asked.body.contains("<version></version>")).collect();
    assert_eq!(fresh, [true, false, true, true]);
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_is_nobodys_result() {
    let server = server();
    server.reply("WaitForUpdatesEx", fault("NotAuthenticated").after(5));
    server.reply("WaitForUpdatesEx", news(1, &update(1, SUCCESS)));
    let began = Instant::now();
    let results = wait_all(&server.client(), &[task(1)]).await;
    assert!(results[0].is_ok(), "{results:?}");
    assert_eq!(server.times("Login"), 2);
    assert_eq!(began.elapsed(), Duration::from_secs(5), "a new session is begun at once");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_server_does_not_know_is_unknown_and_not_failed() {
    let server = server();
    server.forget("ModifyListView");
    let unknown = "<returnval type=\"Task\">task-1</returnval>";
    server.reply("ModifyListView", returned(unknown)).reply("ModifyListView", returned(""));
    server.reply("WaitForUpdatesEx", news(1, &update(2, SUCCESS)).after(1));
    let results = wait_all(&server.client(), &[task(1), task(2)]).await;
    assert_eq!(results[0], Err(TaskFailed::Disappeared));
    assert!(results[1].is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_leaves_is_unknown() {
    let server = server();
    let left = "<objectSet><kind>leave</kind><obj type=\"Task\">task-1</obj></objectSet>";
    server.reply("WaitForUpdatesEx", news(1, left));
    let results = wait_all(&server.client(), &[task(1)]).await;
    assert_eq!(results, [Err(TaskFailed::Disappeared)]);
}

#[tokio::test(start_paused = true)]
async fn time_counts_from_when_a_task_leaves_the_queue() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, &update(1, "<state>queued</state>")));
    // An hour in the queue, and nothing to tell every minute.
    for _ in 0..60 {
        server.reply("WaitForUpdatesEx", returned("").after(60));
    }
    server.reply("WaitForUpdatesEx", news(2, &update(1, "<state>running</state>")));
    server.reply("WaitForUpdatesEx", returned("").after(60));
    let began = Instant::now();
    let result = server.client().wait(&task(1), LIMIT).await;
    assert_eq!(result, Err(TaskFailed::Deadline(TaskState::Running { progress: None })));
    assert_eq!(began.elapsed(), Duration::from_hours(1) + LIMIT);
}

#[tokio::test(start_paused = true)]
async fn time_counts_while_nothing_is_known() {
    let server = server();
    server.reply("WaitForUpdatesEx", Reply::Broken);
    let began = Instant::now();
    let result = server.client().wait(&task(1), LIMIT).await;
    assert_eq!(result, Err(TaskFailed::Deadline(TaskState::Unknown)));
    assert_eq!(began.elapsed(), LIMIT);
    let asked = server.times("WaitForUpdatesEx");
    assert!((30..100).contains(&asked), "asked {asked} times in a quarter of an hour");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_wait_is_not_asked_without_a_pause() {
    let server = server();
    server.reply("WaitForUpdatesEx", returned(""));
    let result = server.client().wait(&task(1), Duration::from_mins(1)).await;
    assert_eq!(result, Err(TaskFailed::Deadline(TaskState::Unknown)));
    assert_eq!(server.times("WaitForUpdatesEx"), 60);
}

#[tokio::test(start_paused = true)]
async fn a_refused_password_ends_the_wait() {
    let server = server();
    server.set_password("other");
    let result = server.client().wait(&task(1), LIMIT).await;
    assert!(matches!(result, Err(TaskFailed::Vim(VimError::InvalidLogin { .. }))), "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn progress_can_be_seen_while_somebody_waits() {
    let server = server();
    for percent in [10, 60] {
        let info = format!("<state>running</state><progress>{percent}</progress>");
        server.reply("WaitForUpdatesEx", news(percent, &update(1, &info)).after(5));
    }
    server.reply("WaitForUpdatesEx", news(99, &update(1, SUCCESS)).after(5));
    let (vim, task) = (server.client(), task(1));
    let mut changes = task.changes();
    let seen = async {
        let mut seen = Vec::new();
        while task.state() != TaskState::Success {
            changes.changed().await.unwrap();
            seen.push(task.state());
        }
        seen
    };
    let (result, seen) = tokio::join!(vim.wait(&task, LIMIT), seen);
    result.unwrap();
    let running = |percent| TaskState::Running { progress: Some(percent) };
    let distinct: Vec<TaskState> =
        seen.into_iter().filter(|state| *state != TaskState::Unknown).collect();
    assert_eq!(distinct, [running(10), running(60), TaskState::Success]);
}

#[tokio::test(start_paused = true)]
async fn when_the_one_who_asks_gives_up_the_next_asks_and_nothing_is_lost() {
    let server = server();
    server.reply("WaitForUpdatesEx", returned("").after(60));
    server.reply("WaitForUpdatesEx", news(1, &update(2, SUCCESS)));
    let (vim, first, second) = (server.client(), task(1), task(2));
    let gives_up = tokio::time::timeout(Duration::from_secs(3), vim.wait(&first, LIMIT));
    let (gave_up, result) = tokio::join!(gives_up, vim.wait(&second, LIMIT));
    gave_up.expect_err("it gave up");
    result.unwrap();
    assert_eq!(
        server.times("CreatePropertyCollector"),
        2,
        "what was asked before may have been told to nobody"
    );
    let last = server.log().into_iter().rfind(|asked| asked.what == "ModifyListView").unwrap();
    assert!(last.body.contains("task-2") && !last.body.contains("task-1"), "{}", last.body);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_started_while_others_are_waited_for_joins_them() {
    let server = server();
    server.reply("WaitForUpdatesEx", news(1, &update(1, "<state>running</state>")));
    server.reply("WaitForUpdatesEx", news(2, &update(2, SUCCESS)).after(20));
    server.reply("WaitForUpdatesEx", news(3, &update(1, SUCCESS)).after(20));
    server.reply("PowerOnVM_Task", returned("<returnval type=\"Task\">task-2</returnval>"));
    let vim = server.client();
    let later = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let instance = MoRef::new("VirtualMachine", "vm-7");
        let started = vim.start(&instance, Method::PowerOn { host: None }).await.unwrap();
        vim.wait(&started, LIMIT).await
    };
    let first = task(1);
    let (first, second) = tokio::join!(vim.wait(&first, LIMIT), later);
    first.unwrap();
    second.unwrap();
    let added: Vec<bool> = server
        .log()
        .iter()
        .filter(|asked| asked.what == "ModifyListView")
        .map(|asked| asked.body.contains("<add type=\"Task\">task-2</add>"))
        .collect();
    assert_eq!(added[..2], [false, true], "added to the list, in one and the same question");
    assert_eq!(server.times("CreatePropertyCollector"), 1);
}

#[tokio::test]
async fn waiting_can_be_done_on_any_thread() {
    fn send<T: Send>(_: &T) {}
    let vim = Server::new().client();
    let (task, instance) = (task(1), MoRef::new("VirtualMachine", "vm-1"));
    send(&vim.wait(&task, LIMIT));
    send(&vim.start(&instance, Method::Destroy));
    send(&vim.list(&instance, "VirtualMachine", &["name"]));
    send(&vim.read(std::slice::from_ref(&instance), &["name"]));
    send(&vim.privileges(std::slice::from_ref(&instance)));
    send(&vim.keep_alive());
    send(&vim.logout());
    send(&vim.tags().categories());
    send(&vim.watch(&instance, "VirtualMachine", &["name"]).next());
}
