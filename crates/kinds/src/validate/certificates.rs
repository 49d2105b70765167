//! `CertificateSigningRequests`.

use serde_json::Value;

use super::{
    base64, diff,
    errors::{Errors, Path},
    formats,
};
use crate::fields::{Fields, same};

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// A request that is created.
///
/// COMPAT: that the request is signed with its own key is not checked, only that it is a request.
pub(super) fn create(errors: &mut Errors, request: &Value) {
    let (path, spec) = (Path::new("spec"), request.part("spec"));
    let pem = base64::decode(spec.text("request")).unwrap_or_default();
    if !is_pem(&pem, "CERTIFICATE REQUEST") {
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        errors.invalid(&path.child("request"), spec.part("request").clone(), detail);
    }
    let usages: Vec<&str> = spec.texts("usages").collect();
    let at = path.child("usages");
    if usages.is_empty() {
        errors.required(&at, "");
    }
    for (index, usage) in usages.iter().enumerate() {
        errors.supported(&at.index(index), usage, &USAGES);
    }
    for (index, usage) in usages.iter().enumerate() {
        if usages[..index].contains(usage) {
            errors.duplicate(&at.index(index), *usage);
        }
    }
    let signer = spec.text("signerName");
    let at = path.child("signerName");
    if signer == "kubernetes.io/legacy-unknown" {
        let detail = "the legacy signerName is not allowed via this API version";
        errors.invalid(&at, signer, detail);
    } else {
        signer_name(errors, &at, signer);
    }
    if let Some(seconds) = spec.number("expirationSeconds").filter(|seconds| *seconds < 600) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(&path.child("expirationSeconds"), seconds, detail);
    }
    conditions(errors, request);
}

/// A certificate that a signer wrote.
fn certificate(errors: &mut Errors, request: &Value) {
    let text = request.part("status").text("certificate");
    let pem = base64::decode(text).unwrap_or_default();
    if !text.is_empty() && !is_pem(&pem, "CERTIFICATE") {
        let path = Path::new("status.certificate");
        let detail = "must contain at least one CERTIFICATE PEM block";
        errors.invalid(&path, "<certificate data>", detail);
    }
}

fn is_pem(bytes: &[u8], kind: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains(&format!("-----BEGIN {kind}-----"))
        && text.contains(&format!("-----END {kind}-----"))
}

/// A domain, a slash and a path.
fn signer_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let detail =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.invalid(path, name, detail);
        return;
    };
    if domain.len() > 253 {
        errors.too_long(path, 253);
    }
    for label in domain.split('.') {
        let wrong = formats::dns_label(label);
        if !wrong.is_empty() {
            for message in wrong {
                errors.invalid(path, domain, format!("validating label {label:?}: {message}"));
            }
            break;
        }
    }
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.invalid(path, domain, detail);
    }
    for label in rest.split('.') {
        let wrong = formats::dns_subdomain(label);
        if !wrong.is_empty() {
            for message in wrong {
                errors.invalid(path, rest, format!("validating label {label:?}: {message}"));
            }
            break;
        }
    }
    let longest = 253 + 63 + 1;
    if rest.len() > longest {
        errors.too_long(path, longest);
    }
    if name.len() > 571 {
        errors.too_long(path, 571);
    }
}

fn conditions(errors: &mut Errors, request: &Value) {
    let path = Path::new("status.conditions");
    let conditions = request.part("status").list("conditions");
    for (index, condition) in conditions.iter().enumerate() {
        let at = path.index(index);
        let kind = condition.text("type");
        if kind.is_empty() {
            errors.required(&at.child("type"), "");
        }
        let known: &[&str] = if ["Approved", "Denied", "Failed"].contains(&kind) {
            &["True"]
        } else {
            &["False", "True", "Unknown"]
        };
        errors.one_of(&at.child("status"), condition.text("status"), known);
        let before = |kind: &str| conditions[..index].iter().any(|one| one.text("type") == kind);
        if (kind == "Approved" && before("Denied")) || (kind == "Denied" && before("Approved")) {
            let detail = "Approved and Denied conditions are mutually exclusive";
            errors.invalid(&path, kind, detail);
        }
        if before(kind) {
            errors.duplicate(&at.child("type"), kind);
        }
    }
}

/// An update through the main endpoint, the status or the approval.
pub(super) fn update(errors: &mut Errors, new: &Value, old: &Value, subresource: Option<&str>) {
    create(errors, new);
    if subresource == Some("status") {
        certificate(errors, new);
    }
    let path = Path::new("status.conditions");
    let of_kind = |request: &Value, kind: &str| -> Vec<Value> {
        let all = request.part("status").list("conditions").iter();
        all.filter(|condition| condition.text("type") == kind).cloned().collect()
    };
    for kind in ["Approved", "Denied", "Failed"] {
        if of_kind(new, kind).len() < of_kind(old, kind).len() {
            let detail = format!("updates may not remove a condition of type {kind:?}");
            errors.forbidden(&path, detail);
        }
    }
    if subresource != Some("approval") {
        for kind in ["Approved", "Denied"] {
            let (now, then) = (of_kind(new, kind), of_kind(old, kind));
            if now.len() > then.len() {
                let detail = format!("updates may not add a condition of type {kind:?}");
                errors.forbidden(&path, detail);
            } else if now.len() == then.len() && !same(&now.clone().into(), &then.clone().into()) {
                let difference = diff::unified("", &then.into(), &now.into());
                let detail =
                    format!("updates may not modify a condition of type {kind:?}\n{difference}");
                errors.forbidden(&path, detail);
            }
        }
    }
    let (now, then) =
        (new.part("status").text("certificate"), old.part("status").text("certificate"));
    if now != then {
        let path = Path::new("status.certificate");
        if subresource != Some("status") {
            errors.forbidden(&path, "updates may not set certificate content");
        } else if !then.is_empty() {
            errors.forbidden(&path, "updates may not modify existing certificate content");
        }
    }
}
