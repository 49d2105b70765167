//! The form in which an answer is given, from the `Accept` header.

use crate::Status;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) encoding: Encoding,
    pub(crate) shape: Shape,
}

/// The notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
}

/// What becomes of the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// They are given as they are.
    Object,
    /// Only their metadata.
    Metadata,
    /// Rows of a table, for `kubectl get`.
    Table,
    /// Discovery in one document.
    Discovery,
}

/// What is offered in answer to requests for objects.
const OFFERED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Chooses the first form that the caller accepts and we can give.
pub(crate) fn negotiate(accept: Option<&str>) -> Result<Format, Status> {
    let accept = accept.map(str::trim).filter(|accept| !accept.is_empty());
    let Some(accept) = accept else { return Ok(Format::JSON) };
    let mut refused = not_acceptable();
    for clause in accept.split(',') {
        match read_clause(clause) {
            Ok(Some(format)) => return Ok(format),
            Ok(None) => {}
            Err(status) => refused = status,
        }
    }
    Err(refused)
}

impl Format {
    pub(crate) const JSON: Self = Self { encoding: Encoding::Json, shape: Shape::Object };
}

fn read_clause(clause: &str) -> Result<Option<Format>, Status> {
    let mut parts = clause.split(';').map(str::trim);
    let encoding = match parts.next() {
        Some("application/json" | "*/*" | "application/*") => Encoding::Json,
        Some("application/yaml") => Encoding::Yaml,
        _ => return Ok(None),
    };
    let (mut kind, mut group, mut version) = ("", "", "");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            _ => {}
        }
    }
    let shape = match (kind, group, version) {
        ("", _, _) => Shape::Object,
        ("Table", "meta.k8s.io", "v1" | "v1beta1") => Shape::Table,
        (
            "PartialObjectMetadata" | "PartialObjectMetadataList",
            "meta.k8s.io",
            "v1" | "v1beta1",
        ) => Shape::Metadata,
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Shape::Discovery,
        ("APIGroupDiscoveryList", _, _) => return Ok(None),
        _ => {
            let message = format!("only the following media types are accepted: {OFFERED}");
            return Err(Status::plain(406, "NotAcceptable", message));
        }
    };
    Ok(Some(Format { encoding, shape }))
}

fn not_acceptable() -> Status {
    let message = format!(
        "406: Not Acceptable\n\nAvailable representations: {OFFERED}, \
         application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    );
    Status {
        details: Some(crate::Details::default()),
        ..Status::plain(406, "NotAcceptable", message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_given_is_chosen() {
        let cases = [
            ("*/*", "Json Object"),
            ("application/yaml", "Yaml Object"),
            ("application/vnd.kubernetes.protobuf, application/json", "Json Object"),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "Json Table"),
            ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "Json Metadata"),
            ("text/html", "406"),
            ("application/json;as=Foo;v=v1;g=meta.k8s.io", "406"),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
                "Json Discovery",
            ),
        ];
        for (accept, expected) in cases {
            let found = match negotiate(Some(accept)) {
                Ok(format) => format!("{:?} {:?}", format.encoding, format.shape),
                Err(status) => status.code.to_string(),
            };
            assert_eq!(found, expected, "{accept}");
        }
    }
}
