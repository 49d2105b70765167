//! `joiner run`: the controller.

use joiner_operator::settings::{
    Accepted, Reader, Setting, Settings, declared,
    providers::{self, Known},
};

use crate::{
    cli::RunArgs,
    errors::{Exit, Failure},
    settings::{self, CLOUDS, Declares, Given},
};

/// What a controller goes by.
#[derive(Debug)]
pub(crate) struct Controller;

impl Declares for Controller {
    const SETTINGS: &[&[&Setting]] = &[declared::CONTROLLER, declared::PLANNER, CLOUDS];
}

/// The providers that this program has.
const PROVIDERS: [Known; 2] =
    [Known { name: "kwok", endpoint: None }, Known { name: "vsphere", endpoint: Some("GOVC_URL") }];

/// Settings of the controller and of its clouds.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "the engine reads them once it is linked"))]
pub(crate) struct RunSettings {
    /// The controller's.
    pub(crate) operator: Settings,
    /// The providers that are on.
    pub(crate) providers: Vec<&'static Known>,
    /// What vSphere's machines cost and hide.
    pub(crate) vsphere: joiner_vsphere::Settings,
}

impl RunSettings {
    /// Reads everything before it gives up. `is_set` says whether a variable holds something.
    fn accept(
        given: &Given<Controller>,
        is_set: impl Fn(&str) -> bool,
    ) -> Result<Accepted<Self>, Vec<String>> {
        let mut reader = Reader::new(given.values());
        let operator = Settings::read_from(&mut reader);
        let providers = providers::chosen(&mut reader, &PROVIDERS, is_set);
        let vsphere = settings::vsphere(&mut reader, &operator.planner);
        reader.accept(Self { operator, providers, vsphere })
    }
}

/// Runs the controller until it is told to stop.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|text| !text.is_empty());
    RunSettings::accept(&args.settings, is_set).map_err(Failure::BadInput)?;
    Err(Failure::bad_input("joiner run: the controller is not linked into this build yet"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use expect_test::expect;

    use super::*;
    use crate::cli::{Cli, Command};

    fn accept(flags: &[&str], set: &[&str]) -> Result<Accepted<RunSettings>, String> {
        let cli = Cli::parse_from([&["joiner", "run"], flags].concat());
        let Command::Run(args) = cli.command else { panic!("this is a run") };
        let is_set = |variable: &str| set.contains(&variable);
        RunSettings::accept(&args.settings, is_set).map_err(|problems| problems.join("\n"))
    }

    #[test]
    fn flags_reach_the_controller_and_its_clouds() {
        let flags = [
            "--batch-idle-duration=2s",
            "--memory-limit",
            "-1",
            "--disable-leader-election",
            "--vm-memory-overhead-percent=0.1",
        ];
        let Accepted { settings, warnings } = accept(&flags, &["GOVC_URL"]).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(settings.operator.batch.idle.as_secs(), 2);
        assert!(settings.operator.leader_election.disabled);
        assert_eq!(settings.operator.memory_limit, None);
        assert_eq!(settings.vsphere.memory_overhead.to_string(), "0.1");
        let names: Vec<&str> = settings.providers.iter().map(|provider| provider.name).collect();
        assert_eq!(names, ["vsphere"]);
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let flags = [
            "--metrics-port=no",
            "--providers=aws",
            "--vsphere-vm-memory-overhead-percent=2",
            "--price-per-vm=-1",
        ];
        expect![[r#"
            --price-per-vm (PRICE_PER_VM) cannot be "-1": use a price, 0 or more
            --metrics-port (METRICS_PORT) cannot be "no": use a port from 1 to 65535, or 0 for any that is free
            --providers (PROVIDERS) cannot be "aws": use some of kwok, vsphere, separated by commas
            --vsphere-vm-memory-overhead-percent (VSPHERE_VM_MEMORY_OVERHEAD_PERCENT) cannot be "2": use a share from 0 to below 1, such as 0.075"#]].assert_eq(&accept(&flags, &[]).unwrap_err());
    }

    #[test]
    fn every_variable_is_the_flag_in_capitals() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let flags = run.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg.get_env()?)));
        for (long, variable) in flags {
            assert_eq!(*variable, *long.replace('-', "_").to_uppercase());
        }
    }
}
