//! Sessions: one login for everybody, again when it has ended, and none too many.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use joiner_vim::{Credentials, MoRef, Observer, VimError, VimSettings};

use crate::scripted::{Reply, Server, fault, returned};

#[tokio::test(start_paused = true)]
async fn however_many_ask_there_is_one_login() {
    let server = Server::new();
    server.reply("Login", returned("").after(2));
    let vim = server.client();
    let times = join_all((0..50).map(|_| vim.current_time())).await;
    assert!(times.iter().all(Result::is_ok), "{times:?}");
    assert_eq!(server.times("Login"), 1);
    assert_eq!(server.times("CurrentTime"), 50);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_twenty_requests_are_under_way() {
    let server = Server::new();
    let vim = server.client();
    vim.current_time().await.unwrap();
    let time = "<returnval>2026-01-01T12:00:00Z</returnval>";
    server.forget("CurrentTime").reply("CurrentTime", returned(time).after(1));
    join_all((0..100).map(|_| vim.current_time())).await;
    assert_eq!(server.most_in_flight(), 20);
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_is_begun_anew_once_for_all_and_the_call_is_made_again() {
    let server = Server::new();
    let vim = server.client();
    vim.current_time().await.unwrap();
    server.end_session();
    let times = join_all((0..10).map(|_| vim.current_time())).await;
    assert!(times.iter().all(Result::is_ok), "{times:?}");
    assert_eq!(server.times("Login"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_never_counts_is_not_asked_for_again_and_again() {
    let server = Server::new();
    server.forget("CurrentTime").reply("CurrentTime", fault("NotAuthenticated"));
    let error = server.client().current_time().await.unwrap_err();
    assert!(error.is_fault("NotAuthenticated"), "{error}");
    assert_eq!(server.times("CurrentTime"), 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_which_all_is_missing_for_want_of_a_session_is_asked_again() {
    let server = Server::new();
    let missing = "<returnval><objects><obj type=\"VirtualMachine\">vm-1</obj><missingSet>\
        <path>name</path><fault><fault xsi:type=\"NotAuthenticated\"/>\
        <localizedMessage>no</localizedMessage></fault></missingSet></objects></returnval>";
    let there = "<returnval><objects><obj type=\"VirtualMachine\">vm-1</obj><propSet>\
        <name>name</name><val xsi:type=\"xsd:string\">n1</val></propSet></objects></returnval>";
    server.reply("RetrievePropertiesEx", returned(missing));
    server.reply("RetrievePropertiesEx", returned(there));
    let objects = server.client().read(&[MoRef::new("VirtualMachine", "vm-1")], &["name"]).await;
    assert_eq!(objects.unwrap()[0].text("name"), Some("n1"));
    assert_eq!(server.times("Login"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_password_is_not_tried_again_before_its_time() {
    let server = Server::new();
    let vim = server.client();
    server.set_password("rotated");
    let mut attempts = Vec::new();
    for minute in 0..60 {
        let before = server.times("Login");
        let error = vim.current_time().await.unwrap_err();
        assert!(matches!(error, VimError::InvalidLogin { .. }), "{error}");
        if server.times("Login") > before {
            attempts.push(minute);
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    assert_eq!(attempts, [0, 1, 3, 7, 15, 30, 45]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_tells_who_and_when_but_not_the_password() {
    let server = Server::new();
    server.set_password("other");
    let vim = server.client();
    let error = vim.current_time().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "vCenter refuses the user name or the password of \"joiner\"; the next attempt is in \
         60 s, or at once with other credentials"
    );
    let shown = format!("{vim:?} {error:?} {:?}", vim.tags());
    assert!(!shown.contains("right"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_changed_password_is_used_at_the_next_login() {
    let server = Server::new();
    let password = Arc::new(Mutex::new("right".to_owned()));
    let source = Arc::clone(&password);
    let vim = server.client_with(VimSettings::with_source(Arc::new(move || {
        Credentials::new("joiner", source.lock().unwrap().clone())
    })));
    vim.current_time().await.unwrap();
    server.set_password("rotated");
    vim.current_time().await.expect("the session goes on");
    server.end_session();
    vim.current_time().await.expect_err("the old password is refused");
    *password.lock().unwrap() = "rotated".to_owned();
    vim.current_time().await.expect("the new one is tried at once");
    assert_eq!(server.times("Login"), 3);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_a_login_share_its_failure() {
    let server = Server::new();
    server.set_password("other");
    let vim = server.client();
    vim.service_content().await.unwrap();
    let times = join_all((0..10).map(|_| vim.current_time())).await;
    assert!(times.iter().all(|t| matches!(t, Err(VimError::InvalidLogin { .. }))), "{times:?}");
    assert_eq!(server.times("Login"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_kept_alive_only_where_there_is_one() {
    let server = Server::new();
    let vim = server.client();
    let hour = tokio::time::timeout(Duration::from_mins(61), vim.keep_alive());
    hour.await.expect_err("it never ends");
    assert_eq!(server.story(), Vec::<String>::new(), "nobody has asked anything");
    vim.current_time().await.unwrap();
    let hour = tokio::time::timeout(Duration::from_mins(61), vim.keep_alive());
    hour.await.expect_err("it never ends");
    assert_eq!(server.times("CurrentTime"), 1 + 12);
}

#[tokio::test(start_paused = true)]
async fn sessions_are_ended_and_begun_again_by_whoever_asks_next() {
    let server = Server::new();
    server.reply("Logout", returned(""));
    let vim = server.client();
    vim.logout().await;
    assert_eq!(server.times("Logout"), 0, "there was none");
    vim.current_time().await.unwrap();
    vim.logout().await;
    vim.logout().await;
    assert_eq!(server.times("Logout"), 1);
    vim.current_time().await.unwrap();
    assert_eq!(server.times("Login"), 2);
}

#[tokio::test(start_paused = true)]
async fn requests_say_who_asks_in_which_version_and_session() {
    let server = Server::new();
    let mut settings = VimSettings::new(Credentials::new("joiner", "right"));
    settings.user_agent = "joiner/1.0 (production)".to_owned();
    server.client_with(settings).current_time().await.unwrap();
    assert_eq!(
        server.story(),
        ["GET /sdk/vimServiceVersions.xml", "RetrieveServiceContent", "Login", "CurrentTime"]
    );
    let asked = server.log().pop().unwrap();
    let header = |name: &str| asked.headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("user-agent"), "joiner/1.0 (production)");
    assert_eq!(header("soapaction"), "urn:vim25/8.0.3.0");
    assert_eq!(header("content-type"), "text/xml; charset=utf-8");
    assert_eq!(header("cookie"), "vmware_soap_session=\"s1\"", "quotes included");
}

/// Writes down what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn request(&self, method: &str, code: &str, took: Duration) {
        self.0.lock().unwrap().push(format!("{method} {code} {} s", took.as_secs()));
    }

    fn login(&self, kind: &str, result: &str) {
        self.0.lock().unwrap().push(format!("login {kind} {result}"));
    }

    fn fault(&self, fault: &str, phase: &str) {
        self.0.lock().unwrap().push(format!("fault {fault} {phase}"));
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_counts_is_told() {
    let server = Server::new();
    server.reply("Destroy_Task", fault("ManagedObjectNotFound").after(3));
    let notes = Arc::new(Notes::default());
    let mut settings = VimSettings::new(Credentials::new("joiner", "right"));
    settings.observer = Arc::clone(&notes) as Arc<dyn Observer>;
    let vim = server.client_with(settings);
    let instance = MoRef::new("VirtualMachine", "vm-1");
    vim.start(&instance, joiner_vim::Method::Destroy).await.unwrap_err();
    assert_eq!(
        *notes.0.lock().unwrap(),
        [
            "vimServiceVersions 200 0 s",
            "RetrieveServiceContent 200 0 s",
            "Login 200 0 s",
            "login soap ok",
            "Destroy_Task ManagedObjectNotFound 3 s",
            "fault ManagedObjectNotFound call",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_login_that_waits_is_not_counted() {
    let server = Server::new();
    server.set_password("other");
    let notes = Arc::new(Notes::default());
    let mut settings = VimSettings::new(Credentials::new("joiner", "right"));
    settings.observer = Arc::clone(&notes) as Arc<dyn Observer>;
    let vim = server.client_with(settings);
    for _ in 0..3 {
        vim.current_time().await.unwrap_err();
    }
    let told = notes.0.lock().unwrap().clone();
    let logins = told.iter().filter(|line| line.starts_with("login "));
    assert_eq!(logins.collect::<Vec<_>>(), ["login soap InvalidLogin"]);
}

#[tokio::test(start_paused = true)]
async fn a_login_that_breaks_is_tried_again_for_those_who_only_ask() {
    let server = Server::new();
    server.reply("Login", Reply::Broken).reply("Login", returned(""));
    server.client().current_time().await.unwrap();
    assert_eq!(server.times("Login"), 2);
}
