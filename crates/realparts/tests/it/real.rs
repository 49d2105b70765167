use std::{env, fs};

use joiner_realparts::{
    accepted::Accepted,
    compare::Comparison,
    control_plane::{ControlPlane, Options, Parts},
    generate::{Generator, custom::Definition},
    http::{Request, Server},
    report::Report,
};

/// The installed parts, where there are any.
pub(crate) fn parts() -> Option<Parts> {
    let path = env::var_os("JOINER_CONTROL_PLANE")?;
    let listing = fs::read_to_string(path).expect("JOINER_CONTROL_PLANE names a file");
    Some(Parts::from_listing(&listing).expect("the parts are listed"))
}

/// Compares two real servers, the second with flags of its own.
async fn compare(parts: &Parts, flags: &[&str], exchanges: usize) -> Report {
    let flags = flags.iter().map(ToString::to_string).collect();
    let changed = Options { apiserver_flags: flags, ..Options::default() };
    let real = ControlPlane::start(parts, &Options::default()).await.expect("it starts");
    let lab = ControlPlane::start(parts, &changed).await.expect("it starts");
    let server = |plane: &ControlPlane| Server::new(plane.url(), plane.token());
    let mut comparison = Comparison::new(server(&real), server(&lab));
    let mut generator = Generator::new(11, &Definition::own());
    let mut report = Report::new(Accepted::list().expect("the list is well-formed"));
    for number in 1..=exchanges {
        let exchange = generator.next_exchange();
        let outcome = comparison.ask(&exchange).await.expect("both servers answer");
        let agreed = report.agrees(&exchange, &outcome);
        generator.observe(&exchange, outcome.real.status, &outcome.real.body, agreed);
        report.add(number, &exchange, &outcome);
    }
    report
}

#[tokio::test]
async fn two_real_servers_do_not_differ() {
    let Some(parts) = parts() else { return };
    let report = compare(&parts, &[], 400).await;
    assert_eq!(report.remaining(), 0, "{}", report.text());
}

#[tokio::test]
async fn a_server_that_behaves_otherwise_is_found_out() {
    let Some(parts) = parts() else { return };
    let report = compare(&parts, &["--enable-admission-plugins=AlwaysPullImages"], 400).await;
    let text = report.text();
    assert!(text.contains("create pods: spec.containers[*].imagePullPolicy"), "{text}");
}

#[tokio::test]
async fn nothing_is_left_of_a_control_plane_that_was_dropped() {
    let Some(parts) = parts() else { return };
    let plane = ControlPlane::start(&parts, &Options::default()).await.unwrap();
    let (url, kubeconfig) = (plane.url().to_owned(), plane.kubeconfig().to_owned());
    assert!(kubeconfig.exists());
    drop(plane);
    assert!(!kubeconfig.exists());
    let question = Request { method: "GET".into(), path: "/readyz".into(), ..Request::default() };
    assert!(Server::new(&url, "any").send(&question).await.is_err());
}

#[tokio::test]
async fn a_control_plane_begins_with_what_another_has_left() {
    let Some(parts) = parts() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut plane = ControlPlane::start(&parts, &Options::default()).await.unwrap();
    let left = Request {
        method: "POST".into(),
        path: "/api/v1/namespaces".into(),
        headers: vec![("content-type".into(), "application/json".into())],
        body: Some(r#"{"metadata": {"name": "left"}}"#.into()),
    };
    let server = Server::new(plane.url(), plane.token());
    assert_eq!(server.send(&left).await.unwrap().status, 201);
    plane.leave(&store).unwrap();
    assert!(server.send(&left).await.is_err(), "it has ended");

    let path = "/api/v1/namespaces/left";
    let is_there = Request { method: "GET".into(), path: path.into(), ..Request::default() };
    let gone = Request { method: "DELETE".into(), ..is_there.clone() };
    let options = Options { store: Some(store), ..Options::default() };
    // What becomes of one copy is of no concern to the next.
    for _ in 0..2 {
        let copy = ControlPlane::start(&parts, &options).await.unwrap();
        let server = Server::new(copy.url(), copy.token());
        let found = server.send(&is_there).await.unwrap();
        assert_eq!(found.status, 200, "{}", found.body);
        assert!(!found.body.contains("deletionTimestamp"), "{}", found.body);
        assert_eq!(server.send(&gone).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn controllers_and_scheduler_run_where_they_are_wanted() {
    let Some(parts) = parts() else { return };
    let options = Options { controllers: true, scheduler: true, ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    let server = Server::new(plane.url(), plane.token());
    // Every namespace has this account as soon as controllers run.
    let path = "/api/v1/namespaces/default/serviceaccounts/default";
    let question = Request { method: "GET".into(), path: path.into(), ..Request::default() };
    while server.send(&question).await.unwrap().status != 200 {
        tokio::task::yield_now().await;
    }
}
