//! Logging in.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header::SET_COOKIE};

use super::{SoapSession, Vim};
use crate::{
    Credentials, MoRef, ServiceContent, VimError,
    soap::{Answer, Call},
};

/// The cookie that stands for a session.
const COOKIE: &str = "vmware_soap_session";

impl Vim {
    /// Where everything is found; asked once, without a session.
    pub async fn service_content(&self) -> Result<Arc<ServiceContent>, VimError> {
        let content = self.0.content.get_or_try_init(async || {
            self.asked(|| self.ask_service_content()).await.map(Arc::new)
        });
        content.await.cloned()
    }

    async fn ask_service_content(&self) -> Result<ServiceContent, VimError> {
        let instance = MoRef::new("ServiceInstance", "ServiceInstance");
        let call = Call::new(&instance, "RetrieveServiceContent", |_| {});
        let answer = self.wire().call(None, &call).await?;
        let missing = || VimError::Malformed("no ServiceContent is returned".to_owned());
        ServiceContent::of(&answer.returned()?.ok_or_else(missing)?)
    }

    /// A new session.
    pub(super) async fn login(&self, content: &ServiceContent) -> Result<SoapSession, VimError> {
        self.with_credentials("soap", async |credentials| {
            let call = Call::new(&content.session_manager, "Login", |xml| {
                xml.leaf("userName", &credentials.user);
                xml.leaf("password", credentials.password.as_str());
            });
            let began = self.clock().running();
            let wire = self.wire();
            let opened = async {
                let response = wire.exchange(None, &call, wire.settings.request_timeout).await?;
                session(response)
            };
            let opened = opened.await;
            wire.observe(call.method, began, opened.as_ref().err());
            match opened {
                Err(error) if error.is_fault("InvalidLogin") => Ok(None),
                opened => opened.map(Some),
            }
        })
        .await
    }

    /// Logs in with the credentials of the moment, unless they were just refused. None from
    /// `login` is a refusal of the credentials, as opposed to other errors.
    pub(crate) async fn with_credentials<S>(
        &self,
        kind: &str,
        login: impl AsyncFnOnce(&Credentials) -> Result<Option<S>, VimError>,
    ) -> Result<S, VimError> {
        let attempt = self.account().attempt()?;
        let result = match login(attempt.credentials()).await {
            Ok(Some(session)) => {
                attempt.accepted();
                Ok(session)
            }
            Ok(None) => Err(attempt.refused().into()),
            Err(error) => Err(error),
        };
        let told = result.as_ref().err().map_or("ok", VimError::code);
        self.settings().observer.login(kind, told);
        result
    }
}

/// The session that a login's answer begins.
fn session(response: Response<Bytes>) -> Result<SoapSession, VimError> {
    let cookie = response.headers().get_all(SET_COOKIE).iter().find_map(cookie_of);
    let answer = Answer::of(response)?;
    let user =
        answer.returned()?.and_then(|session| session.text_at("userName").map(str::to_owned));
    let missing = |what: &str| VimError::Malformed(format!("the login's answer has no {what}"));
    Ok(SoapSession {
        cookie: cookie.ok_or_else(|| missing("session cookie"))?,
        user: user.ok_or_else(|| missing("user name"))?,
    })
}

/// The session's cookie as it is to be sent back: name and value as they came, quotes included,
/// without what the server says about them.
fn cookie_of(set: &HeaderValue) -> Option<HeaderValue> {
    let set = set.to_str().ok()?;
    let pair = set.split(';').next()?.trim();
    let (name, _) = pair.split_once('=')?;
    let mut cookie = (name == COOKIE).then(|| HeaderValue::from_str(pair).ok())??;
    cookie.set_sensitive(true);
    Some(cookie)
}
