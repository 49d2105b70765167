use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use super::*;

/// Runs a script; what it printed, or what it complained about.
fn run(script: &str) -> Result<String, String> {
    let output = Command::new("/bin/sh").arg("-c").arg(script).output().expect("there is a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn by_dmi(serial: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("product_serial");
    fs::write(&file, format!("{serial}\n")).unwrap();
    run(&provider_id_by_dmi(file.to_str().unwrap()))
}

#[test]
fn a_vsphere_guest_knows_itself_by_its_serial_number() {
    for serial in [
        "VMware-42 1d 5f 2a 33 0e 4b 7c-9a 10 6b 2f 1e 8d 44 c7",
        "VMware-42 1D 5F 2A 33 0E 4B 7C-9A 10 6B 2F 1E 8D 44 C7",
    ] {
        let id = "vsphere://421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7";
        assert_eq!(by_dmi(serial).as_deref(), Ok(id));
    }
    for serial in
        ["VMware-42 1d", "0", "", "VMware-42 1d 5f 2a 33 0e 4b 7c-9a 10 6b 2f 1e 8d 44 xx"]
    {
        let complaint = by_dmi(serial).unwrap_err();
        assert!(complaint.ends_with(serial), "{complaint}");
    }
}

const UUID: &str = "6f1c2d3e-1111-4222-8333-944445555666";

/// What a guest prints that has these folders, and a cloud-init that prints `instance_id`.
fn by_metadata(root: &Path, instance_id: Option<&str>) -> Result<String, String> {
    let program = root.join("cloud-init");
    let body = instance_id.map_or("exit 1".to_owned(), |id| format!("echo {id}"));
    fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let script = provider_id_by_metadata(&folder("cloud"), &folder("metadata"));
    run(&format!("PATH={}:$PATH\n{script}", root.display()))
}

#[test]
fn a_cloudstack_guest_knows_itself_by_its_instance_id() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let complaint = by_metadata(root, None).unwrap_err();
    assert_eq!(complaint, "joiner: the datasource's instance id is no UUID: ''");

    fs::create_dir(root.join("metadata")).unwrap();
    let line = format!("A=b\nCOREOS_CLOUDSTACK_INSTANCE_ID={}\n", UUID.to_uppercase());
    fs::write(root.join("metadata/coreos"), line).unwrap();
    let id = format!("cloudstack:///{UUID}");
    assert_eq!(by_metadata(root, None), Ok(id.clone()));

    fs::create_dir(root.join("cloud")).unwrap();
    fs::write(root.join("cloud/instance-id"), "i-2-3-VM\n").unwrap();
    let complaint = by_metadata(root, None).unwrap_err();
    assert!(complaint.ends_with("'i-2-3-VM'"), "{complaint}");

    assert_eq!(by_metadata(root, Some(UUID)), Ok(id));
}

#[test]
fn values_are_single_words_of_the_shell() {
    let value = "a'b $(exit 1) \"c\" `d` \\ é\n-";
    let script = script("Prints.", &[("value", value)], &["printf '%s' \"$value\""]);
    assert_eq!(run(&script).as_deref(), Ok(value));
}
