//! Images in a reader of other people's making (pycdlib).

use std::{fs, process::Command};

use joiner_iso::{File, image, nocloud};
use serde_json::{Value, json};

use crate::images::{seed, time};

/// What the reader says, or nothing where there is none.
fn read(image: &[u8]) -> Option<Value> {
    let Some(program) = std::env::var_os("JOINER_ISO_READER") else {
        eprintln!(
            "skipped: no reader; JOINER_ISO_READER=$(scripts/install-real-parts iso-reader) names it"
        );
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.iso");
    fs::write(&path, image).unwrap();
    let output = Command::new(program).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn another_reader_finds_label_names_contents_and_times() {
    let Some(found) = read(&nocloud(&seed(), time()).unwrap()) else { return };
    let files = json!({
        "meta-data": "instance-id: \"100\"\nlocal-hostname: worker-1\n",
        "network-config": "",
        "user-data": "#cloud-config\n".repeat(1000),
        "vendor-data": "\u{0}\u{ff}\n",
    });
    let expected = json!({
        "label": "cidata",
        "joliet_label": "cidata",
        "time": "2026-03-04T05:06:07",
        "rock_ridge": files,
        "joliet": files,
        "modes": {
            "meta-data": "0o100400",
            "network-config": "0o100400",
            "user-data": "0o100400",
            "vendor-data": "0o100400",
        },
    });
    assert_eq!(found, expected);
}

#[test]
fn another_reader_finds_many_files() {
    let files: Vec<File> = (0..200)
        .map(|number| File::new(&format!("file-{number}.txt"), number.to_string()))
        .collect();
    let Some(found) = read(&image("many", &files, time()).unwrap()) else { return };
    let expected: Value = (0..200)
        .map(|number| (format!("file-{number}.txt"), json!(number.to_string())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(found["rock_ridge"], expected);
    assert_eq!(found["joliet"], expected);
}
