//! Which user's text goes together with which format, and what the others are told.

use base64::{Engine, engine::general_purpose::STANDARD};
use joiner_cloud::bootstrap::{Distro, Error, Format, Inputs, Secret, UserText, render};

use crate::shared::{cloud_config, instance, refused, text, with_user};

const CLOUD_CONFIG: &str = "#cloud-config\npackages: [jq]\n";
const SCRIPT: &str = "#!/bin/bash\necho \"Node initialization script\"\n";
const JINJA: &str = "## template: jinja\n#cloud-config\nfqdn: {{ v1.local_hostname }}\n";
const MIME: &str = "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n--b--\n";
const INCLUDE: &str = "#include\nhttps://example.org/a\n";
const IGNITION: &str = r#"{"ignition":{"version":"3.3.0"},"passwd":{"users":[{"name":"core"}]}}"#;
const BUTANE: &str = "variant: fcos\nversion: 1.5.0\n";
const TALOS: &str =
    "version: v1alpha1\nmachine: {token: t, ca: {crt: c}}\ncluster: {id: i, secret: s}\n";

fn instance_for(format: Format) -> Inputs {
    let distro = if format == Format::Talos { Distro::Talos } else { Distro::Kubeadm };
    Inputs { format: Some(format), ..instance(distro) }
}

/// How a text meets a format: what comes out, by its beginning.
fn meet(format: Format, user: &str) -> Result<&'static str, Error> {
    let rendered = render(&with_user(instance_for(format), user))?;
    let bytes = rendered.text.reveal().clone();
    let text = String::from_utf8(bytes).unwrap();
    Ok(match () {
        () if text.starts_with("#cloud-config\n") => "cloud-config",
        () if text.starts_with("Content-Type: multipart/mixed") => "multipart",
        () if text.starts_with("{\"ignition\":{\"config\":{\"merge\"") => "wrapper",
        () if text.starts_with("{\"ignition\":{\"version\":\"3.4.0\"}") => "ignition",
        () if text.starts_with("version: v1alpha1\n") => "talos",
        () => "something else",
    })
}

#[test]
fn formats_meet_or_are_refused() {
    let table = [
        ("", "cloud-config", "ignition", "refused"),
        (" \n\t\n", "cloud-config", "ignition", "refused"),
        (CLOUD_CONFIG, "cloud-config", "refused", "refused"),
        (SCRIPT, "multipart", "refused", "refused"),
        (JINJA, "multipart", "refused", "refused"),
        (MIME, "multipart", "refused", "refused"),
        (INCLUDE, "multipart", "refused", "refused"),
        (IGNITION, "refused", "wrapper", "refused"),
        (BUTANE, "refused", "wrapper", "refused"),
        (TALOS, "refused", "refused", "talos"),
        ("hello", "refused", "refused", "refused"),
        ("runcmd: [a]", "refused", "refused", "refused"),
    ];
    for (user, cloud_config, ignition, talos) in table {
        for (format, expected) in [
            (Format::CloudInit, cloud_config),
            (Format::Ignition, ignition),
            (Format::Talos, talos),
        ] {
            let met = meet(format, user);
            let found = met.as_ref().map_or_else(|_| "refused", |word| *word);
            assert_eq!(found, expected, "{user:?} meets {format}: {met:?}");
            if let Err(error) = met {
                let reason = (error.kind.condition(), error.kind.reason());
                assert_eq!(reason, ("ValidationSucceeded", "InvalidUserData"));
                assert_eq!(error.field, "spec.userData");
                assert!(error.remedy.contains("begins with, for example, "), "{error}");
            }
        }
    }
}

#[test]
fn a_refusal_says_what_was_found_and_what_is_accepted() {
    let told = |format, user| refused(&with_user(instance_for(format), user)).to_string();
    assert_eq!(
        told(Format::Ignition, SCRIPT),
        "VsphereNodeClass \"default\": spec.userData: it is a script (it begins with \
         \"#!/bin/bash\"), and the instance's format is ignition; there are no scripts in Ignition: \
         use a unit or a file, which begins with, for example, \
         {\"ignition\":{\"version\":\"3.4.0\"},\"systemd\":{\"units\":[…]}}"
    );
    assert_eq!(
        told(Format::CloudInit, "# cloud-config\nruncmd: []\n"),
        "VsphereNodeClass \"default\": spec.userData: it is a text in no known format (it begins \
         with \"# cloud-config\"), and the instance's format is cloud-config; write a cloud-config, \
         a script, or another text for cloud-init, which begins with, for example, #cloud-config"
    );
    assert_eq!(
        told(Format::Talos, ""),
        "VsphereNodeClass \"default\": spec.userData: it is nothing, and the instance's format is \
         talos; write a worker's machine configuration, or keep it in a Secret, which begins with, \
         for example, version: v1alpha1"
    );
}

#[test]
fn headers_are_found_as_cloud_init_finds_them() {
    for (user, expected) in [
        ("\n  #Cloud-Config\npackages: [jq]\n", "cloud-config"),
        ("\u{feff}#cloud-config\n", "cloud-config"),
        ("#CLOUD-CONFIG-ARCHIVE\n- a\n", "multipart"),
        ("#cloud-config-jsonp\n[]\n", "multipart"),
        ("#include-once\nhttps://example.org\n", "multipart"),
        ("#cloud-boothook\n#!/bin/sh\n", "multipart"),
        ("#part-handler\n", "multipart"),
        ("## template: jinja\n#!/bin/sh\n", "multipart"),
        ("## template: jinja\nhello\n", "refused"),
        ("# cloud-config\n", "refused"),
        ("[a, b]", "refused"),
        ("{\"ignition\": {}}", "refused"),
    ] {
        let met = meet(Format::CloudInit, user);
        assert_eq!(met.unwrap_or("refused"), expected, "{user:?}");
    }
    let typed = "apiVersion: v1alpha1\nkind: HostnameConfig\n";
    let error = meet(Format::CloudInit, typed).unwrap_err();
    assert!(error.problem.starts_with("it is a Talos machine configuration"), "{error}");
}

#[test]
fn a_map_without_header_is_a_cloud_config_where_vsphere_always_took_it() {
    let mut inputs = with_user(instance(Distro::Rke2), "write_files:\n- {path: /a, content: b}\n");
    assert!(render(&inputs).is_err());
    inputs.user.headerless = true;
    let files = cloud_config(&inputs)["write_files"].clone();
    assert_eq!(files.as_array().unwrap().last().unwrap()["path"], "/a");
}

#[test]
fn a_text_may_be_encoded_once() {
    let plain = text(&with_user(instance(Distro::K3s), CLOUD_CONFIG));
    let once = STANDARD.encode(CLOUD_CONFIG);
    assert_eq!(text(&with_user(instance(Distro::K3s), &once)), plain);
    let wrapped = format!("{}\n{}\n", &once[..20], &once[20..]);
    assert_eq!(text(&with_user(instance(Distro::K3s), &wrapped)), plain);
    let error = refused(&with_user(instance(Distro::K3s), &STANDARD.encode(&once)));
    assert!(error.problem.contains("more than once"), "{error}");

    let compressed = gzip(CLOUD_CONFIG.as_bytes());
    let user = |bytes: Vec<u8>| UserText {
        bytes: Secret::new(bytes),
        ..UserText::inline("spec.userData", "")
    };
    let inputs = Inputs { user: user(compressed.clone()), ..instance(Distro::K3s) };
    assert_eq!(text(&inputs), plain);
    let twice =
        Inputs { user: user(STANDARD.encode(&compressed).into_bytes()), ..instance(Distro::K3s) };
    assert!(refused(&twice).problem.contains("more than once"));
    let cut = Inputs { user: user(compressed[..12].to_vec()), ..instance(Distro::K3s) };
    assert!(refused(&cut).problem.contains("cannot be decompressed"));
}

#[test]
fn a_text_that_happens_to_be_base64_is_not_decoded() {
    // As a script of one word it is what it is, however often it could be decoded.
    let error = refused(&with_user(instance(Distro::K3s), "aGVsbG8gd29ybGQh"));
    assert!(error.problem.starts_with("it is a text in no known format"), "{error}");
}

#[test]
fn the_format_follows_from_distribution_and_text() {
    let format = |distro, user| crate::shared::rendered(&with_user(instance(distro), user)).format;
    assert_eq!(format(Distro::Kubeadm, ""), Format::CloudInit);
    assert_eq!(format(Distro::Kubeadm, SCRIPT), Format::CloudInit);
    assert_eq!(format(Distro::Kubeadm, IGNITION), Format::Ignition);
    assert_eq!(format(Distro::Kubeadm, BUTANE), Format::Ignition);
    assert_eq!(format(Distro::Talos, TALOS), Format::Talos);
    let mixed = Inputs { format: Some(Format::Talos), ..instance(Distro::K3s) };
    assert_eq!(refused(&mixed).field, "userData.type");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
