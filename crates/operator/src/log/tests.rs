use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::{Arc, Mutex},
    task::{self, Poll},
};

use expect_test::expect;
use http::{Request, Response};
use http_body_util::Full;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, client::Body};
use tower_service::Service;

use super::*;
use crate::{
    cluster::Cluster, introduction::Introduction, provisioning::telling::log_made, world::Cache,
};

/// What is written while something runs, with a clock that stands still.
pub(crate) fn written(form: Form, level: LogLevel, run: impl FnOnce()) -> String {
    written_by(form, level, async { run() })
}

/// The same for something that waits.
fn written_by(form: Form, level: LogLevel, run: impl Future<Output = ()>) -> String {
    let written = Arc::new(Mutex::new(Vec::new()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let clock = Clock::following_runtime("2026-01-01T12:00:00.123456Z".parse().unwrap());
        let style = Style { form, commit: "abc1234", caller: false };
        let log = Log::new(style, clock, Outputs::kept(&written));
        let subscriber = tracing_subscriber::registry().with(log.with_filter(filter(level)));
        let _default = tracing::subscriber::set_default(subscriber);
        run.await;
    });
    let bytes = written.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn a_reconcile() {
    let span = tracing::info_span!(
        "reconcile",
        controller = "nodeclaim.lifecycle",
        controllerGroup = "karpenter.sh",
        controllerKind = "NodeClaim",
        NodeClaim.name = "general-x7k2p",
        node = tracing::field::Empty,
    );
    let _entered = span.enter();
    span.record("node", "worker-1");
    tracing::info!(
        provider_id = "kwok://general-x7k2p",
        cpus = 4,
        price = 0.25,
        "launched nodeclaim"
    );
    tracing::warn!(
        Pod.namespace = "shop",
        Pod.name = "web-0\n12:00:00 INFO forged",
        error = "no \"room\"",
        "pod stays where it is"
    );
    tracing::debug!("a decision");
    tracing::info!(target: "hyper", "a library's talk");
}

#[test]
fn lines_are_karpenters_json() {
    expect![[r#"
        {"level":"INFO","time":"2026-01-01T12:00:00.123Z","logger":"controller","message":"launched nodeclaim","commit":"abc1234","controller":"nodeclaim.lifecycle","controllerGroup":"karpenter.sh","controllerKind":"NodeClaim","NodeClaim":{"name":"general-x7k2p"},"node":"worker-1","provider_id":"kwok://general-x7k2p","cpus":4,"price":0.25}
        {"level":"WARN","time":"2026-01-01T12:00:00.123Z","logger":"controller","message":"pod stays where it is","commit":"abc1234","controller":"nodeclaim.lifecycle","controllerGroup":"karpenter.sh","controllerKind":"NodeClaim","NodeClaim":{"name":"general-x7k2p"},"node":"worker-1","Pod":{"name":"web-0\n12:00:00 INFO forged","namespace":"shop"},"error":"no \"room\""}
    "#]].assert_eq(&written(Form::Json, LogLevel::Info, a_reconcile));
}

#[test]
fn an_object_has_one_form_however_it_is_named() {
    let text = written(Form::Json, LogLevel::Info, || {
        tracing::info!(NodeClaim = "general-x7k2p", Pod = %"shop/web-0", "as a text");
        tracing::info!(
            NodeClaim.name = "general-x7k2p",
            Pod.name = "web-0",
            Pod.namespace = "shop",
            "in parts"
        );
    });
    let facts = |line: &str| line.split_once("\"commit\"").unwrap().1.to_owned();
    let facts: Vec<String> = text.lines().map(facts).collect();
    assert_eq!(facts[0], facts[1]);
    let both = r#""NodeClaim":{"name":"general-x7k2p"},"Pod":{"name":"web-0","namespace":"shop"}}"#;
    assert!(facts[0].ends_with(both), "{text}");
}

/// What the page shows is what is written.
#[test]
fn the_page_has_lines_as_they_are_written() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
    let page = std::fs::read_to_string(page).unwrap();
    let introduced = || {
        Introduction {
            cluster: "prod at https://10.0.0.10:6443".to_owned(),
            providers: "vsphere".to_owned(),
            gates: "ReservedCapacity".to_owned(),
            leases: "joiner/karpenter-leader-election".to_owned(),
        }
        .tell("0.1.0");
        log_made("provisioner", "general-8vcx9", "general", 3);
    };
    for form in [Form::Json, Form::Short] {
        for line in written(form, LogLevel::Info, introduced).lines() {
            assert!(
                page.contains(&format!("    {line}\n")),
                "docs/operating.md lacks the line:\n{line}"
            );
        }
    }
}

#[test]
fn the_page_lists_the_fields_that_name_objects() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
    let page = std::fs::read_to_string(page).unwrap();
    for object in fields::OBJECTS {
        assert!(page.contains(&format!("`{object}`")), "docs/operating.md does not list {object}");
    }
}

#[test]
fn lines_on_a_terminal_are_short() {
    expect![[r#"
        12:00:00.123 INFO  launched nodeclaim  controller=nodeclaim.lifecycle  controllerGroup=karpenter.sh  controllerKind=NodeClaim  NodeClaim=general-x7k2p  node=worker-1  provider_id=kwok://general-x7k2p  cpus=4  price=0.25
        12:00:00.123 WARN  pod stays where it is  controller=nodeclaim.lifecycle  controllerGroup=karpenter.sh  controllerKind=NodeClaim  NodeClaim=general-x7k2p  node=worker-1  Pod=shop/web-0 12:00:00 INFO forged  error=no "room"
        12:00:00.123 DEBUG a decision  controller=nodeclaim.lifecycle  controllerGroup=karpenter.sh  controllerKind=NodeClaim  NodeClaim=general-x7k2p  node=worker-1
    "#]].assert_eq(&written(Form::Short, LogLevel::Debug, a_reconcile));
}

#[test]
fn a_log_of_errors_has_only_errors() {
    let text = written(Form::Short, LogLevel::Error, || {
        a_reconcile();
        tracing::error!("an instance was lost");
    });
    assert_eq!(text, "12:00:00.123 ERROR an instance was lost\n");
}

#[test]
fn secrets_are_never_written() {
    let text = written(Form::Json, LogLevel::Debug, || {
        tracing::info!(
            bootstrapToken = "abcdef.0123456789abcdef",
            password = "hunter2",
            user_data = "#cloud",
            Secret.name = "vcenter",
            Secret.namespace = "kube-system",
            vcenter.password = "hunter2",
            "read credentials"
        );
    });
    expect![[r#"
        {"level":"INFO","time":"2026-01-01T12:00:00.123Z","logger":"controller","message":"read credentials","commit":"abc1234","bootstrapToken":"(left out)","password":"(left out)","user_data":"(left out)","Secret":{"name":"vcenter","namespace":"kube-system"},"vcenter":{"password":"(left out)"}}
    "#]].assert_eq(&text);
}

#[test]
fn a_flood_of_one_line_is_thinned_out_and_errors_never_are() {
    let text = written(Form::Short, LogLevel::Info, || {
        for _ in 0..1000 {
            tracing::info!("again");
            tracing::error!("broken");
        }
    });
    let count = |word: &str| text.lines().filter(|line| line.ends_with(word)).count();
    assert_eq!((count("again"), count("broken")), (109, 1000));
}

#[test]
fn an_output_that_cannot_be_opened_is_named() {
    let outputs = ["stdout".to_owned(), "/nowhere/at/all.log".to_owned()];
    let error = Outputs::open(&outputs, &[]).err().map(|error| error.to_string());
    expect![[r#"Some("the log cannot be written to \"/nowhere/at/all.log\" (--log-output-paths, LOG_OUTPUT_PATHS): use stdout, stderr or a file that can be written")"#]]
        .assert_eq(&format!("{error:?}"));
}

/// An API server that answers everything with the same text.
#[derive(Clone)]
struct Answers(&'static str);

impl Service<Request<Body>> for Answers {
    type Response = Response<Full<bytes::Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request<Body>) -> Self::Future {
        ready(Ok(Response::new(Full::from(self.0))))
    }
}

/// What is written about a Secret whose answer is `text`, when a controller has met the error.
fn written_about_secret(text: &'static str) -> String {
    written_by(Form::Short, LogLevel::Debug, async move {
        let client = Client::new(Answers(text), "default");
        let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
        let cluster = Cluster::new(client, Clock::wall(), Cache::default());
        let what = || "get Secret kube-system/vcenter".to_owned();
        let trouble = cluster.call(what, secrets.get_opt("vcenter")).await.unwrap_err();
        tracing::error!(controller = "nodeclass", "{trouble}");
    })
}

#[test]
fn an_answer_that_cannot_be_decoded_is_told_without_its_text() {
    let broken_off = r#"{"kind":"Secret","data":{"password":"aHVudGVyMg=="#;
    let of_another_shape = r#"{"kind":"Secret","metadata":{},"data":"aHVudGVyMg=="}"#;
    let no_json = r#"{"kind":"Secret","data":aHVudGVyMg==}"#;
    let told = [broken_off, of_another_shape, no_json].map(written_about_secret).concat();
    assert!(!told.contains("aHVudGVyMg"), "{told}");
    expect![[r#"
        12:00:00.123 WARN  an answer of the API server cannot be decoded: it breaks off at line 1, column 49  call=get Secret kube-system/vcenter  line=1  column=49
        12:00:00.123 ERROR get Secret kube-system/vcenter: the answer breaks off at line 1, column 49  controller=nodeclass
        12:00:00.123 WARN  an answer of the API server cannot be decoded: it has not the fields of its kind at line 1, column 52  call=get Secret kube-system/vcenter  line=1  column=52
        12:00:00.123 ERROR get Secret kube-system/vcenter: the answer has not the fields of its kind at line 1, column 52  controller=nodeclass
        12:00:00.123 WARN  an answer of the API server cannot be decoded: it is no JSON at line 1, column 25  call=get Secret kube-system/vcenter  line=1  column=25
        12:00:00.123 ERROR get Secret kube-system/vcenter: the answer is no JSON at line 1, column 25  controller=nodeclass
    "#]].assert_eq(&told);
}
