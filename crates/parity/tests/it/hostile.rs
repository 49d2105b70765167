//! Files that have been damaged: read or refused, never a panic; and whatever can be read can be
//! planned, with a plan that breaks no rule.

use std::path::{Path, PathBuf};

use joiner_core::settings::PlanSettings;
use joiner_operator::{
    files,
    index::{self, IndexSettings},
};
use proptest::prelude::*;

/// The sample cluster, as one file of many documents.
fn sample() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first-look");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the sample is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    files.sort();
    let text = |file| std::fs::read_to_string(file).expect("the file can be read");
    files.into_iter().map(text).collect::<Vec<_>>().join("\n---\n")
}

/// Reads and plans; says whether the text could be read.
fn plan(text: &str) -> Result<bool, TestCaseError> {
    let Ok(objects) = files::read(&[PathBuf::from("-")], text.as_bytes()) else { return Ok(false) };
    let pools = objects.node_pools.iter().filter_map(|pool| pool.metadata.name.clone());
    let catalog = joiner_kwok::catalog(pools);
    let now = jiff::Timestamp::UNIX_EPOCH;
    let snapshot = index::snapshot(&objects, catalog, &IndexSettings::default(), now).snapshot;
    let settings = PlanSettings::default();
    let plan = joiner_plan::provision(&snapshot, &settings).plan;
    let findings = joiner_check::check(&snapshot, &settings, &plan);
    prop_assert!(findings.is_empty(), "{findings:?}");
    Ok(true)
}

/// What people and broken disks do to a file.
#[derive(Debug, Clone)]
enum Damage {
    Cut,
    Insert(String),
    Replace(String),
    RemoveLine,
    DoubleLine,
}

fn damage() -> impl Strategy<Value = Damage> {
    let scrap = prop_oneof![
        "[ -~]{1,3}",
        prop::sample::select(vec![
            "-1",
            "0",
            "1e30",
            "9223372036854775807",
            "\"\"",
            "{}",
            "[]",
            "null",
            "\t",
            "\n",
            ": ",
            "&a",
            "*a",
            "---\n",
            "NotAnOperator",
            "-5Gi",
            "\u{0}",
            "é",
        ])
        .prop_map(str::to_owned),
    ];
    prop_oneof![
        Just(Damage::Cut),
        scrap.clone().prop_map(Damage::Insert),
        scrap.prop_map(Damage::Replace),
        Just(Damage::RemoveLine),
        Just(Damage::DoubleLine),
    ]
}

impl Damage {
    fn apply(&self, text: &str, place: prop::sample::Index) -> String {
        let mut at = place.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let (head, tail) = text.split_at(at);
        let line_start = head.rfind('\n').map_or(0, |end| end + 1);
        let line_end = tail.find('\n').map_or(text.len(), |end| at + end + 1);
        let value_end = tail.find([',', '}', ']', '\n']).map_or(text.len(), |end| at + end);
        match self {
            Self::Cut => head.to_owned(),
            Self::Insert(scrap) => format!("{head}{scrap}{tail}"),
            Self::Replace(scrap) => format!("{head}{scrap}{}", &text[value_end..]),
            Self::RemoveLine => format!("{}{}", &text[..line_start], &text[line_end..]),
            Self::DoubleLine => format!("{}{}", &text[..line_end], &text[line_start..]),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_damaged_cluster_is_refused_or_planned(
        harm in prop::collection::vec((damage(), any::<prop::sample::Index>()), 1..3),
    ) {
        let text = harm.iter().fold(sample(), |text, (damage, place)| damage.apply(&text, *place));
        plan(&text)?;
    }

    #[test]
    fn any_text_is_refused_or_planned(text in "(?s)[\\[\\]{}:,\"'&*!|>#%@`a-z0-9 \n\t-]{0,200}") {
        plan(&text)?;
    }

    #[test]
    fn a_damaged_instance_type_file_is_refused_or_read(
        harm in damage(),
        place in any::<prop::sample::Index>(),
    ) {
        let types = r#"{"reservationIDLabel": "example.com/id", "instanceTypes": [
            {"name": "a", "requirements": [{"key": "size", "operator": "In", "values": ["1"]}],
             "capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"},
             "overhead": {"kubeReserved": {"cpu": "100m"}},
             "offerings": [{"price": 0.1, "available": true, "reservationCapacity": 3,
               "requirements": [{"key": "example.com/id", "operator": "In", "values": ["r"]}]}]},
            {"name": "b", "architecture": "amd64", "operatingSystems": ["linux"],
             "resources": {"cpu": "1", "memory": "2Gi"},
             "offerings": [{"Price": 0.2, "Available": true, "Requirements": []}]}]}"#;
        let text = harm.apply(types, place);
        if let Ok(file) = joiner_kwok::catalog_file::parse(&text, "types.json") {
            let catalog = file.catalog(["pool"]);
            prop_assert!(catalog.types("pool").len() <= 4);
        }
    }
}

#[test]
fn the_sample_itself_can_be_planned() {
    assert!(plan(&sample()).expect("the plan breaks no rule"), "the sample can be read");
}
