//! How a cloud carries the text, and how large it may be.

use std::{
    fmt::{self, Display, Formatter},
    io::Write,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, GzBuilder};

use super::{
    Rendered,
    error::{Error, ErrorKind},
    inputs::Format,
    report::Report,
    secret::Secret,
};

const KIB: usize = 1 << 10;

/// vSphere: above this many bytes a text is compressed. Below, it stays readable with one command.
const VSPHERE_PLAIN_MAX: usize = 8 * KIB;
/// vSphere: encoded bytes from which guests read noticeably slowly.
const VSPHERE_SLOW: usize = 64 * KIB;
/// vSphere: the limit of its own customisation, in bytes before encoding.
const VSPHERE_RAW_MAX: usize = 512 * KIB;
/// CloudStack: the default of `vm.userdata.max.length`, in base64 letters.
const CLOUDSTACK_DEFAULT_MAX: usize = 32 * KIB;
/// CloudStack: the largest parameter that its API accepts.
const CLOUDSTACK_PARAMETER_MAX: usize = KIB * KIB;
/// Proxmox: far above any realistic text, far below the size of any disk.
const PROXMOX_MAX: usize = KIB * KIB;
/// gzip's byte for an unknown operating system.
const GZIP_UNKNOWN_SYSTEM: u8 = 255;

/// How a text is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// vSphere: `guestinfo` properties.
    VsphereGuestinfo,
    /// CloudStack: the parameter `userdata`.
    CloudStack {
        /// The class's `userDataFormat`.
        compression: UserDataFormat,
        /// The server's `vm.userdata.max.length`, where it can be read.
        letters_max: Option<usize>,
    },
    /// Proxmox: a file of a NoCloud image.
    ProxmoxCdrom,
}

/// When a text for CloudStack is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserDataFormat {
    /// Never.
    Raw,
    /// Always, where the guest can read it.
    Gzip,
    /// Where it would be too large otherwise, and the guest can read it.
    #[default]
    Auto,
}

/// How the bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Plain,
    /// In base64.
    Base64,
    /// Compressed, then in base64.
    GzipBase64,
}

impl Display for Encoding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Base64 => "base64",
            Self::GzipBase64 => "gzip+base64",
        })
    }
}

/// The text as the cloud gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Who reads it in the guest.
    pub format: Format,
    /// How `bytes` are written.
    pub encoding: Encoding,
    /// The bytes. Only the cloud's call reads them.
    pub bytes: Secret<Vec<u8>>,
    /// What was made and why.
    pub report: Report,
}

/// The `guestinfo` property that a vSphere guest reads, and the one that says how it is encoded.
/// Talos looks at no encoding.
pub fn guestinfo_keys(format: Format) -> (&'static str, Option<&'static str>) {
    match format {
        Format::Ignition => {
            ("guestinfo.ignition.config.data", Some("guestinfo.ignition.config.data.encoding"))
        }
        Format::Talos => ("guestinfo.talos.config", None),
        Format::CloudInit | Format::Unknown => {
            ("guestinfo.userdata", Some("guestinfo.userdata.encoding"))
        }
    }
}

/// Encodes a text for a cloud, or says that it is too large for it.
pub fn encode(rendered: Rendered, carrier: Carrier) -> Result<Encoded, Error> {
    let Rendered { object, field, format, text, mut report, static_token } = rendered;
    let raw = text.reveal();
    let too_large = |len: usize, unit: &str, max: usize, who: &str, remedy: &str| {
        let problem = format!("the text has {len} {unit}, and {who} takes {max}");
        Error::new(ErrorKind::UserDataTooLarge, &field, problem, remedy).of(&object)
    };
    let shorter = "shorten the user's text, or fetch the long parts from the instance";
    let (encoding, bytes) = match carrier {
        Carrier::VsphereGuestinfo => {
            if raw.len() > VSPHERE_RAW_MAX {
                return Err(too_large(raw.len(), "bytes", VSPHERE_RAW_MAX, "vSphere", shorter));
            }
            let plain = format == Format::Talos || raw.len() <= VSPHERE_PLAIN_MAX;
            let (encoding, bytes) = base64(raw, !plain);
            if bytes.len() > VSPHERE_SLOW {
                if format == Format::Talos {
                    let who = "a Talos guest, which cannot decompress,";
                    return Err(too_large(
                        bytes.len(),
                        "bytes in base64",
                        VSPHERE_SLOW,
                        who,
                        shorter,
                    ));
                }
                let len = bytes.len();
                report
                    .warn(&field, format!("{len} bytes in guestinfo are slow to read; {shorter}"));
            }
            match format {
                Format::Ignition if static_token => report.warn(
                    "token",
                    "until its node has registered, everybody who sees the instance in vCenter can \
                     read a configured token there; leave it out to have one made for each node",
                ),
                Format::Talos => report.warn(
                    &field,
                    "until its node has registered, everybody who sees the instance in vCenter can \
                     read the secrets of this machine configuration; let few people see it",
                ),
                // Such a guest reads the text once and removes it.
                _ => {}
            }
            (encoding, bytes)
        }
        Carrier::CloudStack { compression, letters_max } => {
            let max = letters_max.unwrap_or(CLOUDSTACK_DEFAULT_MAX).min(CLOUDSTACK_PARAMETER_MAX);
            let plain_len = base64_len(raw.len());
            let wanted = match compression {
                UserDataFormat::Raw => false,
                UserDataFormat::Gzip => true,
                UserDataFormat::Auto => plain_len > max,
            };
            // Only cloud-init detects compression.
            let (encoding, bytes) = base64(raw, wanted && format == Format::CloudInit);
            if bytes.len() > max {
                let unit = "characters in base64";
                let remedy = "shorten the user's text, set userDataFormat: auto, or have \
                              vm.userdata.max.length raised";
                return Err(too_large(bytes.len(), unit, max, "CloudStack", remedy));
            }
            if static_token {
                report.warn(
                    "token",
                    "every process on the node can read user data, so a configured token stays \
                     readable there; leave it out to have one made for each node",
                );
            }
            (encoding, bytes)
        }
        Carrier::ProxmoxCdrom => {
            if raw.len() > PROXMOX_MAX {
                return Err(too_large(raw.len(), "bytes", PROXMOX_MAX, "the image", shorter));
            }
            (Encoding::Plain, raw.clone())
        }
    };
    report.encoded = Some((encoding, bytes.len()));
    Ok(Encoded { format, encoding, bytes: Secret::new(bytes), report })
}

fn base64(raw: &[u8], compress: bool) -> (Encoding, Vec<u8>) {
    if compress {
        (Encoding::GzipBase64, STANDARD.encode(gzip(raw)).into_bytes())
    } else {
        (Encoding::Base64, STANDARD.encode(raw).into_bytes())
    }
}

fn base64_len(raw: usize) -> usize {
    raw.div_ceil(3) * 4
}

/// Compresses deterministically: the header has no name, time or system.
fn gzip(raw: &[u8]) -> Vec<u8> {
    let mut writer = GzBuilder::new()
        .mtime(0)
        .operating_system(GZIP_UNKNOWN_SYSTEM)
        .write(Vec::new(), Compression::best());
    writer.write_all(raw).and_then(|()| writer.finish()).expect("memory takes everything")
}
