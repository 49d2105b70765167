//! `joiner lab`: a cluster that lives in this process, served to others or told as a story.

mod replay;

use std::{fs, io, net::SocketAddr, path::Path};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Protection, Server, Serving, Status, kubeconfig};
use joiner_clock::Clock;
use joiner_core::{quantity::Quantity, resources::Resources};
use joiner_lab::{Lab, Setup, cluster::instances::InstanceSpec, history::Keep};
use joiner_operator::files::{self, Place};
use serde_json::Value;

pub(crate) use replay::replay;

use crate::{
    cli::LabServeArgs,
    errors::{Exit, Failure, chain},
    output,
};

/// The token of callers of a laboratory. It is no secret: access to the port is enough to use it.
const TOKEN: &str = "joiner-lab";

/// Uids and generated names are drawn from this, so that two runs of the same commands agree.
const SEED: u64 = 1;

/// Fields of metadata that the server gives; those of another cluster mean nothing here.
const GIVEN_BY_SERVER: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// Serves a laboratory until Ctrl-C.
pub(crate) fn serve(args: &LabServeArgs) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::bad_input(format!("cannot start: {error}")))?;
    runtime.block_on(run(args))
}

async fn run(args: &LabServeArgs) -> Result<Exit, Failure> {
    // At its usual speed the laboratory's time is the computer's, so that ages make sense to
    // clients, which compare with their own clock.
    let clock = if (args.speed - 1.0).abs() < f64::EPSILON {
        Clock::wall()
    } else {
        Clock::faster(Timestamp::now(), args.speed)
    };
    let setup = Setup { seed: SEED, clock: Some(clock), keep: Keep::Nothing, bare: args.bare };
    let mut lab = Lab::new(setup);
    let objects = files::read_as_written(&args.files, io::stdin().lock())
        .map_err(|error| Failure::bad_input(chain(&error)))?;
    if !args.bare {
        boot_instances(&lab, &objects)?;
    }
    load(lab.server(), objects)?;
    let serving = open_port(lab.server(), args.listen, !args.http).await?;
    hand_out(args, &serving)?;
    lab.beside(stopped()).await?;
    serving.stop().await;
    Ok(Exit::Success)
}

/// Serves a laboratory's API to others on this computer; safely, with a certificate and a token.
pub(crate) async fn open_port(
    server: &Server,
    listen: SocketAddr,
    safely: bool,
) -> Result<Serving, Failure> {
    let protection = if safely {
        Protection { tls: true, token: Some(TOKEN.to_owned()) }
    } else {
        Protection::default()
    };
    let serving = Serving::bind(server.clone(), listen, protection).await;
    serving.map_err(|error| Failure::bad_input(chain(&error)))
}

/// Writes what `kubectl` needs to a file.
pub(crate) fn write_kubeconfig(path: &Path, serving: &Serving) -> Result<(), Failure> {
    fs::write(path, kubeconfig(serving)).map_err(|error| {
        let path = path.display();
        Failure::bad_input(format!("cannot write {path}: {error}"))
    })
}

/// Gives the user what `kubectl` needs.
fn hand_out(args: &LabServeArgs, serving: &Serving) -> Result<(), Failure> {
    let url = serving.url();
    let Some(path) = &args.kubeconfig else {
        output::bytes(kubeconfig(serving).as_bytes())?;
        output::talk(&format!(
            "joiner: the laboratory is at {url}; save what was printed as a file and give it to \
             kubectl as --kubeconfig. Ctrl-C ends it"
        ));
        return Ok(());
    };
    write_kubeconfig(path, serving)?;
    let shown = path.display();
    output::talk(&format!(
        "joiner: the laboratory is at {url}; try: kubectl --kubeconfig {shown} get nodes. \
         Ctrl-C ends it"
    ));
    Ok(())
}

/// Waits for Ctrl-C, or for the signal by which others end programs.
pub(crate) async fn stopped() -> Result<(), Failure> {
    let waited = async {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut terminate = signal(SignalKind::terminate())?;
            tokio::select! {
                outcome = tokio::signal::ctrl_c() => outcome,
                _ = terminate.recv() => Ok(()),
            }
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await
    };
    let refuse = |error: io::Error| format!("cannot wait for Ctrl-C on this system: {error}");
    waited.await.map_err(|error| Failure::bad_input(refuse(error)))
}

/// Gives every Node an instance, whose kubelet keeps it alive.
fn boot_instances(lab: &Lab, objects: &[(Place, Value)]) -> Result<(), Failure> {
    for (place, node) in objects.iter().filter(|(_, object)| object["kind"] == "Node") {
        let refuse = |problem: String| Failure::bad_input(format!("{place}: Node: {problem}"));
        let instance = instance_of(node).map_err(refuse)?;
        lab.instances().boot(instance).map_err(|error| refuse(error.to_string()))?;
    }
    Ok(())
}

/// An instance that is what a Node says it is, and is there from the beginning.
fn instance_of(node: &Value) -> Result<InstanceSpec, String> {
    let mut instance = InstanceSpec::new(node["metadata"]["name"].as_str().unwrap_or_default());
    if let Some(id) = node["spec"]["providerID"].as_str() {
        id.clone_into(&mut instance.provider_id);
    }
    if let Some(capacity) = resources(&node["status"]["capacity"])? {
        instance.allocatable = capacity.clone();
        instance.capacity = capacity;
    }
    if let Some(allocatable) = resources(&node["status"]["allocatable"])? {
        instance.allocatable = allocatable;
    }
    instance.boot_delay = SignedDuration::ZERO;
    instance.join_delay = SignedDuration::ZERO;
    instance.ready_delay = SignedDuration::ZERO;
    Ok(instance)
}

fn resources(amounts: &Value) -> Result<Option<Resources>, String> {
    let Some(amounts) = amounts.as_object() else { return Ok(None) };
    let amount = |(name, amount): (&String, &Value)| {
        let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        let amount = text.parse::<Quantity>();
        amount.map(|amount| (name.clone(), amount)).map_err(|error| format!("{name}: {error}"))
    };
    amounts.iter().map(amount).collect::<Result<_, _>>().map(Some)
}

/// Creates objects: definitions first, then namespaces, then the rest as given.
fn load(server: &Server, mut objects: Vec<(Place, Value)>) -> Result<(), Failure> {
    objects.sort_by_key(|(_, object)| match object["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    });
    let caller = server.caller("joiner-lab");
    let mut problems = Vec::new();
    for (place, object) in objects {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{} {}", text("/kind"), text("/metadata/name"));
        if let Err(problem) = create(server, &caller, object) {
            problems.push(format!("{place}: {name}: {problem}"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::BadInput(problems)) }
}

/// Creates an object from a manifest or from a dump of another cluster.
pub(crate) fn create(server: &Server, caller: &Caller, mut object: Value) -> Result<(), Status> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some((resource, namespaced)) = server.resource_of(&api_version, &kind) else {
        return Err(Status::bad_request(format!(
            "no kind {kind:?} is served in {api_version:?}; give its CustomResourceDefinition too"
        )));
    };
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !GIVEN_BY_SERVER.contains(&field.as_str()));
        if namespaced {
            metadata.entry("namespace").or_insert_with(|| "default".into());
        }
    }
    let status = object.get("status").cloned();
    let created = match caller.create(&resource, object) {
        Ok(created) => created,
        // Every server has some objects from its first moment, and so do dumps of clusters.
        Err(status) if status.code == 409 => return Ok(()),
        Err(status) => return Err(status),
    };
    let Some(status) = status else { return Ok(()) };
    // What a dump says about the state of things is taken over where it can be written at all.
    let mut with_status = created.value();
    with_status["status"] = status;
    match caller.update_status(&resource, with_status) {
        Err(refused) if !matches!(refused.code, 404 | 405) => Err(refused),
        _ => Ok(()),
    }
}
