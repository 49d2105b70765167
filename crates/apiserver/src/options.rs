//! What a request says beside its path: the query, read and checked as the real server does it.

use joiner_schema::{
    FieldError,
    selector::{FieldSelector, LabelSelector},
};

use crate::{Status, operation::FieldValidation};

/// The parameters of a request, in the order they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query string.
    pub(crate) fn parse(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// The first value of a parameter; an empty one counts as not given.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        (!value.is_empty()).then_some(value)
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A switch: given, and not `false` or `0`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .is_some_and(|(_, value)| !value.eq_ignore_ascii_case("false") && value != "0")
    }

    /// A whole number.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            let message = format!("strconv.ParseInt: parsing {text:?}: invalid syntax");
            Status::bad_request(message)
        })
    }

    /// What happens to fields that the kind does not have.
    pub(crate) fn field_validation(&self) -> Result<FieldValidation, FieldError> {
        match self.get("fieldValidation") {
            None | Some("Warn") => Ok(FieldValidation::Warn),
            Some("Ignore") => Ok(FieldValidation::Ignore),
            Some("Strict") => Ok(FieldValidation::Strict),
            Some(other) => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                Err(FieldError::not_supported("fieldValidation", other, &supported))
            }
        }
    }
}

/// What is wrong with the values of `dryRun`.
pub(crate) fn dry_run_error(values: &[&str]) -> Option<FieldError> {
    if values.iter().all(|value| *value == "All") {
        return None;
    }
    let list = serde_json::Value::from(values.to_vec());
    Some(FieldError::not_supported("dryRun", list, &["All"]))
}

/// The options of a request break rules.
pub(crate) fn invalid_options(options: &str, errors: &[FieldError]) -> Status {
    Status::invalid("meta.k8s.io", options, "", errors)
}

/// What a list or a watch asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) resource_version: Option<String>,
    pub(crate) resource_version_match: Option<String>,
    pub(crate) timeout_seconds: Option<i64>,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_token: Option<String>,
    pub(crate) send_initial_events: Option<bool>,
}

impl ListOptions {
    pub(crate) fn parse(query: &Query, watch_path: bool) -> Result<Self, Status> {
        let owned = |name| query.get(name).map(str::to_owned);
        let options = Self {
            label_selector: owned("labelSelector").unwrap_or_default(),
            field_selector: owned("fieldSelector").unwrap_or_default(),
            watch: watch_path || query.is_on("watch"),
            bookmarks: query.is_on("allowWatchBookmarks"),
            resource_version: owned("resourceVersion"),
            resource_version_match: owned("resourceVersionMatch"),
            timeout_seconds: query.integer("timeoutSeconds")?,
            limit: query
                .integer("limit")?
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|limit| *limit > 0),
            continue_token: owned("continue"),
            send_initial_events: query
                .get("sendInitialEvents")
                .map(|_| query.is_on("sendInitialEvents")),
        };
        // Selectors are read with everything else, before the whole is looked at.
        LabelSelector::parse(&options.label_selector).map_err(Status::bad_request)?;
        FieldSelector::parse(&options.field_selector).map_err(Status::bad_request)?;
        let errors = options.check();
        if errors.is_empty() { Ok(options) } else { Err(invalid_options("ListOptions", &errors)) }
    }

    fn check(&self) -> Vec<FieldError> {
        if self.watch { self.check_watch() } else { self.check_list() }
    }

    fn check_watch(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let forbidden = |detail: &str| FieldError::forbidden("resourceVersionMatch", detail);
        let rule = self.resource_version_match.as_deref();
        if self.send_initial_events.is_some() && rule != Some("NotOlderThan") {
            errors.push(forbidden(
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        let Some(rule) = rule else { return errors };
        if self.send_initial_events.is_none() {
            errors.push(forbidden(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if rule != "NotOlderThan" {
            let path = "resourceVersionMatch";
            errors.push(FieldError::not_supported(path, rule, &["NotOlderThan"]));
        }
        if self.continue_token.is_some() {
            errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
        }
        errors
    }

    fn check_list(&self) -> Vec<FieldError> {
        let mut errors = self.check_list_version();
        if self.send_initial_events.is_some() {
            let detail = "sendInitialEvents is forbidden for list";
            errors.push(FieldError::forbidden("sendInitialEvents", detail));
        }
        errors
    }

    fn check_list_version(&self) -> Vec<FieldError> {
        let Some(rule) = self.resource_version_match.as_deref() else { return Vec::new() };
        let mut errors = Vec::new();
        let forbidden = |detail: &str| FieldError::forbidden("resourceVersionMatch", detail);
        if self.resource_version.is_none() {
            errors.push(forbidden(
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if self.continue_token.is_some() {
            errors.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
        }
        match rule {
            "Exact" if self.resource_version.as_deref() == Some("0") => errors.push(forbidden(
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            )),
            "Exact" | "NotOlderThan" => {}
            other => errors.push(FieldError::not_supported(
                "resourceVersionMatch",
                other,
                &["Exact", "NotOlderThan", ""],
            )),
        }
        errors
    }
}
