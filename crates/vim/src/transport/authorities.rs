//! Authorities whose certificates are accepted: those that this computer trusts, and those in
//! files. Files are read again when they have changed, so that an authority can be replaced while
//! we run.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
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

/// What verifies certificates, by what the files hold now.
#[derive(Debug)]
pub(super) struct Authorities {
    files: Vec<PathBuf>,
    provider: Arc<CryptoProvider>,
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
    /// Those that this computer trusts, and those in the files.
    pub(super) fn new(
        files: Vec<PathBuf>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsProblem> {
        let contents = read(&files)?;
        let verifier = verifier(&contents, &provider)?;
        let known = Mutex::new(Known { verifier, digest: Some(digest(&contents)) });
        Ok(Self { files, provider, known })
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
        let contents = read(&self.files);
        let seen = contents.as_ref().ok().map(|contents| digest(contents));
        if seen.as_ref().map(Digest::as_ref) == known.digest.as_ref().map(Digest::as_ref) {
            return;
        }
        known.digest = seen;
        match contents.and_then(|contents| verifier(&contents, &self.provider)) {
            Ok(verifier) => {
                known.verifier = verifier;
                tracing::info!("the files of GOVC_TLS_CA_CERTS have changed and were read again");
            }
            Err(problem) => tracing::warn!(
                "GOVC_TLS_CA_CERTS: {problem}; what the files held before is still trusted"
            ),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file, and what is in it.
type Content<'a> = (&'a Path, Vec<u8>);

fn read(files: &[PathBuf]) -> Result<Vec<Content<'_>>, TlsProblem> {
    let content = |file: &PathBuf| fs::read(file).map_err(|error| problem(file, &error));
    files.iter().map(|file| Ok((&**file, content(file)?))).collect()
}

fn digest(contents: &[Content<'_>]) -> Digest {
    let mut context = Context::new(&SHA256);
    for (_, bytes) in contents {
        context.update(&bytes.len().to_le_bytes());
        context.update(bytes);
    }
    context.finish()
}

fn verifier(
    contents: &[Content<'_>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TlsProblem> {
    let roots = Arc::new(roots(rustls_native_certs::load_native_certs().certs, contents)?);
    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
        .build()
        .map_err(|error| TlsProblem(format!("authorities cannot be used: {error}")))
}

/// The certificates of a computer and those of files together.
fn roots(
    of_computer: Vec<CertificateDer<'_>>,
    contents: &[Content<'_>],
) -> Result<RootCertStore, TlsProblem> {
    let mut roots = RootCertStore::empty();
    // Some of what a computer trusts is always unreadable to somebody; what is left counts.
    roots.add_parsable_certificates(of_computer);
    for (file, bytes) in contents {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(bytes) {
            let certificate = certificate.map_err(|error| problem(file, &error))?;
            roots.add(certificate).map_err(|error| problem(file, &error))?;
        }
        if roots.len() == before {
            return Err(problem(file, &"no certificate in it; it has to be PEM"));
        }
    }
    if roots.is_empty() {
        return Err(TlsProblem(
            "this computer trusts no authority at all; name the vCenter's authority \
             (GOVC_TLS_CA_CERTS), or its certificate's thumbprint (VSPHERE_THUMBPRINT)"
                .to_owned(),
        ));
    }
    Ok(roots)
}

fn problem(file: &Path, error: &dyn Display) -> TlsProblem {
    TlsProblem(format!("{}: {error}", file.display()))
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
        let file = || (Path::new("ca.pem"), of_file.pem().into_bytes());
        let trusted = |computer: Vec<_>, files: &[_]| roots(computer, files).map(|r| r.len());
        let of_computer = || vec![of_computer.der().clone()];
        assert_eq!(trusted(of_computer(), &[]).unwrap(), 1);
        assert_eq!(trusted(of_computer(), &[file()]).unwrap(), 2);
        assert_eq!(trusted(Vec::new(), &[file()]).unwrap(), 1);
        let told = trusted(Vec::new(), &[]).unwrap_err().to_string();
        assert!(told.contains("GOVC_TLS_CA_CERTS"), "{told}");
    }

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let empty = (Path::new("ca.pem"), b"nothing".to_vec());
        let told = roots(vec![certificate().der().clone()], &[empty]).unwrap_err().to_string();
        assert_eq!(told, "ca.pem: no certificate in it; it has to be PEM");
    }
}
