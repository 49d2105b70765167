//! Where a claim's token comes from.

use super::{Error, ErrorKind, Secret};

pub(super) const REMEDY: &str = "set JOIN_TOKEN or tokenSecretRef, or let the controller create \
                                 Secrets in kube-system and leave --mint-tokens at auto";

/// Whether tokens are made: the setting `--mint-tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MintTokens {
    /// Even where one is configured.
    Always,
    /// Where none is configured and it is allowed.
    #[default]
    Auto,
    /// Only configured ones are used.
    Never,
}

/// Where a claim's token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// The configured one.
    Given(Secret<String>),
    /// One for each claim.
    Mint,
}

/// Decides where tokens come from. `may_create` is the answer to the question whether the
/// controller may create Secrets in `kube-system`, `None` if there was no answer.
pub fn choose_source(
    given: Option<&Secret<String>>,
    setting: MintTokens,
    may_create: Option<bool>,
) -> Result<TokenSource, Error> {
    if let Some(given) = given.filter(|_| setting != MintTokens::Always) {
        return Ok(TokenSource::Given(given.clone()));
    }
    let problem = match (setting, may_create) {
        (MintTokens::Never, _) => "there is no join token, and --mint-tokens is never",
        (_, Some(true)) => return Ok(TokenSource::Mint),
        (_, Some(false)) => {
            "there is no join token, and the controller may not create Secrets in kube-system"
        }
        (_, None) => {
            "there is no join token, and it could not be found out whether the controller may \
             create Secrets in kube-system"
        }
    };
    Err(Error::new(ErrorKind::JoinTokenMissing, "token", problem, REMEDY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_token_comes_first_and_doubt_makes_none() {
        let given = Secret::from("given");
        let choose = |given: Option<&Secret<String>>, setting, may_create| match choose_source(
            given, setting, may_create,
        ) {
            Ok(TokenSource::Given(_)) => "given".to_owned(),
            Ok(TokenSource::Mint) => "mint".to_owned(),
            Err(error) => error.problem,
        };
        assert_eq!(choose(Some(&given), MintTokens::Auto, Some(true)), "given");
        assert_eq!(choose(Some(&given), MintTokens::Never, None), "given");
        assert_eq!(choose(Some(&given), MintTokens::Always, Some(true)), "mint");
        assert_eq!(choose(None, MintTokens::Auto, Some(true)), "mint");
        assert!(choose(None, MintTokens::Auto, Some(false)).contains("may not create Secrets"));
        assert!(choose(None, MintTokens::Auto, None).contains("could not be found out"));
        assert!(choose(None, MintTokens::Never, Some(true)).contains("--mint-tokens is never"));
    }
}
