//! How large a text may be, and how each cloud carries it.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use joiner_cloud::bootstrap::{
    Carrier, Distro, Encoded, Encoding, Error, ErrorKind, Format, Inputs, Secret, UserDataFormat,
    encode, guestinfo_keys, token::Token,
};

use crate::shared::{instance, rendered, with_user};

const SCRIPT: &str = "#!/bin/sh\n";

/// Encodes a user's text of `len` bytes that begins with `head`.
fn encoded(head: &str, len: usize, carrier: Carrier) -> Result<Encoded, Error> {
    let text = format!("{head}{}", "a".repeat(len - head.len()));
    encode(rendered(&with_user(instance(Distro::None), &text)), carrier)
}

/// A text that does not compress: letters out of a simple generator.
fn noise(head: &str, len: usize) -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'!' + ((state >> 24) % 90) as u8)
    };
    let rest: String = (head.len()..len).map(|_| letter()).collect();
    format!("{head}{rest}")
}

fn cloudstack(compression: UserDataFormat) -> Carrier {
    Carrier::CloudStack { compression, letters_max: None }
}

#[test]
fn cloudstack_counts_base64() {
    let fits = encoded(SCRIPT, 24_576, cloudstack(UserDataFormat::Raw)).unwrap();
    assert_eq!((fits.encoding, fits.bytes.reveal().len()), (Encoding::Base64, 32_768));
    let error = encoded(SCRIPT, 24_577, cloudstack(UserDataFormat::Raw)).unwrap_err();
    assert_eq!(
        (error.kind.condition(), error.kind.reason()),
        ("ValidationSucceeded", "UserDataTooLarge")
    );
    assert!(error.problem.contains("32772") && error.problem.contains("32768"), "{error}");
    assert_eq!(error.object, "VsphereNodeClass \"default\"");
}

#[test]
fn cloudstack_compresses_only_for_cloud_init_and_only_if_need_be() {
    let auto = cloudstack(UserDataFormat::Auto);
    assert_eq!(encoded(SCRIPT, 24_576, auto).unwrap().encoding, Encoding::Base64);
    assert_eq!(encoded(SCRIPT, 24_577, auto).unwrap().encoding, Encoding::GzipBase64);
    let always = cloudstack(UserDataFormat::Gzip);
    assert_eq!(encoded(SCRIPT, 100, always).unwrap().encoding, Encoding::GzipBase64);
    let talos = "version: v1alpha1\nmachine: {}\n# ";
    assert_eq!(encoded(talos, 24_577, auto).unwrap_err().kind, ErrorKind::UserDataTooLarge);
    let ignition = "{\"ignition\":{\"version\":\"3.4.0\"}}";
    let user = format!("{ignition}{}", " ".repeat(30_000));
    let error = encode(rendered(&with_user(instance(Distro::None), &user)), auto).unwrap_err();
    assert_eq!(error.kind, ErrorKind::UserDataTooLarge);
    assert_eq!(encoded("what?", 100, always).unwrap().encoding, Encoding::Base64);
    let noise = rendered(&with_user(instance(Distro::None), &noise(SCRIPT, 60_000)));
    assert_eq!(encode(noise, auto).unwrap_err().kind, ErrorKind::UserDataTooLarge);
}

#[test]
fn cloudstacks_own_setting_counts_where_it_is_known() {
    let carrier =
        |max| Carrier::CloudStack { compression: UserDataFormat::Raw, letters_max: Some(max) };
    assert!(encoded(SCRIPT, 30_000, carrier(40_000)).is_ok());
    assert!(encoded(SCRIPT, 30_000, carrier(39_999)).is_err());
    // More than its API takes is never sent, whatever the setting is.
    assert!(encoded(SCRIPT, 800_000, carrier(2_000_000)).is_err());
}

#[test]
fn vsphere_compresses_what_is_not_small() {
    let carrier = Carrier::VsphereGuestinfo;
    let small = encoded(SCRIPT, 8_192, carrier).unwrap();
    assert_eq!(small.encoding, Encoding::Base64);
    let large = encoded(SCRIPT, 8_193, carrier).unwrap();
    assert_eq!(large.encoding, Encoding::GzipBase64);
    let gzip = STANDARD.decode(large.bytes.reveal()).unwrap();
    assert_eq!(gzip[..4], [0x1f, 0x8b, 8, 0], "no name");
    assert_eq!(gzip[4..8], [0; 4], "no time");
    assert_eq!(gzip[9], 255, "no system");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut text).unwrap();
    assert_eq!(text.len(), 8_193);
    assert!(large.report.warnings.is_empty());
    assert_eq!(large.report.encoded, Some((Encoding::GzipBase64, large.bytes.reveal().len())));
}

#[test]
fn vsphere_warns_and_then_refuses() {
    let carrier = Carrier::VsphereGuestinfo;
    let slow = rendered(&with_user(instance(Distro::None), &noise(SCRIPT, 100_000)));
    let slow = encode(slow, carrier).unwrap();
    assert!(slow.report.warnings[0].text.contains("slow to read"), "{}", slow.report);
    assert!(encoded(SCRIPT, 524_288, carrier).is_ok());
    assert_eq!(encoded(SCRIPT, 524_289, carrier).unwrap_err().kind, ErrorKind::UserDataTooLarge);
}

#[test]
fn talos_on_vsphere_is_never_compressed() {
    let talos = "version: v1alpha1\nmachine: {}\n# ";
    let carrier = Carrier::VsphereGuestinfo;
    let largest = encoded(talos, 49_152, carrier).unwrap();
    assert_eq!(largest.encoding, Encoding::Base64);
    let warning = &largest.report.warnings[0].text;
    assert!(warning.contains("secrets of this machine configuration"), "{warning}");
    let error = encoded(talos, 49_153, carrier).unwrap_err();
    assert!(error.problem.contains("cannot decompress"), "{error}");
    assert_eq!(guestinfo_keys(Format::Talos), ("guestinfo.talos.config", None));
    assert_eq!(guestinfo_keys(Format::CloudInit).0, "guestinfo.userdata");
    assert_eq!(guestinfo_keys(Format::Ignition).0, "guestinfo.ignition.config.data");
}

#[test]
fn an_image_for_proxmox_has_the_text_itself() {
    let plain = encoded(SCRIPT, 1 << 20, Carrier::ProxmoxCdrom).unwrap();
    assert_eq!((plain.encoding, plain.bytes.reveal().len()), (Encoding::Plain, 1 << 20));
    assert!(encoded(SCRIPT, (1 << 20) + 1, Carrier::ProxmoxCdrom).is_err());
}

#[test]
fn a_token_that_stays_is_warned_about_where_user_data_stays() {
    let mut inputs = instance(Distro::Kubeadm);
    let warned = |inputs: &Inputs, carrier| {
        let encoded = encode(rendered(inputs), carrier).unwrap();
        encoded.report.warnings.iter().any(|warning| warning.text.contains("stays readable"))
    };
    assert!(!warned(&inputs, cloudstack(UserDataFormat::Auto)));
    inputs.token = Some(Token::Given(Secret::from(crate::shared::TOKEN)));
    assert!(warned(&inputs, cloudstack(UserDataFormat::Auto)));
    assert!(!warned(&inputs, Carrier::VsphereGuestinfo));
}
