//! Commands with their parameters, as CloudStack wants them written.

use std::{
    collections::BTreeMap,
    fmt::{self, Debug, Formatter},
    time::Duration,
};

use super::ClientError;

/// How long an answer may take to commands that allocate hosts and addresses before they answer.
const SLOW_ANSWER_TIMEOUT: Duration = Duration::from_mins(2);

/// One command of CloudStack's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// Its name, as CloudStack spells it.
    pub name: &'static str,
    /// Whose objects it can be asked about.
    pub scoped: Scoped,
    /// Whether its answer takes longer than that of others.
    slow: bool,
}

/// Which parameters say whose objects a command is about. An unknown parameter is only logged by the
/// server, but one that is unknown is also one that has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scoped {
    /// None: the command is about one object, or about the whole cloud.
    No,
    /// `account` and `domainid`, and `listall` of lists.
    Account,
    /// The same, and `projectid`.
    Project,
}

impl Api {
    /// A command.
    pub const fn new(name: &'static str, scoped: Scoped) -> Self {
        Self { name, scoped, slow: false }
    }

    /// The same, with more time for the answer.
    pub const fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Whether it changes nothing, by the rule that the server itself goes by.
    pub fn reads(&self) -> bool {
        ["list", "get", "query", "find"].iter().any(|verb| self.name.starts_with(verb))
    }

    /// How long an answer may take, where the usual one may take this long.
    pub(crate) fn deadline(&self, usual: Duration) -> Duration {
        if self.slow { usual.max(SLOW_ANSWER_TIMEOUT) } else { usual }
    }
}

/// Whose objects are meant, where it is not simply the account of the key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// The project. Objects of a project are in lists only when it is named.
    pub project: Option<String>,
    /// An account and the id of its domain; only administrators may name them.
    pub account: Option<(String, String)>,
}

/// A command with its parameters. Values of some are secrets, so none is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    /// The command.
    pub api: Api,
    parameters: BTreeMap<String, String>,
}

impl Command {
    /// A command without parameters.
    pub fn new(api: Api) -> Self {
        Self { api, parameters: BTreeMap::new() }
    }

    /// Adds a parameter. An empty value is left out, because the server refuses most of them.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.parameters.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds a parameter where there is a value.
    pub fn with_some(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value.to_string()),
            None => self,
        }
    }

    /// Adds a list.
    pub fn with_list<T: AsRef<str>>(self, name: &str, items: &[T]) -> Self {
        let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
        self.with(name, items.join(","))
    }

    /// Adds a map whose keys and values are parameters of their own, as tags are.
    pub fn with_pairs(mut self, name: &str, pairs: &BTreeMap<String, String>) -> Self {
        for (index, (key, value)) in pairs.iter().enumerate() {
            self.parameters.insert(format!("{name}[{index}].key"), key.clone());
            if !value.is_empty() {
                self.parameters.insert(format!("{name}[{index}].value"), value.clone());
            }
        }
        self
    }

    /// Adds a map whose keys are parts of parameters' names, as details are.
    pub fn with_fields(mut self, name: &str, fields: &BTreeMap<String, String>) -> Self {
        for (key, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            self.parameters.insert(format!("{name}[0].{key}"), value.clone());
        }
        self
    }

    /// Says whose objects are meant, with the parameters that the command knows. A list without a
    /// project or an account is of everything that the key may see.
    pub fn within(self, scope: &Scope) -> Self {
        if self.parameter("projectid").is_some() {
            return self;
        }
        let project = match self.api.scoped {
            Scoped::No => return self,
            Scoped::Account => None,
            Scoped::Project => scope.project.as_deref(),
        };
        if let Some(project) = project {
            return self.with("projectid", project);
        }
        match &scope.account {
            Some((account, domain)) => {
                self.with("account", account.as_str()).with("domainid", domain.as_str())
            }
            None if self.api.reads() => self.with("listall", "true"),
            None => self,
        }
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Names and values, in order of name.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Refuses what the server would refuse in words that help nobody.
    pub(crate) fn check(&self) -> Result<(), ClientError> {
        let refuse = |name: &str, problem: &str| {
            let command = self.api.name;
            Err(ClientError::Unsendable(format!("{command}: parameter {name:?} {problem}")))
        };
        for (name, value) in &self.parameters {
            let brackets = |bracket| name.matches(bracket).count();
            if brackets('[') > 1 || brackets(']') > 1 {
                return refuse(name, "has a key with a bracket, which CloudStack cannot read");
            }
            let breaks = |char: char| char.is_ascii_control() && !matches!(char, '\n' | '\r');
            if value.chars().any(breaks) || name.chars().any(|char| char.is_ascii_control()) {
                return refuse(name, "has control characters, which CloudStack refuses");
            }
        }
        Ok(())
    }
}

impl Debug for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.api.name)?;
        f.debug_set().entries(self.parameters.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: Api = Api::new("listVirtualMachines", Scoped::Project);
    const DEPLOY: Api = Api::new("deployVirtualMachine", Scoped::Project).slow();

    fn written(command: &Command) -> Vec<String> {
        command.parameters().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn maps_and_lists_are_written_as_the_server_reads_them() {
        let tags = BTreeMap::from([("a/b".to_owned(), "c d".to_owned()), ("e".into(), "f".into())]);
        let command = Command::new(DEPLOY)
            .with_pairs("tags", &tags)
            .with_fields("details", &tags)
            .with_list("networkids", &["n1", "n2"])
            .with_some("size", Some(10))
            .with_some("group", None::<&str>);
        assert_eq!(
            written(&command),
            [
                "details[0].a/b=c d",
                "details[0].e=f",
                "networkids=n1,n2",
                "size=10",
                "tags[0].key=a/b",
                "tags[0].value=c d",
                "tags[1].key=e",
                "tags[1].value=f",
            ]
        );
    }

    #[test]
    fn empty_values_are_never_sent() {
        let no_value = BTreeMap::from([("k".to_owned(), String::new())]);
        let command = Command::new(DEPLOY).with("keypair", "").with_fields("details", &no_value);
        assert_eq!(written(&command), Vec::<String>::new());
    }

    #[test]
    fn a_list_is_of_the_project_the_account_or_all_that_the_key_may_see() {
        let of = |api, scope: &Scope| written(&Command::new(api).within(scope)).join(" ");
        let project = Scope { project: Some("p1".into()), account: None };
        let account = Scope { project: None, account: Some(("u1".into(), "d1".into())) };
        assert_eq!(of(LIST, &project), "projectid=p1");
        assert_eq!(of(LIST, &account), "account=u1 domainid=d1");
        assert_eq!(of(LIST, &Scope::default()), "listall=true");
        assert_eq!(of(DEPLOY, &Scope::default()), "");
        assert_eq!(of(Api::new("listZones", Scoped::No), &project), "");
        assert_eq!(of(Api::new("listProjects", Scoped::Account), &project), "listall=true");
    }

    #[test]
    fn what_the_server_cannot_read_is_not_sent() {
        let refused = |command: Command| command.check().unwrap_err().to_string();
        let brackets = BTreeMap::from([("a[0]".to_owned(), "b".to_owned())]);
        assert!(
            refused(Command::new(DEPLOY).with_fields("details", &brackets)).contains("bracket")
        );
        assert!(refused(Command::new(DEPLOY).with("name", "a\tb")).contains("control characters"));
        Command::new(DEPLOY).with("displayname", "two\r\nlines").check().unwrap();
    }

    #[test]
    fn no_value_of_a_parameter_is_shown() {
        let shown = format!("{:?}", Command::new(DEPLOY).with("userdata", "aHVudGVyMg=="));
        assert_eq!(shown, r#"deployVirtualMachine{"userdata"}"#);
    }
}
