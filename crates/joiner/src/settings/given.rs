//! Flags and variables, made from the declarations of settings.

use std::{fmt, marker::PhantomData};

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, parser::ValueSource};
use joiner_settings::{Setting, Values};

/// Where help texts list settings.
pub(crate) const HEADING: &str = "Settings";

/// A command's choice of settings.
pub(crate) trait Declares {
    /// Its settings, in the order that help texts list them.
    fn settings() -> Vec<&'static Setting>;
}

/// Settings as typed. Everything is text, so that all problems can be told at once.
pub(crate) struct Given<D> {
    values: Values,
    of: PhantomData<D>,
}

impl<D> Given<D> {
    /// What was typed.
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }
}

impl<D> fmt::Debug for Given<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}

/// A command that takes these settings too.
pub(crate) fn with_settings(command: Command, settings: &[&'static Setting]) -> Command {
    settings.iter().fold(command, |command, setting| command.arg(arg(setting)))
}

/// What was typed for these settings.
pub(crate) fn given(matches: &ArgMatches, settings: &[&'static Setting]) -> Values {
    let mut values = Values::default();
    for setting in settings {
        // Defaults count where nothing is given, here or elsewhere.
        let is_default = matches.value_source(setting.name) == Some(ValueSource::DefaultValue);
        let given = matches.get_one::<String>(setting.name).filter(|_| !is_default);
        if let Some(text) = given {
            values.give(setting, text);
        }
    }
    values
}

impl<D: Declares> Args for Given<D> {
    fn augment_args(command: Command) -> Command {
        with_settings(command, &D::settings())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<D: Declares> FromArgMatches for Given<D> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Self { values: Values::default(), of: PhantomData };
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.values = given(matches, &D::settings());
        Ok(())
    }
}

fn arg(setting: &'static Setting) -> Arg {
    let mut arg = Arg::new(setting.name)
        .long(setting.name)
        .env(setting.variable)
        .hide_env_values(true)
        .allow_negative_numbers(true)
        .value_name(setting.value)
        .help(setting.help)
        .help_heading(HEADING);
    if setting.is_switch() {
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
    }
    if !setting.default.is_empty() {
        arg = arg.default_value(setting.default);
    }
    arg
}
