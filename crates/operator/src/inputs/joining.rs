//! The join data of a class.

use joiner_cloud::{
    bootstrap::{
        Distro, Error, ErrorKind, Facts, ProviderId, Secret,
        token::{MintTokens, TokenSource},
    },
    needs::{IdNeed, JoinNeeds},
};
use k8s_openapi::api::core::v1::Node;

use super::{Missing, decide, memory::Unread, reading, secrets};
use crate::context::Context;

/// Reads the join data of a class, as far as it is needed. Also returns warnings.
pub(super) async fn fetch(
    context: &Context,
    class: &str,
    needs: &JoinNeeds,
) -> Result<(Facts, Vec<String>), Missing> {
    let settings = &context.settings.joining;
    let problem = |error| Missing::problem(class, error);
    if needs.text_joins {
        return text_joins(context, class, needs).await;
    }
    let written = decide::written_distro(needs.distro.as_deref(), settings.distro);
    let distro = match written.map_err(problem)? {
        Some(distro) => distro,
        None => detected(context, class).await?,
    };
    if distro == Distro::None {
        let (endpoint, version, ca, token, pin_ca) = (None, None, None, None, false);
        let provider_id = None;
        return Ok((Facts { distro, endpoint, version, ca, pin_ca, token, provider_id }, vec![]));
    }
    let endpoint = match needs.endpoint.as_ref().or(settings.endpoint.as_ref()) {
        Some(written) => written.clone(),
        None => endpoint(context, class, distro).await?,
    };
    let version = match needs.version.as_ref().or(settings.version.as_ref()) {
        Some(written) => written.clone(),
        None => version(context, class).await?,
    };
    let root_ca = reading::root_ca(context).await;
    let info = match (distro, &root_ca) {
        (Distro::Kubeadm, Ok(None) | Err(_)) => Some(reading::cluster_info(context).await),
        _ => None,
    };
    let ca = decide::authority(class, &root_ca, info.as_ref())?;
    let token = token_source(context, class, needs).await?;
    let provider_id = match needs.provider_id {
        Some(need) => Some(id_giver(context, class, need).await?),
        None => None,
    };
    let (endpoint, version, pin_ca) = (Some(endpoint), Some(version), settings.pin_ca);
    let facts = Facts { distro, endpoint, version, ca, pin_ca, token, provider_id };
    let warnings = facts.check().map_err(problem)?;
    Ok((facts, warnings))
}

/// The inputs of user data that joins by itself: version, certificate authority and token.
async fn text_joins(
    context: &Context,
    class: &str,
    needs: &JoinNeeds,
) -> Result<(Facts, Vec<String>), Missing> {
    let version = match needs.version.as_ref().or(context.settings.joining.version.as_ref()) {
        Some(written) => written.clone(),
        None => version(context, class).await?,
    };
    let ca = decide::authority(class, &reading::root_ca(context).await, None)?;
    let facts = Facts {
        distro: Distro::None,
        endpoint: None,
        version: Some(version),
        ca,
        pin_ca: false,
        token: token_source(context, class, needs).await?,
        provider_id: None,
    };
    Ok((facts, Vec::new()))
}

/// The source of tokens; none if instances need none.
async fn token_source(
    context: &Context,
    class: &str,
    needs: &JoinNeeds,
) -> Result<Option<TokenSource>, Missing> {
    if needs.without_token {
        return Ok(None);
    }
    let settings = &context.settings.joining;
    let given = given_token(context, class, needs).await?;
    // Permissions are only checked if they are needed.
    let is_given = given.is_some() && settings.mint != MintTokens::Always;
    let may_mint = match settings.mint {
        MintTokens::Never => Ok(false),
        _ if is_given => Ok(false),
        MintTokens::Always | MintTokens::Auto => reading::may_mint(context).await,
    };
    decide::token_source(class, given.as_ref(), settings.mint, &may_mint).map(Some)
}

/// Compares the endpoint's certificate authority with the one that instances will trust. An
/// unreachable endpoint, or a different authority, can still be correct.
pub(super) async fn compare_authority(
    context: &Context,
    class: &str,
    facts: &Facts,
) -> Result<(), Missing> {
    let Some(pin) = facts.pin() else { return Ok(()) };
    match reading::shown_authority(context, &pin.shown_at).await {
        Ok(shown) => pin.check(&shown).map_err(|error| Missing::problem(class, error)),
        Err(unread) => {
            let why = unread.why();
            tracing::debug!("{class}: {} was not looked at: {why}", pin.shown_at);
            Ok(())
        }
    }
}

async fn detected(context: &Context, class: &str) -> Result<Distro, Missing> {
    let version = version(context, class).await?;
    // The version alone may name the distribution, which saves a second read.
    match Distro::detect(&version, None) {
        Ok(distro) => Ok(distro),
        Err(_) => decide::distro(class, &version, &reading::cluster_info(context).await),
    }
}

async fn version(context: &Context, class: &str) -> Result<String, Missing> {
    let read = reading::version(context).await;
    read.map_err(|why| Missing::unread(class, "the API server's version", &why))
}

/// The detected join endpoint, where none is configured.
async fn endpoint(context: &Context, class: &str, distro: Distro) -> Result<String, Missing> {
    if distro == Distro::Kubeadm {
        let what = "ConfigMap kube-public/cluster-info";
        return match reading::cluster_info(context).await {
            Ok(Some(info)) if info.server.is_some() => Ok(info.server.unwrap_or_default()),
            Ok(_) => {
                Err(unknown(class, distro, format!("{what} does not say where instances join")))
            }
            Err(Unread::Refused(why)) => {
                Err(unknown(class, distro, format!("{what} may not be read: {why}")))
            }
            Err(away) => Err(Missing::unread(class, what, &away)),
        };
    }
    let what = "EndpointSlices of the Service default/kubernetes";
    let addresses = match reading::api_addresses(context).await {
        Ok(addresses) => decide::join_addresses(distro, &addresses),
        Err(Unread::Refused(why)) => {
            return Err(unknown(class, distro, format!("{what} may not be listed: {why}")));
        }
        Err(away) => return Err(Missing::unread(class, what, &away)),
    };
    if addresses.is_empty() {
        return Err(unknown(class, distro, format!("there are no addresses in the {what}")));
    }
    let listed: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    match reading::first_answering(context, addresses).await {
        Ok(address) => Ok(format!("https://{address}")),
        Err(_) => {
            let problem = format!("none of {} answers", listed.join(", "));
            Err(unknown(class, distro, problem))
        }
    }
}

fn unknown(class: &str, distro: Distro, problem: String) -> Missing {
    Missing::problem(class, decide::endpoint_unknown(distro, problem))
}

/// The configured token, if there is one: the class overrides the setting.
async fn given_token(
    context: &Context,
    class: &str,
    needs: &JoinNeeds,
) -> Result<Option<Secret<String>>, Missing> {
    let Some(need) = &needs.token else { return Ok(context.settings.joining.token.clone()) };
    let data = secrets::fetch(context, class, need).await?;
    let value = need.keys.iter().find_map(|key| data.get(key));
    let text = value.and_then(|value| String::from_utf8(value.reveal().clone()).ok());
    match text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()) {
        Some(text) => Ok(Some(Secret::new(text))),
        None => Err(Missing::problem(
            class,
            Error {
                kind: ErrorKind::JoinTokenInvalid,
                object: String::new(),
                field: need.field.clone(),
                problem: format!("there is no text in Secret {}", need.secret.name),
                remedy: format!("put the token there as {}", need.keys.join(" or ")),
            },
        )),
    }
}

async fn id_giver(context: &Context, class: &str, need: IdNeed) -> Result<ProviderId, Missing> {
    let images = match need.setting {
        Some(_) => Ok(Vec::new()),
        None => reading::images(context).await,
    };
    // An unreadable node may be the one with such an id.
    let foreign_ids = context.sure_of::<Node>().is_ok().then(|| foreign_ids(context));
    decide::id_giver(class, need, foreign_ids, &images)
}

/// Provider IDs of nodes that Joiner does not manage.
fn foreign_ids(context: &Context) -> Vec<String> {
    context.cache.read(|world| {
        let foreign = world.nodes.values().filter(|node| !context.manages(node));
        foreign.filter_map(|node| node.spec.as_ref()?.provider_id.clone()).collect()
    })
}
