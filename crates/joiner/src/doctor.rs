//! `joiner doctor`: what would keep machines from being made, before anybody waits for one.
//!
//! What is found is the provider's to say (`joiner_vsphere::doctor`); here it is found out where
//! the classes are, and what was found is printed.

use std::{io, time::Duration};

use joiner_clock::Clock;
use joiner_cloud::class::NodeClass;
use joiner_operator::{
    files, live,
    objects::Objects,
    settings::{Accepted, Reader, Setting, declared},
};
use joiner_vim::{Vim, VimSettings};
use joiner_vsphere::{
    NODE_CLASS, NODE_CLASS_KIND, ProviderSettings, Vsphere,
    doctor::{ClaimSeen, Finding, Patient, Severity},
};
use serde::Serialize;

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
        output::progress(&format!("looking at the vCenter at {}", access.authority));
        let clock = Clock::wall();
        let settings = ProviderSettings {
            datacenter: access.datacenter.clone(),
            ..ProviderSettings::new(&access.cluster_name, &access.folder)
        };
        let vim = Vim::new(vim_settings, line, clock.clone());
        Ok::<_, Failure>(Vsphere::new(vim, clock, settings).examine(&patient).await)
    })?;
    let report = Report { summary: Summary::of(&findings), findings };
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
        return Ok(Patient { address, classes: Ok(classes), claims: Err(why) });
    }
    match of_cluster(args).await {
        Ok(objects) => {
            let none = || format!("the cluster has no {NODE_CLASS_KIND}: give one with -f");
            let classes = Some(classes(&objects)).filter(|classes| !classes.is_empty());
            Ok(Patient { address, classes: classes.ok_or_else(none), claims: Ok(claims(&objects)) })
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
            Ok(Patient { address, classes, claims })
        }
    }
}

async fn of_cluster(args: &DoctorVsphereArgs) -> Result<Objects, Failure> {
    let config = connection::config(&args.cluster).await?;
    let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    output::progress(&format!("reading the cluster at {url}"));
    let client = connection::client(config, None)?;
    let read = live::read_only(&client, &["NodeClaim"], &[NODE_CLASS]).await;
    let live = read.map_err(|problems| {
        let at = |problem| format!("cluster {url}: {}", chain(&problem));
        Failure::BadInput(problems.into_iter().map(at).collect())
    })?;
    Ok(live.objects)
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

/// The document that programs read. The order of fields is part of the format.
#[derive(Debug, Serialize)]
struct Report {
    findings: Vec<Finding>,
    summary: Summary,
}

/// How many findings there are of each kind.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    ok: usize,
    warnings: usize,
    problems: usize,
    not_checked: usize,
}

impl Summary {
    fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|own| own.severity == severity).count();
        Self {
            ok: count(Severity::Ok),
            warnings: count(Severity::Warning),
            problems: count(Severity::Problem),
            not_checked: count(Severity::NotChecked),
        }
    }
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
