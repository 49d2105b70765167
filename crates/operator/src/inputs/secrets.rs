//! The Secrets that classes refer to.

use joiner_cloud::{
    bootstrap::Secret,
    inputs::SecretData,
    needs::{SecretName, SecretNeed},
};
use k8s_openapi::api::core::v1;

use super::{
    Missing,
    memory::{Read, Unread},
    reading,
};
use crate::context::Context;

/// The Secret that a class refers to.
pub(super) async fn fetch(
    context: &Context,
    class: &str,
    need: &SecretNeed,
) -> Result<SecretData, Missing> {
    let SecretName { namespace, name } = &need.secret;
    let namespace = namespace.as_ref().unwrap_or(&context.namespace);
    let read = async {
        let found: Option<v1::Secret> = reading::get(context, namespace, name).await?;
        Ok(found.map(data_of))
    };
    let secrets = &context.inputs.0.lately.secrets;
    let found = secrets.get(&context.clock, need.secret.clone(), read).await;
    usable(class, need, &format!("{namespace}/{name}"), found)
}

fn data_of(secret: v1::Secret) -> SecretData {
    let data = secret.data.unwrap_or_default();
    data.into_iter().map(|(key, value)| (key, Secret::new(value.0))).collect()
}

/// The part of a Secret that a class may use.
fn usable(
    class: &str,
    need: &SecretNeed,
    named: &str,
    found: Read<Option<SecretData>>,
) -> Result<SecretData, Missing> {
    let found = match found {
        Ok(found) => found,
        Err(Unread::Refused(why)) => {
            let message = format!(
                "{class}: {}: Secret {named} may not be read ({why}); let the controller get it: in \
                 its own namespace by the name {:?} under resourceNames of the Role joiner-inputs, \
                 in another by a Role there",
                need.field, need.secret.name
            );
            return Err(Missing::Problem { reason: "SecretForbidden", message });
        }
        Err(away) => return Err(Missing::unread(class, &format!("Secret {named}"), &away)),
    };
    match need.problem(named, found.as_ref()) {
        Some((reason, problem)) => {
            Err(Missing::Problem { reason, message: format!("{class}: {problem}") })
        }
        None => Ok(found.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn said(found: Read<Option<SecretData>>) -> String {
        let secret = SecretName { namespace: None, name: "join".to_owned() };
        let (field, keys) = ("tokenSecretRef".to_owned(), vec!["token".to_owned()]);
        let need = SecretNeed { field, secret, keys };
        match usable("TestNodeClass \"general\"", &need, "joiner/join", found) {
            Ok(data) => data.keys().cloned().collect::<Vec<_>>().join(" "),
            Err(Missing::Problem { reason, message }) => format!("{reason}: {message}"),
            Err(Missing::Unknown(why)) => format!("unknown: {why}"),
        }
    }

    fn with(key: &str) -> SecretData {
        [(key.to_owned(), Secret::new(b"abc".to_vec()))].into()
    }

    #[test]
    fn what_is_wrong_with_a_secret_names_class_field_secret_and_remedy() {
        assert_eq!(said(Ok(Some(with("token")))), "token");
        let said = [
            said(Ok(Some(with("tokem")))),
            said(Ok(None)),
            said(Err(Unread::Refused("secrets is forbidden".to_owned()))),
            said(Err(Unread::Away("timed out".to_owned()))),
        ];
        expect![[r#"
            SecretIncomplete: TestNodeClass "general": tokenSecretRef: Secret joiner/join has no key "token"; add it
            SecretNotFound: TestNodeClass "general": tokenSecretRef: Secret joiner/join is not there; create it, or refer to another
            SecretForbidden: TestNodeClass "general": tokenSecretRef: Secret joiner/join may not be read (secrets is forbidden); let the controller get it: in its own namespace by the name "join" under resourceNames of the Role joiner-inputs, in another by a Role there
            unknown: TestNodeClass "general": Secret joiner/join could not be read: timed out"#]]
        .assert_eq(&said.join("\n"));
    }
}
