//! Authorities whose certificates are accepted: those that this computer trusts, those in a
//! setting's text and those in files. Files are read again when they have changed, so that an
//! authority can be replaced while the program runs.

use std::{
    fmt::Display,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ring::digest::{Context, Digest, SHA256};
use rustls::{
    RootCertStore,
    client::WebPkiServerVerifier,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::tls::TlsProblem;
use crate::SettingNames;

/// What verifies certificates, by what the files hold now.
#[derive(Debug)]
pub(super) struct Authorities {
    files: Vec<PathBuf>,
    /// What a setting's own text holds.
    inline: Option<Content>,
    provider: Arc<CryptoProvider>,
    names: SettingNames,
    known: Mutex<Known>,
}

/// What was read last.
#[derive(Debug)]
struct Known {
    verifier: Arc<WebPkiServerVerifier>,
    /// Of the files as they were looked at last, whether they could be used or not; none where they
    /// could not be read.
    digest: Option<Digest>,
}

impl Authorities {
    /// Those that this computer trusts, those in the files and those in a setting's text.
    pub(super) fn new(
        files: Vec<PathBuf>,
        inline: Option<String>,
        provider: Arc<CryptoProvider>,
        names: SettingNames,
    ) -> Result<Self, TlsProblem> {
        let setting = names.ca_inline.as_ref().unwrap_or(&names.ca_files);
        let inline = inline.map(|pem| Content { of: setting.to_string(), bytes: pem.into_bytes() });
        let contents = read(&files, inline.as_ref())?;
        let verifier = verifier(&contents, &provider, &names)?;
        let known = Mutex::new(Known { verifier, digest: Some(digest(&contents)) });
        Ok(Self { files, inline, provider, names, known })
    }

    /// What verifies the certificate of a new connection. While the files cannot be used, what was
    /// read before counts.
    pub(super) fn verifier(&self) -> Arc<WebPkiServerVerifier> {
        let mut known = self.known();
        if !self.files.is_empty() {
            self.look_again(&mut known);
        }
        Arc::clone(&known.verifier)
    }

    fn look_again(&self, known: &mut Known) {
        let contents = read(&self.files, self.inline.as_ref());
        let seen = contents.as_ref().ok().map(|contents| digest(contents));
        if seen.as_ref().map(Digest::as_ref) == known.digest.as_ref().map(Digest::as_ref) {
            return;
        }
        known.digest = seen;
        let setting = &self.names.ca_files;
        match contents.and_then(|contents| verifier(&contents, &self.provider, &self.names)) {
            Ok(verifier) => {
                known.verifier = verifier;
                tracing::info!("the files of {setting} have changed and were read again");
            }
            Err(problem) => {
                tracing::warn!("{setting}: {problem}; what the files held before is still trusted");
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a file or a setting holds.
#[derive(Debug, Clone)]
struct Content {
    /// The file or the setting, for messages.
    of: String,
    bytes: Vec<u8>,
}

fn read(files: &[PathBuf], inline: Option<&Content>) -> Result<Vec<Content>, TlsProblem> {
    let content = |file: &PathBuf| {
        let of = file.display().to_string();
        match fs::read(file) {
            Ok(bytes) => Ok(Content { of, bytes }),
            Err(error) => Err(problem(&of, &error)),
        }
    };
    files.iter().map(content).chain(inline.cloned().map(Ok)).collect()
}

fn digest(contents: &[Content]) -> Digest {
    let mut context = Context::new(&SHA256);
    for Content { bytes, .. } in contents {
        context.update(&bytes.len().to_le_bytes());
        context.update(bytes);
    }
    context.finish()
}

fn verifier(
    contents: &[Content],
    provider: &Arc<CryptoProvider>,
    names: &SettingNames,
) -> Result<Arc<WebPkiServerVerifier>, TlsProblem> {
    let roots = roots(rustls_native_certs::load_native_certs().certs, contents, names)?;
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| TlsProblem(format!("authorities cannot be used: {error}")))
}

/// The certificates of a computer and those of files and settings together.
fn roots(
    of_computer: Vec<CertificateDer<'_>>,
    contents: &[Content],
    names: &SettingNames,
) -> Result<RootCertStore, TlsProblem> {
    let mut roots = RootCertStore::empty();
    // Some of what a computer trusts may be unreadable; what is left counts.
    roots.add_parsable_certificates(of_computer);
    for Content { of, bytes } in contents {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(bytes) {
            let certificate = certificate.map_err(|error| problem(of, &error))?;
            roots.add(certificate).map_err(|error| problem(of, &error))?;
        }
        if roots.len() == before {
            return Err(problem(of, &"no certificate in it; it has to be PEM"));
        }
    }
    if roots.is_empty() {
        let SettingNames { server, ca_files, thumbprint, .. } = names;
        let or_pin = thumbprint.as_ref().map_or_else(String::new, |setting| {
            format!(", or its certificate's thumbprint ({setting})")
        });
        return Err(TlsProblem(format!(
            "this computer trusts no authority at all; name {server}'s authority ({ca_files}){or_pin}"
        )));
    }
    Ok(roots)
}

fn problem(of: &str, error: &dyn Display) -> TlsProblem {
    TlsProblem(format!("{of}: {error}"))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    fn certificate() -> rcgen::Certificate {
        let CertifiedKey { cert, .. } = generate_simple_self_signed(["vc".to_owned()]).unwrap();
        cert
    }

    #[test]
    fn what_files_hold_is_trusted_besides_what_the_computer_trusts() {
        let (of_computer, of_file) = (certificate(), certificate());
        let file = || Content { of: "ca.pem".to_owned(), bytes: of_file.pem().into_bytes() };
        let trusted = |computer: Vec<_>, files: &[_]| {
            roots(computer, files, &SettingNames::of_vsphere()).map(|roots| roots.len())
        };
        let of_computer = || vec![of_computer.der().clone()];
        assert_eq!(trusted(of_computer(), &[]).unwrap(), 1);
        assert_eq!(trusted(of_computer(), &[file()]).unwrap(), 2);
        assert_eq!(trusted(Vec::new(), &[file()]).unwrap(), 1);
        let told = trusted(Vec::new(), &[]).unwrap_err().to_string();
        assert!(told.contains("GOVC_TLS_CA_CERTS"), "{told}");
    }

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let empty = Content { of: "ca.pem".to_owned(), bytes: b"nothing".to_vec() };
        let of_computer = vec![certificate().der().clone()];
        let told =
            roots(of_computer, &[empty], &SettingNames::of_vsphere()).unwrap_err().to_string();
        assert_eq!(told, "ca.pem: no certificate in it; it has to be PEM");
    }

    #[test]
    fn a_setting_without_a_certificate_is_named() {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let inline = Some("nothing".to_owned());
        let told = Authorities::new(Vec::new(), inline, provider, SettingNames::of_vsphere())
            .unwrap_err()
            .to_string();
        assert_eq!(told, "ca_data: no certificate in it; it has to be PEM");
    }
}
