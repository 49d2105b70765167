//! Which servers are trusted.

use std::{
    fmt::{self, Debug, Display, Formatter, Write as _},
    path::PathBuf,
    str::FromStr,
    sync::Arc,
};

use ring::digest;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring as ring_provider},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::authorities::Authorities;
use crate::SettingNames;

/// How a server shows that it is the one that was meant. Nothing given is the usual: a certificate
/// of an authority that this computer trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// Files with certificates of authorities, besides those that this computer trusts. They are
    /// read again when they have changed.
    pub ca_files: Vec<PathBuf>,
    /// Certificates of authorities as PEM text, besides those.
    pub ca_inline: Option<String>,
    /// If there are any, a server is accepted by exactly these certificates, by whatever authority
    /// they are signed. Servers of one cloud may have one each.
    pub thumbprints: Vec<Thumbprint>,
    /// Accept any certificate. Anyone between client and server can then read the credentials.
    pub insecure: bool,
}

/// A digest of a certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct Thumbprint(Vec<u8>);

const SHA1_BYTES: usize = 20;
const SHA256_BYTES: usize = 32;

/// A text that is no digest of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no thumbprint of a certificate: write its SHA-256 (32 bytes) or SHA-1 (20 bytes) as \
     hexadecimal pairs, AB:CD:…"
)]
pub struct InvalidThumbprint(String);

impl FromStr for Thumbprint {
    type Err = InvalidThumbprint;

    /// Reads hexadecimal pairs, with colons between them or without.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidThumbprint(text.to_owned());
        let digits: Vec<char> = text.trim().chars().filter(|c| *c != ':').collect();
        let pair = |pair: &[char]| {
            let [high, low] = pair else { return None };
            u8::try_from(high.to_digit(16)? * 16 + low.to_digit(16)?).ok()
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
        let known = |bytes: &Vec<u8>| matches!(bytes.len(), SHA1_BYTES | SHA256_BYTES);
        bytes.filter(known).map(Self).ok_or_else(invalid)
    }
}

impl Thumbprint {
    /// Whether this is a SHA-256, for clouds that take no other.
    pub fn is_sha256(&self) -> bool {
        self.0.len() == SHA256_BYTES
    }

    /// The SHA-256 of a certificate.
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(digest::digest(&digest::SHA256, certificate).as_ref().to_vec())
    }

    fn is_of(&self, certificate: &CertificateDer<'_>) -> bool {
        let algorithm = if self.0.len() == SHA1_BYTES {
            &digest::SHA1_FOR_LEGACY_USE_ONLY
        } else {
            &digest::SHA256
        };
        digest::digest(algorithm, certificate).as_ref() == self.0
    }
}

impl Display for Thumbprint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_char(':')?;
            }
            write!(f, "{byte:02X}")?;
        }
        Ok(())
    }
}

impl Debug for Thumbprint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Why no server can be trusted with these settings.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TlsProblem(pub(super) String);

impl TlsSettings {
    /// The settings as the TLS library wants them.
    pub(super) fn client_config(&self, names: SettingNames) -> Result<ClientConfig, TlsProblem> {
        let provider = Arc::new(ring_provider::default_provider());
        let trusted = if !self.thumbprints.is_empty() {
            Trusted::Pinned(self.thumbprints.clone())
        } else if self.insecure {
            Trusted::Any
        } else {
            let (files, inline) = (self.ca_files.clone(), self.ca_inline.clone());
            let provider = Arc::clone(&provider);
            Trusted::Signed(Box::new(Authorities::new(files, inline, provider, names.clone())?))
        };
        let verifier = Verifier { trusted, provider: Arc::clone(&provider), names };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsProblem(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        // A session that is resumed shows no certificate, and who is trusted may have changed.
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

/// Whose certificates are accepted.
#[derive(Debug)]
enum Trusted {
    Any,
    Pinned(Vec<Thumbprint>),
    Signed(Box<Authorities>),
}

/// Accepts servers, and says of the others what would help.
#[derive(Debug)]
struct Verifier {
    trusted: Trusted,
    provider: Arc<CryptoProvider>,
    names: SettingNames,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trusted {
            Trusted::Any => Ok(ServerCertVerified::assertion()),
            Trusted::Pinned(pinned) if pinned.iter().any(|own| own.is_of(certificate)) => {
                Ok(ServerCertVerified::assertion())
            }
            Trusted::Pinned(pinned) => {
                Err(Error::General(other_than_pinned(certificate, pinned, &self.names)))
            }
            Trusted::Signed(authorities) => authorities
                .verifier()
                .verify_server_cert(certificate, intermediates, name, ocsp_response, now)
                .map_err(|error| Error::General(remedy(&error, certificate, name, &self.names))),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What is wrong with a certificate that was not pinned, and what helps.
fn other_than_pinned(
    certificate: &CertificateDer<'_>,
    pinned: &[Thumbprint],
    names: &SettingNames,
) -> String {
    let accepted: Vec<String> = pinned.iter().map(ToString::to_string).collect();
    let is_accepted =
        if accepted.len() == 1 { "is the one to accept" } else { "are those to accept" };
    let setting = names.thumbprint.as_deref();
    let setting = setting.map_or_else(String::new, |setting| format!(" ({setting})"));
    format!(
        "the server's certificate has thumbprint {}, and {} {is_accepted}; if the certificate was \
         renewed, change the thumbprint{setting} after comparing it",
        Thumbprint::of(certificate),
        accepted.join(", "),
    )
}

/// What is wrong with a certificate, and what helps.
fn remedy(
    error: &Error,
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    names: &SettingNames,
) -> String {
    let or_pin = names.or_pin(&Thumbprint::of(certificate));
    let name = name.to_str();
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => format!(
            "no trusted authority signed the certificate of {name}; name its authority's \
             certificate ({}){or_pin}",
            names.ca_files
        ),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("the certificate is not for {name}; use the name that it is for{or_pin}"),
        error => format!("the certificate of {name} is refused: {error}; renew it{or_pin}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbprints_are_read_with_colons_and_without() {
        let sha256 = "AB:".repeat(31) + "ab";
        assert_eq!(sha256.parse::<Thumbprint>().unwrap().to_string(), sha256.to_uppercase());
        let sha1 = "0f".repeat(20);
        assert_eq!(sha1.parse::<Thumbprint>().unwrap().0, [0x0f; 20]);
        assert!(sha256.parse::<Thumbprint>().unwrap().is_sha256());
        assert!(!sha1.parse::<Thumbprint>().unwrap().is_sha256());
        for wrong in ["", "AB:CD", &"AB:".repeat(33), &"zz".repeat(20), &"a".repeat(41)] {
            assert!(wrong.parse::<Thumbprint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_thumbprint_is_of_one_certificate_by_either_digest() {
        let certificate = CertificateDer::from(b"not looked into".to_vec());
        let other = CertificateDer::from(b"another".to_vec());
        let sha256 = Thumbprint::of(&certificate);
        let sha1 = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &certificate);
        let sha1 = Thumbprint(sha1.as_ref().to_vec());
        for thumbprint in [sha256, sha1] {
            assert!(thumbprint.is_of(&certificate));
            assert!(!thumbprint.is_of(&other));
        }
    }

    #[test]
    fn whatever_is_wrong_with_a_certificate_its_thumbprint_is_told() {
        let certificate = CertificateDer::from(b"not looked into".to_vec());
        let thumbprint = Thumbprint::of(&certificate).to_string();
        let name = ServerName::try_from("vcenter.example.org").unwrap();
        for wrong in [
            CertificateError::Expired,
            CertificateError::UnknownIssuer,
            CertificateError::NotValidForName,
        ] {
            let told = remedy(
                &Error::InvalidCertificate(wrong),
                &certificate,
                &name,
                &SettingNames::of_vsphere(),
            );
            let words = ["vcenter.example.org", thumbprint.as_str(), "VSPHERE_THUMBPRINT"];
            assert!(words.iter().all(|word| told.contains(word)), "{told}");
        }
    }

    #[test]
    fn a_file_of_authorities_that_is_of_no_use_is_named() {
        let settings =
            TlsSettings { ca_files: vec!["/nowhere/ca.pem".into()], ..TlsSettings::default() };
        let told = settings.client_config(SettingNames::of_vsphere()).unwrap_err().to_string();
        assert!(told.starts_with("/nowhere/ca.pem: "), "{told}");
    }

    #[test]
    fn a_cloud_without_a_setting_for_thumbprints_does_not_name_one() {
        let certificate = CertificateDer::from(b"not looked into".to_vec());
        let name = ServerName::try_from("cloud.example.org").unwrap();
        let names = SettingNames {
            server: "the management server".into(),
            ca_files: "CLOUDSTACK_CA_FILE".into(),
            ca_inline: None,
            thumbprint: None,
        };
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert_eq!(
            remedy(&unknown, &certificate, &name, &names),
            "no trusted authority signed the certificate of cloud.example.org; name its \
             authority's certificate (CLOUDSTACK_CA_FILE)"
        );
    }
}
