use std::sync::{Arc, Mutex};

use expect_test::expect;

use super::*;

/// What is written while something runs, with a clock that stands still.
fn written(form: Form, level: LogLevel, run: impl FnOnce()) -> String {
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
        tracing::subscriber::with_default(subscriber, run);
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
        tracing::error!("a machine was lost");
    });
    assert_eq!(text, "12:00:00.123 ERROR a machine was lost\n");
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
