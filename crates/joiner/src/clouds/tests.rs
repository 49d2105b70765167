//! A cloud that only tests have is added to the table, and gets all that a cloud has.

use std::{io::Cursor, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use clap::{Args, Command, FromArgMatches};
use expect_test::expect;
use joiner_clock::Clock;
use joiner_cloud::{
    CloudProvider, Providers, Served,
    class::{ClassKind, NodeClass, Role},
    doctor::{Finding, Patient, Subject},
    testing::{TestCloud, instance_types},
    types::{ClassTypes, NoTypes, TypeSource},
};
use joiner_core::label::WellKnown;
use joiner_lab::{Lab, Setup};
use joiner_operator::{
    files,
    objects::Objects,
    settings::{PlannerSettings, declared, published},
};
use joiner_proxy::Proxies;
use joiner_settings::{Reader, Setting, Values, settings};
use serde_json::json;

use super::*;
use crate::{
    build::metrics_page,
    catalog::Instances,
    crds, doctor,
    errors::Failure,
    run::RunSettings,
    settings::{Declares, Given},
};

settings! {
    /// How the cloud is reached.
    ACCESS:
    TINY_URL "tiny-url" "ADDRESS" ""
        "Where the tiny cloud is; turns the provider on";
    TINY_KEY as "TINY_SECRET" "tiny-key" "KEY" ""
        "The key to it";
}
settings! {
    /// Where types come from.
    TYPES:
    TINY_TYPES_FILE "tiny-types-file" "FILE" ""
        "The types of the tiny cloud";
}
settings! {
    /// What instances cost.
    COSTS:
    TINY_PRICE "tiny-price" "PRICE" "2"
        "The price of every instance";
}

const NODE_CLASS: ClassKind = ClassKind {
    group: "tiny.example.com",
    version: "v1",
    kind: "TinyNodeClass",
    plural: "tinynodeclasses",
    role: Role::NodeClass,
};
const SPARE_CLASS: ClassKind =
    ClassKind { kind: "TinySpareNodeClass", plural: "tinysparenodeclasses", ..NODE_CLASS };

const TINY: CloudKind = CloudKind {
    name: "tiny",
    title: "the tiny cloud",
    classes: &[
        Class { kind: NODE_CLASS, has_types: true, planned_by: &["spec.size"] },
        Class { kind: SPARE_CLASS, has_types: true, planned_by: &[] },
    ],
    crds: || {
        let spec = json!({"type": "object", "properties": {"size": {"type": "string"}}});
        let crd = |kind: ClassKind| serde_json::from_value(kind.definition(&spec)).unwrap();
        [NODE_CLASS, SPARE_CLASS].map(crd).into()
    },
    settings: CloudSettings {
        turned_on_by: Some(&TINY_URL),
        needs_cluster_name: true,
        access: ACCESS,
        access_told: "Both are needed.",
        types: TYPES,
        costs: COSTS,
    },
    types_told: "the tiny cloud's",
    read: |from, _planner| Arc::new(Tiny { price: from.price(&TINY_PRICE) }),
    doctor: Some(DoctorKind {
        about: "Look at the tiny cloud",
        details: "Only reads.",
        files: "TinyNodeClasses",
        needed: "there is no tiny cloud to look at without it",
        secrets: |_| Vec::new(),
        read: |from, cluster_name, why| {
            let url = from.required(&TINY_URL, why);
            Box::new(TinyAccess { url: url.to_owned(), cluster: cluster_name.to_owned() })
        },
    }),
};

/// The table with one line more.
const TABLE: Clouds = Clouds::new(&[&kwok::KIND, &vsphere::KIND, &TINY]);

#[derive(Debug)]
struct Tiny {
    price: f64,
}

impl Cloud for Tiny {
    fn types(&self) -> Result<Box<dyn TypeSource>, Failure> {
        Ok(Box::new(TinyTypes))
    }

    fn access(&self, from: &mut Reader<'_>, cluster_name: &str, why: &str) -> Box<dyn Access> {
        let url = from.required(&TINY_URL, why).to_owned();
        from.required(&TINY_KEY, why);
        Box::new(TinyAccess { url, cluster: format!("{cluster_name} at {}", self.price) })
    }
}

struct TinyTypes;

impl TypeSource for TinyTypes {
    fn class_kinds(&self) -> &'static [ClassKind] {
        &[NODE_CLASS, SPARE_CLASS]
    }

    fn well_known(&self) -> WellKnown {
        WellKnown::default()
    }

    fn class_types(&self, _pool: &str, class: &NodeClass) -> Result<ClassTypes, NoTypes> {
        match class.spec["size"].as_str() {
            Some("any") => Ok(ClassTypes { types: instance_types(), ..ClassTypes::default() }),
            Some(_) => Err(NoTypes::NotReady("spec.size: write any".to_owned())),
            None => Err(NoTypes::Unreadable("spec.size: is missing; write any".to_owned())),
        }
    }
}

#[derive(Debug)]
struct TinyAccess {
    url: String,
    cluster: String,
}

#[async_trait]
impl Access for TinyAccess {
    async fn open(&self, _with: &Opening<'_>) -> Result<Opened, Failure> {
        let ways = vec![format!("the tiny cloud at {} is reached on foot", self.url)];
        Ok(Opened { provider: Arc::new(TestCloud::new()), ways })
    }
}

impl Examined for TinyAccess {
    fn address(&self) -> String {
        self.url.clone()
    }

    fn reach(&self, _proxies: &Proxies, _clock: &Clock) -> Result<Box<dyn Reached>, Failure> {
        Ok(Box::new(ReachedTiny(self.cluster.clone())))
    }
}

struct ReachedTiny(String);

#[async_trait(?Send)]
impl Reached for ReachedTiny {
    fn at(&self) -> String {
        "the tiny cloud".to_owned()
    }

    async fn examine(&self, patient: &Patient) -> Vec<Finding> {
        let classes = patient.classes.as_ref().map_or(0, Vec::len);
        let subject = Subject::new("address", &patient.address);
        vec![subject.fine(format!("{classes} classes of cluster {:?}", self.0))]
    }
}

fn values(given: &[(&Setting, &str)]) -> Values {
    let mut values = Values::default();
    for (setting, text) in given {
        values.give(setting, *text);
    }
    values
}

fn objects(text: &str) -> Objects {
    files::read(&[PathBuf::from("-")], Cursor::new(text.to_owned())).unwrap()
}

/// The settings of a controller that has the tiny cloud too, or what is wrong with them.
fn accept(given: &[(&Setting, &str)]) -> Result<RunSettings, String> {
    let accepted = RunSettings::accept(TABLE, &values(given), |_| false);
    accepted.map(|accepted| accepted.settings).map_err(|problems| problems.join("\n"))
}

/// What a plan finds out about pools of these objects, or what is wrong with them.
fn planned(text: &str) -> Result<Instances, String> {
    let values = Values::default();
    let mut reader = Reader::new(&values);
    let planner = PlannerSettings::read(&mut reader);
    let clouds = TABLE.read(&mut reader, &planner);
    match Instances::of_clouds(&objects(text), &clouds, false) {
        Ok(found) => Ok(found),
        Err(Failure::BadInput(problems)) => Err(problems.join("\n")),
        Err(other) => panic!("{other:?}"),
    }
}

fn pool(name: &str, kind: &str) -> String {
    format!(
        "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeClassRef: {{group: tiny.example.com, kind: {kind}, name: {name}}}
      requirements: []
---
"
    )
}

fn class(name: &str, spec: &str) -> String {
    format!(
        "
apiVersion: tiny.example.com/v1
kind: TinyNodeClass
metadata: {{name: {name}}}
spec: {spec}
---
"
    )
}

#[derive(Debug)]
struct Controller;

impl Declares for Controller {
    fn settings() -> Vec<&'static Setting> {
        TABLE.controller_settings()
    }
}

#[test]
fn its_settings_are_flags_and_variables_of_a_controller() {
    let command = Given::<Controller>::augment_args(Command::new("run"));
    let of_tiny = command.get_arguments().filter_map(|arg| {
        let (long, variable) = (arg.get_long()?, arg.get_env()?.to_str()?);
        long.starts_with("tiny").then(|| format!("--{long} {variable}"))
    });
    let of_tiny: Vec<String> = of_tiny.collect();
    assert_eq!(
        of_tiny,
        [
            "--tiny-types-file TINY_TYPES_FILE",
            "--tiny-url TINY_URL",
            "--tiny-key TINY_SECRET",
            "--tiny-price TINY_PRICE"
        ]
    );
    let matches = command.try_get_matches_from(["run", "--tiny-url=example.org"]).unwrap();
    let given = Given::<Controller>::from_arg_matches(&matches).unwrap();
    assert_eq!(given.values().get(&TINY_URL), "example.org");
}

#[test]
fn it_is_on_where_its_setting_is_given_and_says_what_it_needs() {
    expect![[r"
        --cluster-name (CLUSTER_NAME): it is not given: the provider tiny is on and needs it
        --tiny-key (TINY_SECRET): it is not given: the provider tiny is on and needs it"]]
    .assert_eq(&accept(&[(&TINY_URL, "example.org")]).unwrap_err());
    let settings = accept(&[(&TINY_PRICE, "1")]).unwrap();
    let names: Vec<&str> = settings.on.iter().map(|on| on.kind.name).collect();
    assert_eq!(names, ["kwok"]);
}

#[test]
fn its_costs_are_read_and_refused_where_it_is_off_too() {
    expect![[r#"--tiny-price (TINY_PRICE) cannot be "low": use a price, 0 or more"#]]
        .assert_eq(&accept(&[(&TINY_PRICE, "low")]).unwrap_err());
}

#[tokio::test]
async fn it_is_opened_for_a_controller() {
    let given = [
        (&declared::CLUSTER_NAME, "prod"),
        (&TINY_URL, "example.org"),
        (&TINY_KEY, "hunter2"),
        (&TINY_PRICE, "3"),
    ];
    let settings = accept(&given).unwrap();
    let shown = format!("{:?}", settings.on[0].access);
    assert_eq!(shown, r#"TinyAccess { url: "example.org", cluster: "prod at 3" }"#);
    let lab = Lab::new(Setup::new(1));
    let with = Opening {
        client: &kube::Client::new(lab.client("joiner").connect(), "default"),
        registry: &metrics_page().unwrap(),
        proxies: &Proxies::default(),
        clock: &Clock::wall(),
    };
    let opened = settings.on[0].access.open(&with).await.unwrap();
    assert_eq!(opened.ways, ["the tiny cloud at example.org is reached on foot"]);
}

#[test]
fn a_class_of_it_names_the_variable_that_turns_it_on() {
    let on: Vec<Arc<dyn CloudProvider>> = vec![Arc::new(TestCloud::new())];
    let providers = Providers::new(on, TABLE.off(&[&kwok::KIND]));
    for kind in [NODE_CLASS, SPARE_CLASS] {
        match providers.of(kind.group, kind.kind) {
            Served::Off(off) => assert_eq!((off.name, off.variable), ("tiny", "TINY_URL")),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn its_costs_are_published_and_its_files_are_not() {
    let values = values(&[(&TINY_PRICE, "3"), (&TINY_TYPES_FILE, "/a"), (&TINY_KEY, "hunter2")]);
    let published = published::given(&values, TABLE.published_settings());
    assert_eq!(published, [("tiny-price".to_owned(), "3".to_owned())].into());
}

#[test]
fn its_definitions_are_printed_after_those_of_others() {
    let names: Vec<String> =
        crds::all(TABLE).iter().map(|crd| crd.spec.names.kind.clone()).collect();
    assert_eq!(
        names[names.len() - 3..],
        ["VsphereNodeClass", "TinyNodeClass", "TinySpareNodeClass"]
    );
}

#[test]
fn a_plan_has_its_types() {
    let text = pool("small", "TinyNodeClass") + &class("small", "{size: any}");
    let found = planned(&text).unwrap();
    assert_eq!(found.catalog.types("small").len(), instance_types().len());
}

#[test]
fn a_plan_says_which_of_its_classes_are_missing_or_wrong() {
    let text = [
        pool("missing", "TinyNodeClass"),
        pool("spare", "TinySpareNodeClass"),
        pool("wrong", "TinyNodeClass"),
        class("wrong", "{}"),
        pool("foreign", "HugeNodeClass"),
    ];
    expect![[r#"
        NodePool "foreign": spec.template.spec.nodeClassRef is HugeNodeClass "foreign" of group "tiny.example.com", whose instances are not known here: list them in a file and give it with --instance-types
        NodePool "missing": spec.template.spec.nodeClassRef is TinyNodeClass "missing", which is not in the files: add what `kubectl get tinynodeclasses -o yaml` prints, or list the instances in a file and give it with --instance-types
        standard input: document 4: spec.size: is missing; write any
        NodePool "spare": spec.template.spec.nodeClassRef is TinySpareNodeClass "spare", which is not in the files: add what `kubectl get tinysparenodeclasses -o yaml` prints, or list the instances in a file and give it with --instance-types"#]]
    .assert_eq(&planned(&text.concat()).unwrap_err());
}

#[test]
fn the_doctor_looks_at_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("class.yaml");
    std::fs::write(&file, class("small", "{size: any}")).unwrap();
    let file = file.display().to_string();
    let args =
        ["doctor", "tiny", "--tiny-url=example.org", "--cluster-name=prod", "-f", file.as_str()];
    let command = doctor::with_doctors(Command::new("doctor"), TABLE);
    let matches = command.try_get_matches_from(args).unwrap();
    let asked = doctor::Doctor::of(&matches, TABLE).unwrap();
    let report = doctor::report(&asked).unwrap();
    let told: Vec<String> =
        report.findings.iter().map(|own| format!("{}: {}", own.object, own.text)).collect();
    assert_eq!(told, [r#"example.org: 1 classes of cluster "prod""#]);
}

#[test]
fn the_doctor_says_what_it_needs() {
    let command = doctor::with_doctors(Command::new("doctor"), TABLE);
    let matches = command.try_get_matches_from(["doctor", "tiny"]).unwrap();
    let asked = doctor::Doctor::of(&matches, TABLE).unwrap();
    let Err(Failure::BadInput(problems)) = doctor::report(&asked) else { panic!("it is refused") };
    expect![[r"
        --cluster-name (CLUSTER_NAME): it is not given: there is no tiny cloud to look at without it
        --tiny-url (TINY_URL): it is not given: there is no tiny cloud to look at without it"]]
    .assert_eq(&problems.join("\n"));
}

#[test]
fn the_page_of_settings_has_it() {
    let page = TABLE.settings_page();
    let of_tiny: Vec<&str> = page
        .lines()
        .filter(|line| {
            line.contains("tiny") || line.starts_with("## ") || *line == "Both are needed."
        })
        .collect();
    expect![[r"
        ## Of the controller
        ## Of vSphere
        ## Of the tiny cloud
        Both are needed.
        | `--tiny-url` | `TINY_URL` |  | Where the tiny cloud is; turns the provider on |
        | `--tiny-key` | `TINY_SECRET` |  | The key to it |
        ## Of planning, also for `joiner plan` and `joiner explain`
        | `--tiny-types-file` | `TINY_TYPES_FILE` |  | The types of the tiny cloud |
        | `--tiny-price` | `TINY_PRICE` | `2` | The price of every instance |"]]
    .assert_eq(&of_tiny.join("\n"));
}

/// Names of the clouds that are on, or what is wrong.
fn on(named: &str, set: &[&str]) -> String {
    let values = values(&[(&declared::PROVIDERS, named)]);
    let mut reader = Reader::new(&values);
    let chosen = TABLE.chosen(&mut reader, |setting| set.contains(&setting.variable));
    let names: Vec<&str> = chosen.iter().map(|kind| kind.name).collect();
    match reader.accept(names) {
        Ok(accepted) => accepted.settings.join(" "),
        Err(problems) => problems.join("\n"),
    }
}

#[test]
fn kwok_is_on_where_no_other_is() {
    assert_eq!(on("", &[]), "kwok");
    assert_eq!(on("", &["GOVC_URL"]), "vsphere");
}

#[test]
fn a_provider_is_on_when_it_is_named_or_its_endpoint_is_set() {
    assert_eq!(on("kwok, vsphere", &[]), "kwok vsphere");
    assert_eq!(on("kwok", &["TINY_URL"]), "kwok tiny");
}

#[test]
fn a_name_that_no_provider_has_is_refused() {
    assert_eq!(
        on("vsphere,aws", &[]),
        "--providers (PROVIDERS) cannot be \"aws\": use some of kwok, vsphere, tiny, separated \
         by commas"
    );
}
