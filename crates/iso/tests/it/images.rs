//! What images are, and which are refused.

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_iso::{File, IsoError, image, nocloud};
use proptest::prelude::*;

use crate::reader;

pub(crate) fn time() -> Timestamp {
    "2026-03-04T05:06:07Z".parse().unwrap()
}

/// The files of a node, one of them empty and one longer than a sector.
pub(crate) fn seed() -> Vec<File> {
    vec![
        File::new("meta-data", "instance-id: \"100\"\nlocal-hostname: worker-1\n"),
        File::new("user-data", "#cloud-config\n".repeat(1000)),
        File::new("network-config", ""),
        File::new("vendor-data", vec![0_u8, 255, 10]),
    ]
}

fn contents(volume: reader::Volume) -> BTreeMap<String, Vec<u8>> {
    volume.files.into_iter().map(|(name, file)| (name, file.content)).collect()
}

#[test]
fn rock_ridge_and_joliet_have_the_files_by_their_names() {
    let image = nocloud(&seed(), time()).unwrap();
    let expected: BTreeMap<String, Vec<u8>> = [
        ("meta-data", b"instance-id: \"100\"\nlocal-hostname: worker-1\n".to_vec()),
        ("user-data", b"#cloud-config\n".repeat(1000)),
        ("network-config", Vec::new()),
        ("vendor-data", vec![0, 255, 10]),
    ]
    .map(|(name, content)| (name.to_owned(), content))
    .into();
    for volume in [reader::rock_ridge(&image), reader::joliet(&image)] {
        assert_eq!(volume.label, "cidata");
        assert_eq!(contents(volume), expected);
    }
}

#[test]
fn files_are_for_root_only_and_have_the_given_time() {
    let volume = reader::rock_ridge(&nocloud(&seed(), time()).unwrap());
    for (name, file) in volume.files {
        assert_eq!(file.mode, Some(0o100_400), "{name}");
        assert_eq!(file.time, [126, 3, 4, 5, 6, 7, 0], "{name}");
    }
}

#[test]
fn equal_inputs_give_equal_bytes() {
    assert_eq!(nocloud(&seed(), time()), nocloud(&seed(), time()));
    let later: Timestamp = "2026-03-04T05:06:08Z".parse().unwrap();
    assert_ne!(nocloud(&seed(), time()), nocloud(&seed(), later));
}

#[test]
fn the_order_of_files_is_not_that_of_names() {
    let mut turned = seed();
    turned.reverse();
    let (one, other) = (nocloud(&seed(), time()).unwrap(), nocloud(&turned, time()).unwrap());
    assert_eq!(contents(reader::joliet(&one)), contents(reader::joliet(&other)));
    assert_eq!(one, other);
}

#[test]
fn plain_names_are_kept_apart() {
    let (lower, upper) = ("long".repeat(16), "Long".repeat(16));
    let names = ["user-data", "user_data", "USER.data", "User.dat", &*lower, &*upper];
    let files = names.map(|name| File::new(name, name));
    let volume = reader::rock_ridge(&image("label", &files, time()).unwrap());
    let plain: Vec<&str> = volume.files.values().map(|file| file.plain_name.as_str()).collect();
    assert_eq!(
        plain,
        [
            "LONGLONGLONGLONGLONGLONGLONGLO.;1",
            "USER.DAT;1",
            "USER1.DAT;1",
            "LONGLONGLONGLONGLONGLONGLONGL1.;1",
            "USER_DATA.;1",
            "USER_DATA1.;1",
        ]
    );
}

#[test]
fn an_image_has_room_for_many_files() {
    let files: Vec<File> =
        (0..200).map(|number| File::new(&format!("file-{number}"), vec![7_u8; number])).collect();
    let image = image("many", &files, time()).unwrap();
    for volume in [reader::rock_ridge(&image), reader::joliet(&image)] {
        assert_eq!(volume.files.len(), 200);
        assert!(volume.files.iter().all(|(name, file)| {
            name.strip_prefix("file-") == Some(&file.content.len().to_string())
        }));
    }
}

#[test]
fn an_image_without_files_is_an_image() {
    let image = nocloud(&[], time()).unwrap();
    assert_eq!(reader::joliet(&image).files, BTreeMap::new());
    assert_eq!(reader::rock_ridge(&image).files, BTreeMap::new());
}

#[test]
fn what_cannot_be_written_is_refused_by_name() {
    const LABEL: &str = "cannot be the label of an image; use at most 16 letters, digits, hyphens \
                         and underscores";
    const NAME: &str = "cannot be the name of a file; use at most 64 letters, digits, points, \
                        hyphens and underscores";
    let now = "2026-01-01T00:00:00Z";
    let cases: [(&str, &[&str], &str, String); 6] = [
        ("", &[], now, format!("\"\" {LABEL}")),
        ("a label", &[], now, format!("\"a label\" {LABEL}")),
        ("x", &["a/b"], now, format!("\"a/b\" {NAME}")),
        ("x", &[".."], now, format!("\"..\" {NAME}")),
        ("x", &["a", "b", "a"], now, "there are two files a; leave one of them out".to_owned()),
        (
            "x",
            &[],
            "2156-01-01T00:00:00Z",
            "an image cannot be of the year 2156; years from 1970 to 2155 can be written"
                .to_owned(),
        ),
    ];
    for (label, names, at, expected) in cases {
        let files: Vec<File> = names.iter().map(|name| File::new(name, "x")).collect();
        let refused = image(label, &files, at.parse().unwrap()).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    let large = vec![File::new("large", vec![0_u8; (256 << 20) + 1])];
    assert_eq!(nocloud(&large, time()), Err(IsoError::Large));
}

#[test]
fn debug_shows_no_content() {
    assert_eq!(format!("{:?}", File::new("user-data", "token")), "File(user-data, 5 bytes)");
}

proptest! {
    #[test]
    fn all_files_come_back(
        files in prop::collection::btree_map(
            "[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}",
            prop::collection::vec(any::<u8>(), 0..5000),
            0..40,
        ),
    ) {
        let given: Vec<File> =
            files.iter().map(|(name, content)| File::new(name, content.clone())).collect();
        let image = nocloud(&given, time()).unwrap();
        prop_assert_eq!(image.len() % 2048, 0);
        prop_assert_eq!(contents(reader::rock_ridge(&image)), files.clone());
        prop_assert_eq!(contents(reader::joliet(&image)), files);
    }
}
