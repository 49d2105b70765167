//! How an instance knows that it joins the right cluster.

use base64::{Engine, engine::general_purpose::STANDARD};
use x509_parser::{
    certificate::X509Certificate, extensions::ParsedExtension, pem::Pem, prelude::FromDer,
};

use super::{
    digest::{hex, sha256},
    error::{Error, ErrorKind},
};

/// The certificates of a cluster's authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaBundle {
    pem: String,
    /// At least one.
    certificates: Vec<Certificate>,
}

/// What is needed of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Certificate {
    der: Vec<u8>,
    public_key_info: Vec<u8>,
    subject: Vec<u8>,
    issuer: Vec<u8>,
    key_id: Option<Vec<u8>>,
    issuer_key_id: Option<Vec<u8>>,
}

impl CaBundle {
    /// Reads one or several certificates as PEM.
    pub fn read(pem: &str) -> Result<Self, Error> {
        let refuse = |problem: String| {
            let remedy = "give the certificates of the cluster's authority, as in the ConfigMap \
                          kube-root-ca.crt";
            Error::new(ErrorKind::CaUnknown, "ca", problem, remedy)
        };
        let mut certificates = Vec::new();
        for block in Pem::iter_from_buffer(pem.as_bytes()) {
            let block = block.map_err(|error| refuse(format!("it is no PEM: {error}")))?;
            if block.label != "CERTIFICATE" {
                return Err(refuse(format!("there is a {} in it", block.label)));
            }
            let certificate = Certificate::read(block.contents)
                .ok_or_else(|| refuse("there is a block in it that is no certificate".into()))?;
            certificates.push(certificate);
        }
        if certificates.is_empty() {
            return Err(refuse("there is no certificate in it".to_owned()));
        }
        Ok(Self { pem: pem.to_owned(), certificates })
    }

    /// kubeadm's pins: one hash of the public key for each certificate.
    pub fn kubeadm_hashes(&self) -> Vec<String> {
        let keys = self.certificates.iter().map(|certificate| &certificate.public_key_info);
        keys.map(|key| format!("sha256:{}", hex(&sha256(key)))).collect()
    }

    /// The hash in tokens of RKE2 and k3s. A single certificate counts with the bytes of its file,
    /// a chain with its root, and a bundle that is no chain with the bytes of its file again.
    pub fn supervisor_hash(&self) -> String {
        let hashed = match self.root() {
            Some(root) if self.certificates.len() > 1 => root.der.as_slice(),
            _ => self.pem.as_bytes(),
        };
        hex(&sha256(hashed))
    }

    /// The certificates as Talos and `${JOINER_CA_PEM_B64}` have them.
    pub fn pem_base64(&self) -> String {
        STANDARD.encode(&self.pem)
    }

    /// Where the chain of the first certificate ends.
    fn root(&self) -> Option<&Certificate> {
        let (mut current, others) = self.certificates.split_first()?;
        // A chain is no longer than the bundle, so a circle ends too.
        for _ in others {
            current = others.iter().find(|other| other.issued(current))?;
            if current.is_root() {
                return Some(current);
            }
        }
        None
    }
}

impl Certificate {
    fn read(der: Vec<u8>) -> Option<Self> {
        let (rest, parsed) = X509Certificate::from_der(&der).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let (mut key_id, mut issuer_key_id) = (None, None);
        for extension in parsed.iter_extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(id) => key_id = Some(id.0.to_vec()),
                ParsedExtension::AuthorityKeyIdentifier(authority) => {
                    issuer_key_id = authority.key_identifier.as_ref().map(|id| id.0.to_vec());
                }
                _ => {}
            }
        }
        let (public_key_info, subject, issuer) = (
            parsed.public_key().raw.to_vec(),
            parsed.subject().as_raw().to_vec(),
            parsed.issuer().as_raw().to_vec(),
        );
        Some(Self { der, public_key_info, subject, issuer, key_id, issuer_key_id })
    }

    fn is_root(&self) -> bool {
        self.subject == self.issuer
            && (self.issuer_key_id.is_none() || self.issuer_key_id == self.key_id)
    }

    fn issued(&self, other: &Self) -> bool {
        self.subject == other.issuer
            && (other.issuer_key_id.is_none() || other.issuer_key_id == self.key_id)
    }
}

/// The pin that RKE2 and k3s instances compare with the supervisor's certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The public URL of the supervisor's certificates.
    pub shown_at: String,
    /// The hash that tokens carry.
    pub(super) hash: String,
}

impl Pin {
    /// Whether instances would accept these certificates.
    pub fn check(&self, shown: &CaBundle) -> Result<(), Error> {
        let shown = shown.supervisor_hash();
        if self.hash == shown {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::CaMismatch,
            "token",
            format!(
                "it pins the certificate authority {}, but {} shows {shown}: instances would not \
                 join",
                self.hash, self.shown_at
            ),
            "check that CLUSTER_ENDPOINT (--cluster-endpoint) leads to this cluster; if it does, \
             renew JOIN_TOKEN (--join-token), which is of another cluster or older than the \
             authority",
        ))
    }
}
