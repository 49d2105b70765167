//! The user's text alone, with the instance's values put in.

use super::{
    distro::known_id,
    endpoint::Endpoint,
    error::{Error, ErrorKind},
    inputs::Inputs,
    kubelet::{self, NodeLabels},
    token::{self, needed},
};

const TOKEN: &str = "JOINER_TOKEN";

/// The names that a text may use.
const NAMES: [&str; 10] = [
    "JOINER_NODE_NAME",
    TOKEN,
    "JOINER_ENDPOINT",
    "JOINER_CA_HASH",
    "JOINER_CA_PEM_B64",
    "JOINER_LABELS",
    "JOINER_TAINTS",
    "JOINER_MAX_PODS",
    "JOINER_KUBE_VERSION",
    "JOINER_PROVIDER_ID",
];

/// Whether a text asks for a token, so that one has to be made.
pub(crate) fn asks_for_token(text: &str) -> bool {
    pieces(text).any(|piece| piece == Piece::Name(TOKEN))
}

/// Puts the values in. Only those that the text asks for must be known.
pub(crate) fn substituted(
    text: &str,
    inputs: &Inputs,
    warnings: &mut Vec<String>,
) -> Result<String, Error> {
    let mut result = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => result.push_str(text),
            Piece::Name(name) => result.push_str(&value(name, inputs, warnings)?),
        }
    }
    Ok(result)
}

#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    /// One of ours, known or not.
    Name(&'t str),
}

/// Splits a text at our names. `$${` is the text `${`, and names of others are text.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = if let Some(after) = rest.strip_prefix("$${") {
            (Piece::Text(&rest[1..3]), after)
        } else if let Some(name) = rest.strip_prefix("${").filter(|n| n.starts_with("JOINER_")) {
            let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = name.find(|c| !letter(c)).unwrap_or(name.len());
            let after = &name[end..];
            // Without its end, it is a name that is not in the list.
            let name = if after.starts_with('}') { &name[..end] } else { &name[..0] };
            (Piece::Name(name), after.strip_prefix('}').unwrap_or(after))
        } else {
            let next = rest.char_indices().skip(1).find(|(_, c)| *c == '$');
            let end = next.map_or(rest.len(), |(at, _)| at);
            (Piece::Text(&rest[..end]), &rest[end..])
        };
        rest = after;
        Some(piece)
    })
}

fn value(name: &str, inputs: &Inputs, warnings: &mut Vec<String>) -> Result<String, Error> {
    let ca = inputs.ca.as_ref();
    Ok(match name {
        "JOINER_NODE_NAME" => inputs.node_name.clone(),
        TOKEN => {
            let ready = token::ready(inputs.token.as_ref(), inputs.distro, ca, inputs.pin_ca)?;
            for warning in ready.warnings {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            ready.text.reveal().clone()
        }
        "JOINER_ENDPOINT" => {
            Endpoint::read(inputs.endpoint.as_deref(), inputs.distro)?.spelled_for(inputs.distro)
        }
        "JOINER_CA_HASH" => needed(ca)?.kubeadm_hashes().join(","),
        "JOINER_CA_PEM_B64" => needed(ca)?.pem_base64(),
        "JOINER_LABELS" => NodeLabels::of(&inputs.labels)?.texts().join(","),
        "JOINER_TAINTS" => {
            let taints = kubelet::taints(inputs)?;
            taints.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        "JOINER_MAX_PODS" => {
            kubelet::max_pods(&inputs.kubelet).map(|pods| pods.to_string()).unwrap_or_default()
        }
        "JOINER_KUBE_VERSION" => inputs.version.clone().ok_or_else(|| {
            let problem = "the text asks for the version, and it is unknown";
            Error::new(ErrorKind::VersionUnknown, "version", problem, "write it down")
        })?,
        "JOINER_PROVIDER_ID" => known_id(inputs).unwrap_or_default().to_owned(),
        _ => {
            return Err(Error::new(
                ErrorKind::InvalidUserData,
                &inputs.user.field,
                if name.is_empty() {
                    "a ${JOINER_ has no } behind its name".to_owned()
                } else {
                    format!("${{{name}}} is no name that is known")
                },
                format!("use one of {}, or $${{ for a plain ${{", NAMES.join(", ")),
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_asked_for_by_its_name_alone() {
        assert!(asks_for_token("a ${JOINER_TOKEN} b"));
        for text in ["$${JOINER_TOKEN}", "${JOINER_TOKENS}", "$JOINER_TOKEN", "${JOINER_TOKEN"] {
            assert!(!asks_for_token(text), "{text}");
        }
    }

    #[test]
    fn a_text_is_split_only_at_our_names() {
        let split = |text| pieces(text).collect::<Vec<_>>();
        let (text, name) = (Piece::Text, Piece::Name);
        assert_eq!(
            split("é$${X}${JOINER_A}$"),
            [text("é"), text("${"), text("X}"), name("JOINER_A"), text("$")]
        );
        assert_eq!(split("$$${JOINER_A}"), [text("$"), text("${"), text("JOINER_A}")]);
    }
}
