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
    /// Only the metadata of one object.
    Metadata,
    /// Only the metadata of the objects of a list.
    MetadataList,
    /// Rows of a table, for `kubectl get`.
    Table,
    /// Discovery in one document.
    Discovery,
}

/// The notations that are offered in answer to requests for objects.
pub(crate) const OFFERED: [&str; 3] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The notations in which the events of a watch are offered.
const OFFERED_STREAMS: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

impl Format {
    pub(crate) const JSON: Self = Self { encoding: Encoding::Json, shape: Shape::Object };
}

/// Which endpoint is asked; what it says when it cannot give what the caller accepts depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Endpoints of built-in kinds look at the notation alone first.
    pub(crate) built_in: bool,
    /// Lists may also be watched.
    pub(crate) lists: bool,
}

/// Chooses the first form of objects that the caller accepts and we can give.
pub(crate) fn negotiate(accept: Option<&str>, endpoint: Endpoint) -> Result<Format, Status> {
    let Some(accept) = given(accept) else { return Ok(Format::JSON) };
    if endpoint.built_in && !notation_is_offered(accept, endpoint.lists) {
        let mut offered = OFFERED.to_vec();
        if endpoint.lists {
            offered.extend(OFFERED_STREAMS);
        }
        let message =
            format!("406: Not Acceptable\n\nAvailable representations: {}", offered.join(", "));
        let details = Some(crate::Details::default());
        return Err(Status { details, ..Status::plain(406, "NotAcceptable", message) });
    }
    let wanted = clauses(accept).into_iter().find_map(|clause| clause.object_format());
    wanted.ok_or_else(|| {
        let offered = OFFERED.join(", ");
        let message = format!("only the following media types are accepted: {offered}");
        Status::plain(406, "NotAcceptable", message)
    })
}

/// Chooses the form of an answer about the server itself; JSON where nothing else will do.
pub(crate) fn negotiate_discovery(accept: Option<&str>) -> Result<Format, Status> {
    let Some(accept) = given(accept) else { return Ok(Format::JSON) };
    let wanted = clauses(accept).into_iter().find_map(|clause| clause.discovery_format());
    wanted.ok_or_else(|| {
        let offered: Vec<&str> = OFFERED.into_iter().chain(OFFERED_STREAMS).collect();
        let message =
            format!("406: Not Acceptable\n\nAvailable representations: {}", offered.join(", "));
        let details = Some(crate::Details::default());
        Status { details, ..Status::plain(406, "NotAcceptable", message) }
    })
}

/// The notation of a refusal: the first that the caller accepts without a wish for another shape,
/// or JSON.
pub(crate) fn refusal_encoding(accept: Option<&str>) -> Encoding {
    let Some(accept) = given(accept) else { return Encoding::Json };
    let mut plain = clauses(accept).into_iter().filter(|clause| clause.target().is_none());
    plain.find_map(|clause| clause.encoding()).unwrap_or(Encoding::Json)
}

fn given(accept: Option<&str>) -> Option<&str> {
    accept.map(str::trim).filter(|accept| !accept.is_empty())
}

fn notation_is_offered(accept: &str, lists: bool) -> bool {
    accept.split(',').any(|clause| {
        let notation = clause.split(';').next().unwrap_or_default().trim();
        matches!(notation, "" | "*/*")
            || OFFERED.contains(&notation)
            || (lists && OFFERED_STREAMS.contains(&notation))
    })
}

/// One thing that a caller accepts: a notation with parameters.
struct Clause<'a> {
    notation: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

/// What a caller accepts, the most wanted first.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<(f64, Clause<'_>)> = accept
        .split(',')
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            let notation = parts.next().unwrap_or_default();
            let mut wanted = 1.0;
            let mut parameters = Vec::new();
            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                match name.trim() {
                    "q" => wanted = value.trim().parse().unwrap_or(1.0),
                    name => parameters.push((name, value.trim())),
                }
            }
            (wanted, Clause { notation, parameters })
        })
        .collect();
    clauses.sort_by(|(one, _), (two, _)| two.total_cmp(one));
    clauses.into_iter().map(|(_, clause)| clause).collect()
}

impl Clause<'_> {
    fn encoding(&self) -> Option<Encoding> {
        match self.notation {
            "application/json" | "*/*" | "application/*" => Some(Encoding::Json),
            "application/yaml" => Some(Encoding::Yaml),
            _ => None,
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let mut given = self.parameters.iter().rev();
        given.find(|(given, _)| *given == name).map(|(_, value)| *value)
    }

    /// Group, version and kind of what the objects shall become.
    fn target(&self) -> Option<(&str, &str, &str)> {
        let part = |name| self.parameter(name);
        part("as").or(part("g")).or(part("v"))?;
        let text = |name| part(name).unwrap_or_default();
        Some((text("g"), text("v"), text("as")))
    }

    fn object_format(&self) -> Option<Format> {
        let encoding = self.encoding()?;
        let streams = self.parameter("stream").unwrap_or_default();
        let streams_wrongly = match streams {
            "" => false,
            "watch" => encoding != Encoding::Json,
            _ => true,
        };
        if streams_wrongly || self.parameter("sv").is_some_and(|version| version != "v1") {
            return None;
        }
        let shape = match self.target() {
            None => Shape::Object,
            Some(("meta.k8s.io", "v1" | "v1beta1", "Table")) => Shape::Table,
            Some(("meta.k8s.io", "v1" | "v1beta1", "PartialObjectMetadata")) => Shape::Metadata,
            Some(("meta.k8s.io", "v1" | "v1beta1", "PartialObjectMetadataList")) => {
                Shape::MetadataList
            }
            Some(_) => return None,
        };
        Some(Format { encoding, shape })
    }

    fn discovery_format(&self) -> Option<Format> {
        let encoding = self.encoding()?;
        let shape = match self.target() {
            None => Shape::Object,
            Some(("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")) => Shape::Discovery,
            Some(_) => return None,
        };
        Some(Format { encoding, shape })
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
            ("application/yaml;q=0.5, application/json", "Json Object"),
            ("application/vnd.kubernetes.protobuf, application/json", "Json Object"),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "Json Table"),
            ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "Json Metadata"),
            ("application/json;stream=watch", "Json Object"),
            ("application/yaml;stream=watch", "only the following media types are accepted"),
            ("text/html", "406: Not Acceptable"),
            ("application/json;as=Foo;v=v1;g=meta.k8s.io", "only the following media types"),
        ];
        let endpoint = Endpoint { built_in: true, lists: false };
        for (accept, expected) in cases {
            let found = match negotiate(Some(accept), endpoint) {
                Ok(format) => format!("{:?} {:?}", format.encoding, format.shape),
                Err(status) => status.message,
            };
            assert!(found.starts_with(expected), "{accept}: {found}");
        }
    }

    #[test]
    fn discovery_in_one_document_must_be_asked_for_by_its_name() {
        let one = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let shape = |accept: &str| negotiate_discovery(Some(accept)).map(|format| format.shape);
        assert_eq!(shape(&format!("{one},application/json")), Ok(Shape::Discovery));
        assert_eq!(shape("application/json"), Ok(Shape::Object));
    }
}
