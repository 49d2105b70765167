//! `joiner doctor`: what would keep instances from being made, before a pod waits for one.
//!
//! Each cloud of the table says what is found of it (`joiner_cloud::doctor`); here its classes are
//! looked for, and what was found is printed.

use std::{collections::BTreeMap, io, path::PathBuf, time::Duration};

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, error::ErrorKind};
use joiner_clock::Clock;
use joiner_cloud::{
    class::{ClassKind, NodeClass},
    doctor::{ClaimSeen, Finding, Patient, Report, SecretSeen, Severity, Summary},
    needs::SecretName,
};
use joiner_operator::{answers, files, live, objects::Objects, settings::declared};
use joiner_settings::{Accepted, Reader, Setting, Values};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

use crate::{
    clouds::{self, CloudKind, Clouds, DoctorKind},
    connection::{self, ClusterArgs},
    errors::{Exit, Failure, chain},
    output::{self, Format},
    settings::{given, with_settings},
    text::{self, Align, BAD, BOLD, Cell, DIM, GOOD, Table, WAITS, styled},
};

/// For how long the API server may take to show a Secret: a person is waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cloud to look at, and how: `joiner doctor` with the name of the cloud.
#[derive(Debug)]
pub(crate) struct Doctor {
    kind: &'static CloudKind,
    how: &'static DoctorKind,
    args: DoctorArgs,
    values: Values,
}

/// What is the same for all clouds. The comments on fields are the help that `--help` prints.
#[derive(Debug, Args)]
struct DoctorArgs {
    #[arg(short = 'f', long = "filename", value_name = "PATH", num_args = 1..)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// How to print what is found
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// What a doctor goes by: what `joiner run` goes by where it is about the cloud.
fn settings(kind: &CloudKind) -> Vec<&'static Setting> {
    let name = kind.settings.needs_cluster_name.then_some(&declared::CLUSTER_NAME);
    name.into_iter().chain(kind.settings.access.iter().copied()).collect()
}

/// A command with a subcommand for each cloud that has a doctor.
pub(crate) fn with_doctors(command: Command, clouds: Clouds) -> Command {
    clouds.doctors().fold(command, |command, (kind, doctor)| {
        let own = DoctorArgs::augment_args(Command::new(kind.name))
            .about(doctor.about)
            .long_about(format!("{}\n\n{}", doctor.about, doctor.details))
            .mut_arg("files", |files| files.help(doctor.files));
        command.subcommand(with_settings(own, &settings(kind)))
    })
}

impl Doctor {
    /// What was typed after `joiner doctor`.
    pub(crate) fn of(matches: &ArgMatches, clouds: Clouds) -> Result<Self, Error> {
        let missing = || Error::raw(ErrorKind::MissingSubcommand, "name what to look at");
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let mut doctors = clouds.doctors();
        let (kind, how) = doctors.find(|(kind, _)| kind.name == name).ok_or_else(missing)?;
        let args = DoctorArgs::from_arg_matches(matches)?;
        Ok(Self { kind, how, args, values: given(matches, &settings(kind)) })
    }
}

impl FromArgMatches for Doctor {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Self::of(matches, clouds::ALL)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Doctor {
    fn augment_subcommands(command: Command) -> Command {
        with_doctors(command, clouds::ALL)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        clouds::ALL.doctors().any(|(kind, _)| kind.name == name)
    }
}

/// Runs `joiner doctor`.
pub(crate) fn run(asked: &Doctor) -> Result<Exit, Failure> {
    let report = report(asked)?;
    match asked.args.output {
        Format::Json => output::json(&report)?,
        Format::Yaml => output::yaml(&report)?,
        Format::Table => output::text(&render(&report, false))?,
        Format::Wide => output::text(&render(&report, true))?,
    }
    Ok(if report.summary.problems > 0 { Exit::Violated } else { Exit::Success })
}

/// Looks, and changes nothing.
pub(crate) fn report(asked: &Doctor) -> Result<Report, Failure> {
    let Doctor { kind, how, args, values } = asked;
    let mut reader = Reader::new(values);
    let cluster_name = kind.cluster_name(&mut reader, how.needed);
    let examined = (how.read)(&mut reader, cluster_name, how.needed);
    let Accepted { settings: examined, warnings } =
        reader.accept(examined).map_err(Failure::BadInput)?;
    for warning in warnings {
        output::talk(&format!("joiner: {warning}"));
    }
    let reached = examined.reach(&connection::proxies()?, &Clock::wall())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Ended(format!("cannot start: {error}")))?;
    let findings = runtime.block_on(async {
        let looking = Looking { args, kind, how };
        let patient = looking.patient(examined.address()).await?;
        output::progress(&format!("looking at {}", reached.at()));
        Ok::<_, Failure>(reached.examine(&patient).await)
    })?;
    Ok(Report::of(findings))
}

/// What is looked for among the objects of a cluster.
struct Looking<'l> {
    args: &'l DoctorArgs,
    kind: &'static CloudKind,
    how: &'static DoctorKind,
}

impl Looking<'_> {
    fn kinds(&self) -> Vec<ClassKind> {
        self.kind.classes.iter().map(|class| class.kind).collect()
    }

    /// A word for each kind of class.
    fn words(&self, word: impl Fn(&ClassKind) -> &'static str, between: &str) -> String {
        self.kinds().iter().map(word).collect::<Vec<_>>().join(between)
    }

    /// What is looked at, from files or from the cluster.
    async fn patient(&self, address: String) -> Result<Patient, Failure> {
        let args = self.args;
        let is_named = args.cluster.kubeconfig.is_some() || args.cluster.context.is_some();
        if !args.files.is_empty() {
            if is_named {
                return Err(Failure::bad_input(
                    "-f reads files, --kubeconfig and --context lead to a cluster: give one of them",
                ));
            }
            let objects = files::read(&args.files, io::stdin().lock())
                .map_err(|error| Failure::bad_input(chain(&error)))?;
            let classes = self.classes(&objects);
            if classes.is_empty() {
                return Err(Failure::bad_input(format!(
                    "there is no {} in the files: give what `kubectl get {} -o yaml` prints, or \
                     leave -f out",
                    self.words(|kind| kind.kind, " or "),
                    self.words(|kind| kind.plural, ",")
                )));
            }
            let why = "NodeClaims are read from a cluster, and -f reads files: leave it out";
            let (claims, secrets) = (Err(why.to_owned()), BTreeMap::new());
            return Ok(Patient { address, classes: Ok(classes), claims, secrets });
        }
        match self.of_cluster().await {
            Ok(Seen { objects, secrets }) => {
                let kinds = self.words(|kind| kind.kind, " or ");
                let none = || format!("the cluster has no {kinds}: give one with -f");
                let classes = Some(self.classes(&objects)).filter(|classes| !classes.is_empty());
                let (classes, claims) = (classes.ok_or_else(none), Ok(claims(&objects)));
                Ok(Patient { address, classes, claims, secrets })
            }
            // A cluster that is named is meant; otherwise what can be looked at without one is.
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

    async fn of_cluster(&self) -> Result<Seen, Failure> {
        let found = connection::find(&self.args.cluster).await?;
        let url = found.url();
        output::progress(&format!("reading the cluster at {url} {}", found.way));
        let client = connection::client(&found, None)?;
        let read = live::read_only(&client, &["NodeClaim"], &self.kinds()).await;
        let live = read.map_err(|problems| {
            let at = |problem| format!("cluster {url}: {}", chain(&problem));
            Failure::BadInput(problems.into_iter().map(at).collect())
        })?;
        let mut secrets = BTreeMap::new();
        for name in self.classes(&live.objects).iter().flat_map(self.how.secrets) {
            let seen = look_at_secret(&client, &name).await;
            secrets.insert(name, seen);
        }
        Ok(Seen { objects: live.objects, secrets })
    }

    fn classes(&self, objects: &Objects) -> Vec<NodeClass> {
        let kinds = self.kinds();
        let all = objects.node_classes.iter();
        all.filter_map(|object| kinds.iter().find_map(|kind| object.of_kind(kind))).collect()
    }
}

/// What a cluster has that is looked at.
struct Seen {
    objects: Objects,
    secrets: BTreeMap<SecretName, SecretSeen>,
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
        // The controller's own namespace is unknown here.
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
