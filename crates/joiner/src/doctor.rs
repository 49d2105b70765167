//! `joiner doctor`: what would keep instances from being made, before anybody waits for one.
//!
//! The provider says what is found (`joiner_cloud::doctor`). This command reads the classes and
//! prints the findings.

use std::{collections::BTreeMap, io, time::Duration};

use joiner_clock::Clock;
use joiner_cloud::{
    CloudProvider,
    class::NodeClass,
    doctor::{ClaimSeen, Finding, Patient, Report, SecretSeen, Severity, Summary},
    needs::SecretName,
};
use joiner_operator::{
    answers, files, live,
    objects::Objects,
    settings::{Accepted, Reader, Setting, declared},
};
use joiner_vim::{Vim, VimSettings};
use joiner_vsphere::{NODE_CLASS, NODE_CLASS_KIND, ProviderSettings, Vsphere, doctor::secret_of};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use crate::{
    cli::{Doctor, DoctorVsphereArgs},
    connection,
    errors::{Exit, Failure, chain},
    output::{self, Format},
    run::way_to_vcenter,
    settings::{Declares, VsphereAccess},
    text::{self, Align, BAD, BOLD, Cell, DIM, GOOD, Table, WAITS, styled},
};

/// For how long a vCenter that does not answer is asked again: somebody is waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the doctor goes by: what `joiner run` goes by where it is about the vCenter.
#[derive(Debug)]
pub(crate) struct Examined;

impl Declares for Examined {
    const SETTINGS: &[&[&Setting]] = &[&[&declared::CLUSTER_NAME], declared::VSPHERE];
}

/// Runs `joiner doctor`.
pub(crate) fn run(what: &Doctor) -> Result<Exit, Failure> {
    match what {
        Doctor::Vsphere(args) => vsphere(args),
    }
}

fn vsphere(args: &DoctorVsphereArgs) -> Result<Exit, Failure> {
    let mut reader = Reader::new(args.settings.values());
    let access = VsphereAccess::read(&mut reader, "there is no vCenter to look at without it");
    let Accepted { settings: access, warnings } =
        reader.accept(access).map_err(Failure::BadInput)?;
    for warning in warnings {
        output::talk(&format!("joiner: {warning}"));
    }
    let (line, vim_settings) = way_to_vcenter(&access)?;
    let vim_settings =
        VimSettings { patience: PATIENCE, request_timeout: PATIENCE * 3, ..vim_settings };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Ended(format!("cannot start: {error}")))?;
    let findings = runtime.block_on(async {
        let patient = patient(args, &access).await?;
        let at = format!("{} {}", access.authority, line.way());
        output::progress(&format!("looking at the vCenter at {at}"));
        let clock = Clock::wall();
        let settings = ProviderSettings {
            datacenter: access.datacenter.clone(),
            ..ProviderSettings::new(&access.cluster_name, &access.folder)
        };
        let vim = Vim::new(vim_settings, line, clock.clone());
        Ok::<_, Failure>(Vsphere::new(vim, clock, settings).examine(&patient).await)
    })?;
    let report = Report::of(findings);
    match args.output {
        Format::Json => output::json(&report)?,
        Format::Yaml => output::yaml(&report)?,
        Format::Table => output::text(&render(&report, false))?,
        Format::Wide => output::text(&render(&report, true))?,
    }
    Ok(if report.summary.problems > 0 { Exit::Violated } else { Exit::Success })
}

/// What is looked at, from files or from the cluster.
async fn patient(args: &DoctorVsphereArgs, access: &VsphereAccess) -> Result<Patient, Failure> {
    let address = access.authority.clone();
    let is_named = args.cluster.kubeconfig.is_some() || args.cluster.context.is_some();
    if !args.files.is_empty() {
        if is_named {
            return Err(Failure::bad_input(
                "-f reads files, --kubeconfig and --context lead to a cluster: give one of them",
            ));
        }
        let objects = files::read(&args.files, io::stdin().lock())
            .map_err(|error| Failure::bad_input(chain(&error)))?;
        let classes = classes(&objects);
        if classes.is_empty() {
            return Err(Failure::bad_input(format!(
                "there is no {NODE_CLASS_KIND} in the files: give what `kubectl get {} -o yaml` \
                 prints, or leave -f out",
                NODE_CLASS.plural
            )));
        }
        let why = "NodeClaims are read from a cluster, and -f reads files: leave it out".to_owned();
        let secrets = BTreeMap::new();
        return Ok(Patient { address, classes: Ok(classes), claims: Err(why), secrets });
    }
    match of_cluster(args).await {
        Ok(Seen { objects, secrets }) => {
            let none = || format!("the cluster has no {NODE_CLASS_KIND}: give one with -f");
            let classes = Some(classes(&objects)).filter(|classes| !classes.is_empty());
            let (classes, claims) = (classes.ok_or_else(none), Ok(claims(&objects)));
            Ok(Patient { address, classes, claims, secrets })
        }
        // Who names a cluster means it; otherwise what can be looked at without one is.
        Err(failure) if is_named => Err(failure),
        Err(failure) => {
            let why = match failure {
                Failure::BadInput(problems) => problems.join("; "),
                Failure::Output(error) => error.to_string(),
                Failure::Ended(why) => why,
            };
            let classes = Err(format!("no class is given (-f), and no cluster is read: {why}"));
            let claims = Err("no cluster is read".to_owned());
            Ok(Patient { address, classes, claims, secrets: BTreeMap::new() })
        }
    }
}

/// What a cluster has that is looked at.
struct Seen {
    objects: Objects,
    secrets: BTreeMap<SecretName, SecretSeen>,
}

async fn of_cluster(args: &DoctorVsphereArgs) -> Result<Seen, Failure> {
    let found = connection::find(&args.cluster).await?;
    let url = found.url();
    output::progress(&format!("reading the cluster at {url} {}", found.way));
    let client = connection::client(&found, None)?;
    let read = live::read_only(&client, &["NodeClaim"], &[NODE_CLASS]).await;
    let live = read.map_err(|problems| {
        let at = |problem| format!("cluster {url}: {}", chain(&problem));
        Failure::BadInput(problems.into_iter().map(at).collect())
    })?;
    let mut secrets = BTreeMap::new();
    for name in classes(&live.objects).iter().filter_map(secret_of) {
        let seen = look_at_secret(&client, &name).await;
        secrets.insert(name, seen);
    }
    Ok(Seen { objects: live.objects, secrets })
}

/// What a cluster says of a Secret.
async fn look_at_secret(client: &Client, secret: &SecretName) -> SecretSeen {
    let SecretName { namespace, name } = secret;
    let namespace = namespace.as_deref();
    let looked_in = namespace.unwrap_or(client.default_namespace());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), looked_in);
    match (tokio::time::timeout(PATIENCE, secrets.get_opt(name)).await, namespace) {
        (Ok(Ok(Some(found))), _) => SecretSeen::Found(
            found
                .data
                .unwrap_or_default()
                .into_iter()
                .map(|(key, value)| (key, joiner_cloud::bootstrap::Secret::new(value.0)))
                .collect(),
        ),
        (Ok(Ok(None)), Some(_)) => SecretSeen::Absent,
        // The controller looks in its own namespace, and nobody says which that is.
        (Ok(Ok(None)), None) => SecretSeen::Unread(format!(
            "there is none in namespace {looked_in:?}, that of the kubeconfig's context; choose a \
             context of the controller's namespace, or write spec.userData.secretRef.namespace"
        )),
        (Ok(Err(error)), _) => SecretSeen::Unread(format!(
            "{}; give the account the verb get on secrets in namespace {looked_in:?}",
            answers::problem(&error)
        )),
        (Err(_), _) => {
            SecretSeen::Unread(format!("no answer within {} s; ask again", PATIENCE.as_secs()))
        }
    }
}

fn classes(objects: &Objects) -> Vec<NodeClass> {
    objects.node_classes.iter().filter_map(|object| object.of_kind(&NODE_CLASS)).collect()
}

fn claims(objects: &Objects) -> Vec<ClaimSeen> {
    let seen = objects.node_claims.iter().map(|claim| ClaimSeen {
        uid: claim.metadata.uid.clone().unwrap_or_default(),
        provider_id: claim.status.as_ref().and_then(|status| status.provider_id.clone()),
    });
    seen.collect()
}

fn render(report: &Report, wide: bool) -> String {
    let mut sections: Vec<String> = Vec::new();
    for group in report.findings.chunk_by(|a, b| a.object == b.object) {
        let object = group.first().map_or("", |finding| finding.object.as_str());
        let title = if object.is_empty() { "classes" } else { object };
        sections.push(format!("{}\n{}", styled(title, BOLD), table(group, wide)));
    }
    sections.push(totals(&report.summary) + "\n");
    sections.join("\n")
}

fn table(findings: &[Finding], wide: bool) -> String {
    let left = |title| (title, Align::Left);
    let mut table = Table::new(["", "CHECK", "CODE", "FINDING"].map(left));
    for finding in findings {
        let (word, style) = match finding.severity {
            Severity::Ok => ("  ok", GOOD),
            Severity::Warning => ("  warning", WAITS),
            Severity::Problem => ("  problem", BAD),
            Severity::NotChecked => ("  not checked", DIM),
        };
        let code = if wide { finding.code.as_str() } else { "" };
        table.row([
            Cell::new(word, style),
            finding.check.into(),
            code.into(),
            finding.text.as_str().into(),
        ]);
        if !finding.remedy.is_empty() {
            table.detail(format!("    → {}", finding.remedy));
        }
    }
    table.render()
}

fn totals(summary: &Summary) -> String {
    let Summary { ok, warnings, problems, not_checked } = summary;
    let mut parts = Vec::new();
    if *problems > 0 {
        parts.push(styled(&text::count(*problems, "problem"), BAD));
    }
    if *warnings > 0 {
        parts.push(styled(&text::count(*warnings, "warning"), WAITS));
    }
    if *not_checked > 0 {
        parts.push(format!("{not_checked} not checked"));
    }
    parts.push(format!("{ok} fine"));
    parts.join(", ") + "."
}
