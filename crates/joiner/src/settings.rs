//! Settings on the command line.
//!
//! What settings there are, their defaults and what is wrong with a value is the operator's to say
//! (`joiner_operator::settings`); here they become flags, together with those that only a command
//! or one cloud has.

mod beside;
mod given;
mod vsphere;

use std::path::PathBuf;

use clap::Args;
use joiner_core::{
    disruption::DisruptionSettings,
    settings::{PlanSettings, PreferencePolicy},
};
use joiner_operator::{
    index::{IndexSettings, Pending},
    settings::{Accepted, PlannerSettings, Reader, Setting, Values, declared},
};

pub(crate) use self::{
    given::{Declares, Given},
    vsphere::VsphereAccess,
};
use crate::{cli::InputArgs, errors::Failure};

/// Every pod without a node is to be placed.
pub(crate) const UNBOUND: &str = "unbound";
/// Only pods that a scheduler found no node for are to be placed.
pub(crate) const UNSCHEDULABLE: &str = "unschedulable";

/// What planning goes by.
#[derive(Debug)]
pub(crate) struct Planner;

impl Declares for Planner {
    const SETTINGS: &[&[&Setting]] = &[declared::PLANNER, declared::CLOUDS];
}

/// Settings of commands that plan, as typed. The comments on fields are the help that `--help`
/// prints.
#[derive(Debug, Args)]
#[command(next_help_heading = given::HEADING)]
pub(crate) struct RawSettings {
    #[command(flatten)]
    planner: Given<Planner>,
    /// Which pods to place: every one that is unbound (the default with -f), or only those found
    /// unschedulable (the default for a cluster)
    #[arg(long, value_name = "RULE")]
    pending: Option<String>,
    /// Let pods take other instances when reserved ones are used up, instead of waiting
    #[arg(long)]
    reserved_fallback: bool,
}

/// Settings that can be used.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// What the planner is told.
    pub(crate) plan: PlanSettings,
    /// What is told about the removal of instances.
    pub(crate) disruption: DisruptionSettings,
    /// How the objects are read.
    pub(crate) index: IndexSettings,
    /// Whether `NodeOverlay`s change prices and capacities.
    pub(crate) node_overlay: bool,
    /// Instance types of KWOK's pools, if not the built-in ones.
    pub(crate) kwok_instance_types: Option<PathBuf>,
    /// What vSphere's instances cost and hide.
    pub(crate) vsphere: joiner_vsphere::Settings,
}

impl Settings {
    /// What Karpenter's own benchmark runs with: reserved capacity is never waited for.
    pub(crate) fn for_bench(preferences: PreferencePolicy) -> Self {
        let plan = PlanSettings { preferences, reserved_fallback: true, ..PlanSettings::default() };
        Self {
            index: IndexSettings { ignore_dra: plan.ignore_dra, ..IndexSettings::default() },
            plan,
            disruption: DisruptionSettings::default(),
            node_overlay: false,
            kwok_instance_types: None,
            vsphere: joiner_vsphere::Settings::default(),
        }
    }

    /// Reads settings; what can be used but is worth knowing goes to stderr. Pods of files are not
    /// expected to have met a scheduler, those of a live cluster are. Where a controller runs in it,
    /// its settings count for all that is not given here.
    pub(crate) fn read(raw: &RawSettings, input: &InputArgs) -> Result<Self, Failure> {
        let live = input.is_live();
        let beside = if live { beside::settings(&input.cluster) } else { Values::default() };
        let values = beside.with(raw.planner.values());
        let accepted = Self::accept(raw, &values, live);
        let Accepted { settings, warnings } = accepted.map_err(Failure::BadInput)?;
        for warning in warnings {
            eprintln!("joiner: {warning}");
        }
        Ok(settings)
    }

    fn accept(
        raw: &RawSettings,
        values: &Values,
        live: bool,
    ) -> Result<Accepted<Self>, Vec<String>> {
        let mut reader = Reader::new(values);
        let planner = PlannerSettings::read(&mut reader);
        let default = if live { UNSCHEDULABLE } else { UNBOUND };
        let pending = reader.word(
            "pending",
            raw.pending.as_deref().unwrap_or(default),
            [(UNBOUND, Pending::Unbound), (UNSCHEDULABLE, Pending::Unschedulable)],
        );
        let vsphere = vsphere(&mut reader, &planner);
        reader.accept(Self {
            plan: PlanSettings { reserved_fallback: raw.reserved_fallback, ..planner.plan },
            disruption: DisruptionSettings {
                spot_to_spot: planner.gates.spot_to_spot_consolidation,
                as_scheduled: true,
            },
            index: IndexSettings { pending, ..planner.index },
            node_overlay: planner.gates.node_overlay,
            kwok_instance_types: planner.instance_types_file,
            vsphere,
        })
    }
}

/// What vSphere's instances cost and hide: its own setting first, then the one for all clouds.
pub(crate) fn vsphere(
    reader: &mut Reader<'_>,
    planner: &PlannerSettings,
) -> joiner_vsphere::Settings {
    let own =
        reader.share(&declared::VSPHERE_VM_MEMORY_OVERHEAD_PERCENT).or(planner.memory_overhead);
    let default = joiner_vsphere::Settings::default();
    joiner_vsphere::Settings {
        memory_overhead: own.unwrap_or(default.memory_overhead),
        prices: planner.prices,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use joiner_core::{price::UnitPrices, settings::MinValuesPolicy};

    use super::*;
    use crate::cli::{Cli, Command};

    fn settings(flags: &[&str]) -> Result<Settings, Vec<String>> {
        let cli = Cli::parse_from([&["joiner", "plan", "-f", "x"], flags].concat());
        let Command::Plan(args) = cli.command else { panic!("this is a plan") };
        Settings::accept(&args.settings, args.settings.planner.values(), args.input.is_live())
            .map(|accepted| accepted.settings)
    }

    #[test]
    fn the_defaults_are_karpenters() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.plan, PlanSettings::default());
        assert_eq!(settings.index.pending, Pending::Unbound);
        let gates = [settings.node_overlay, settings.index.capacity_buffer];
        assert_eq!((gates, settings.index.static_capacity), ([false; 2], false));
        assert_eq!(settings.vsphere, joiner_vsphere::Settings::default());
    }

    #[test]
    fn pods_of_a_cluster_have_met_a_scheduler() {
        let pending = |args: &[&str]| {
            let cli = Cli::parse_from([&["joiner", "plan"], args].concat());
            let Command::Plan(args) = cli.command else { panic!("this is a plan") };
            Settings::accept(&args.settings, args.settings.planner.values(), args.input.is_live())
                .unwrap()
                .settings
                .index
                .pending
        };
        assert_eq!(pending(&[]), Pending::Unschedulable);
        assert_eq!(pending(&["--pending=unbound"]), Pending::Unbound);
        assert_eq!(pending(&["-f", "x"]), Pending::Unbound);
    }

    #[test]
    fn settings_are_read() {
        let settings = settings(&[
            "--preference-policy=Ignore",
            "--min-values-policy=BestEffort",
            "--ignore-dra-requests=false",
            "--feature-gates=NodeOverlay=true, ReservedCapacity=false,FromTheFuture=true",
            "--pending=unschedulable",
            "--reserved-fallback",
            "--cpu-requests=5000",
            "--price-per-vcpu=0.03",
            "--price-per-vm=0.5",
            "--price-per-gpu=",
        ])
        .unwrap();
        assert_eq!(
            settings.plan,
            PlanSettings {
                preferences: PreferencePolicy::Ignore,
                min_values: MinValuesPolicy::BestEffort,
                ignore_dra: false,
                reserved_capacity: false,
                reserved_fallback: true,
                ..PlanSettings::default()
            }
        );
        assert!(settings.node_overlay && !settings.index.capacity_buffer);
        assert_eq!(settings.index.pending, Pending::Unschedulable);
        assert_eq!(
            settings.vsphere.prices,
            UnitPrices { per_vcpu: 0.03, per_vm: 0.5, ..UnitPrices::default() }
        );
    }

    #[test]
    fn a_clouds_own_share_of_hidden_memory_beats_the_one_for_all() {
        let share = |flags: &[&str]| settings(flags).unwrap().vsphere.memory_overhead.to_string();
        let of_all = "--vm-memory-overhead-percent=0.1";
        assert_eq!(share(&[]), "0.075");
        assert_eq!(share(&[of_all]), "0.1");
        assert_eq!(share(&[of_all, "--vsphere-vm-memory-overhead-percent=0"]), "0");
        assert_eq!(share(&[of_all, "--vsphere-vm-memory-overhead-percent="]), "0.1");
    }

    #[test]
    fn a_switch_alone_means_true() {
        assert!(settings(&["--ignore-dra-requests"]).unwrap().plan.ignore_dra);
    }

    #[test]
    fn what_is_empty_is_not_set_and_booleans_are_gos() {
        let settings = settings(&[
            "--preference-policy=",
            "--ignore-dra-requests=F",
            "--feature-gates=NodeOverlay=True,",
            "--cpu-requests=",
            "--instance-types-file-path=",
        ])
        .unwrap();
        assert_eq!(settings.plan.preferences, PreferencePolicy::Respect);
        assert!(!settings.plan.ignore_dra && settings.node_overlay);
        assert_eq!(settings.kwok_instance_types, None);
    }

    #[test]
    fn all_problems_are_told_at_once_with_flag_and_variable() {
        let problems = settings(&[
            "--preference-policy=ignore",
            "--feature-gates=NodeOverlay=yes,Odd",
            "--pending=all",
            "--cpu-requests=1.5",
            "--vm-memory-overhead-percent=7.5",
            "--price-per-vm=-1",
            "--scheduler-config={podTopologySpread: {defaultConstraint: []}}",
        ])
        .unwrap_err();
        expect_test::expect![[r#"
            --feature-gates (FEATURE_GATES) cannot be "NodeOverlay=yes": use NAME=true or NAME=false
            --feature-gates (FEATURE_GATES) cannot be "Odd": use NAME=true or NAME=false
            --preference-policy (PREFERENCE_POLICY) cannot be "ignore": use Respect or Ignore
            --scheduler-config (SCHEDULER_CONFIG): the scheduler configuration cannot be read: unknown field `defaultConstraint`, expected one of defaultConstraints at line 1, column 22
            --cpu-requests (CPU_REQUESTS) cannot be "1.5": use a whole number of millicores
            --price-per-vm (PRICE_PER_VM) cannot be "-1": use a price, 0 or more
            --vm-memory-overhead-percent (VM_MEMORY_OVERHEAD_PERCENT) cannot be "7.5": use a share from 0 to below 1, such as 0.075
            --pending cannot be "all": use unbound or unschedulable"#]].assert_eq(&problems.join("\n"));
    }

    #[test]
    fn every_variable_is_the_flag_in_capitals() {
        let command = Cli::command();
        let plan = command.find_subcommand("plan").unwrap();
        for arg in plan.get_arguments() {
            if let (Some(long), Some(variable)) = (arg.get_long(), arg.get_env()) {
                assert_eq!(*variable, *long.replace('-', "_").to_uppercase());
            }
        }
    }
}
