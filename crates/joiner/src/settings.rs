//! Settings: from flags and variables as typed to values that can be used.
//!
//! Names and defaults are Karpenter's, so that a plan made on a desk is the one the controller would
//! make. Each setting is also read from the variable of the same name in capitals.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use joiner_core::{
    price::UnitPrices,
    settings::{MinValuesPolicy, PlanSettings, PreferencePolicy},
};
use joiner_operator::index::{IndexSettings, Pending, spread::SchedulerConfig};

use crate::errors::Failure;

/// Settings as typed. Everything is text, so that all problems can be told at once. The comments on
/// fields are the help that `--help` prints.
#[expect(clippy::doc_markdown, reason = "backticks would show in the help")]
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct RawSettings {
    /// What to do with things pods prefer: Respect (as long as possible) or Ignore
    #[arg(long, env, value_name = "POLICY", default_value = "Respect", hide_env_values = true)]
    preference_policy: String,
    /// What to do when minValues cannot be met: Strict (refuse) or BestEffort (lower it)
    #[arg(long, env, value_name = "POLICY", default_value = "Strict", hide_env_values = true)]
    min_values_policy: String,
    /// Whether pods that use Dynamic Resource Allocation are left out
    #[arg(long, env, value_name = "BOOL", default_value = "true", hide_env_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ignore_dra_requests: String,
    /// Which optional features are on: NAME=BOOL, separated by commas
    #[arg(long, env, value_name = "GATES", default_value = GATES, hide_env_values = true)]
    feature_gates: String,
    /// Default topology spread, as YAML or JSON: podTopologySpread.defaultConstraints
    #[arg(long, env, value_name = "YAML", default_value = "", hide_env_values = true)]
    #[arg(hide_default_value = true)]
    scheduler_config: String,
    /// Instance types of KWOKNodeClass pools, where --instance-types is not given
    #[arg(long, env, value_name = "FILE", hide_env_values = true)]
    instance_types_file_path: Option<String>,
    /// Which pods to place: every unbound one, or only those found unschedulable
    #[arg(long, value_name = "RULE", default_value = "unbound")]
    pending: String,
    /// Let pods take other machines when reserved ones are used up, instead of waiting
    #[arg(long)]
    reserved_fallback: bool,
    /// Accepted for Karpenter's sake: the planner needs one core only
    #[arg(long, env, value_name = "MILLICORES", default_value = "1000", hide_env_values = true)]
    cpu_requests: String,
    /// Share of a VM's memory that its guest does not see; vSphere's 0.075, KWOK's machines have none
    #[arg(long, env, value_name = "SHARE", hide_env_values = true)]
    vm_memory_overhead_percent: Option<String>,
    /// The same for vSphere alone
    #[arg(long, env, value_name = "SHARE", hide_env_values = true)]
    vsphere_vm_memory_overhead_percent: Option<String>,
    /// Price of a vCPU hour where a cloud has no prices of its own; KWOK has
    #[arg(long, env, value_name = "PRICE", hide_env_values = true)]
    #[arg(default_value_t = UnitPrices::default().per_vcpu.to_string())]
    price_per_vcpu: String,
    /// Price of an hour of 10^9 bytes of memory, likewise
    #[arg(long, env, value_name = "PRICE", hide_env_values = true)]
    #[arg(default_value_t = UnitPrices::default().per_gb.to_string())]
    price_per_gb: String,
    /// Price of a GPU hour, likewise
    #[arg(long, env, value_name = "PRICE", hide_env_values = true)]
    #[arg(default_value_t = UnitPrices::default().per_gpu.to_string())]
    price_per_gpu: String,
    /// Price of a VM hour whatever its size, likewise
    #[arg(long, env, value_name = "PRICE", hide_env_values = true)]
    #[arg(default_value_t = UnitPrices::default().per_vm.to_string())]
    price_per_vm: String,
}

/// Karpenter's gates and their defaults.
const GATES: &str = "NodeRepair=false,ReservedCapacity=true,SpotToSpotConsolidation=false,\
                     NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false";

/// Settings that can be used.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// What the planner is told.
    pub(crate) plan: PlanSettings,
    /// How the objects are read.
    pub(crate) index: IndexSettings,
    /// Whether `NodeOverlay`s change prices and capacities.
    pub(crate) node_overlay: bool,
    /// Instance types of KWOK's pools, if not the built-in ones.
    pub(crate) kwok_instance_types: Option<PathBuf>,
    /// What vSphere's machines cost and hide.
    pub(crate) vsphere: joiner_vsphere::Settings,
}

impl Settings {
    /// What Karpenter's own benchmark runs with: reserved capacity is never waited for.
    pub(crate) fn for_bench(preferences: PreferencePolicy) -> Self {
        let plan = PlanSettings { preferences, reserved_fallback: true, ..PlanSettings::default() };
        Self {
            index: IndexSettings { ignore_dra: plan.ignore_dra, ..IndexSettings::default() },
            plan,
            node_overlay: false,
            kwok_instance_types: None,
            vsphere: joiner_vsphere::Settings::default(),
        }
    }
}

impl TryFrom<&RawSettings> for Settings {
    type Error = Failure;

    /// Checks everything before it gives up, so that nobody has to fix one setting at a time.
    fn try_from(raw: &RawSettings) -> Result<Self, Failure> {
        let mut problems = Problems::default();
        let gates = problems.gates(&raw.feature_gates);
        let gate = |name: &str| gates.get(name).copied().unwrap_or_default();
        let plan = PlanSettings {
            preferences: problems.choice(
                "preference-policy",
                &raw.preference_policy,
                [("Respect", PreferencePolicy::Respect), ("Ignore", PreferencePolicy::Ignore)],
            ),
            min_values: problems.choice(
                "min-values-policy",
                &raw.min_values_policy,
                [("Strict", MinValuesPolicy::Strict), ("BestEffort", MinValuesPolicy::BestEffort)],
            ),
            ignore_dra: problems.switch("ignore-dra-requests", &raw.ignore_dra_requests),
            reserved_capacity: gate("ReservedCapacity"),
            reserved_fallback: raw.reserved_fallback,
            ..PlanSettings::default()
        };
        let index = IndexSettings {
            pending: problems.choice(
                "pending",
                &raw.pending,
                [("unbound", Pending::Unbound), ("unschedulable", Pending::Unschedulable)],
            ),
            ignore_dra: plan.ignore_dra,
            capacity_buffer: gate("CapacityBuffer"),
            static_capacity: gate("StaticCapacity"),
            scheduler_config: problems.scheduler_config(&raw.scheduler_config),
        };
        problems.number::<i64>("cpu-requests", Some(&raw.cpu_requests), |_| true);
        let vsphere = problems.vsphere(raw);
        if !problems.0.is_empty() {
            return Err(Failure::BadInput(problems.0));
        }
        Ok(Self {
            plan,
            index,
            node_overlay: gate("NodeOverlay"),
            kwok_instance_types: raw
                .instance_types_file_path
                .as_deref()
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            vsphere,
        })
    }
}

/// What is wrong with settings, one message each.
///
/// COMPAT: Karpenter takes the default when a variable holds no valid number or boolean, without a
/// word (pkg/utils/env); here it is an error, because a plan with other settings than the user
/// believes in is worse than none.
#[derive(Debug, Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, setting: &str, value: &str, remedy: &str) {
        let variable = match setting {
            "pending" => String::new(),
            _ => format!(" ({})", setting.replace('-', "_").to_uppercase()),
        };
        self.0.push(format!("--{setting}{variable} cannot be {value:?}: {remedy}"));
    }

    /// One of a few words, of which the first is the default. An empty variable counts as not set.
    fn choice<T: Copy, const N: usize>(
        &mut self,
        setting: &str,
        value: &str,
        choices: [(&str, T); N],
    ) -> T {
        if value.is_empty() {
            return choices[0].1;
        }
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == value) {
            return *choice;
        }
        let words = choices.map(|(word, _)| word).join(" or ");
        self.add(setting, value, &format!("use {words}"));
        choices[0].1
    }

    /// A switch that is on by default.
    fn switch(&mut self, setting: &str, value: &str) -> bool {
        if value.is_empty() {
            return true;
        }
        boolean(value).unwrap_or_else(|| {
            self.add(setting, value, "use true or false");
            true
        })
    }

    /// Karpenter's gates, with the given ones changed. Unknown names are accepted, as in Karpenter.
    fn gates<'g>(&mut self, given: &'g str) -> BTreeMap<&'g str, bool> {
        let mut gates = BTreeMap::new();
        for pair in GATES.split(',').chain(given.split(',')).map(str::trim) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match boolean(value.trim()) {
                Some(on) => {
                    gates.insert(name.trim(), on);
                }
                None if pair.is_empty() => {}
                None => self.add("feature-gates", pair, "use NAME=true or NAME=false"),
            }
        }
        gates
    }

    fn scheduler_config(&mut self, text: &str) -> SchedulerConfig {
        SchedulerConfig::parse(text).unwrap_or_else(|error| {
            self.0.push(format!("--scheduler-config (SCHEDULER_CONFIG): {error}"));
            SchedulerConfig::default()
        })
    }

    /// What vSphere's machines cost and hide: its own setting first, then the one for all clouds.
    fn vsphere(&mut self, raw: &RawSettings) -> joiner_vsphere::Settings {
        let default = joiner_vsphere::Settings::default();
        let share = |share: &f64| (0.0..1.0).contains(share);
        let of_all = raw.vm_memory_overhead_percent.as_ref();
        let of_all = self.number("vm-memory-overhead-percent", of_all, share);
        let own = raw.vsphere_vm_memory_overhead_percent.as_ref();
        let own = self.number("vsphere-vm-memory-overhead-percent", own, share);
        joiner_vsphere::Settings {
            memory_overhead: own.or(of_all).unwrap_or(default.memory_overhead),
            prices: self.prices(raw),
        }
    }

    fn prices(&mut self, raw: &RawSettings) -> UnitPrices {
        let default = UnitPrices::default();
        let mut price = |name, text, default| {
            let price =
                self.number(name, Some(text), |price: &f64| price.is_finite() && *price >= 0.0);
            price.unwrap_or(default)
        };
        UnitPrices {
            per_vcpu: price("price-per-vcpu", &raw.price_per_vcpu, default.per_vcpu),
            per_gb: price("price-per-gb", &raw.price_per_gb, default.per_gb),
            per_gpu: price("price-per-gpu", &raw.price_per_gpu, default.per_gpu),
            per_vm: price("price-per-vm", &raw.price_per_vm, default.per_vm),
        }
    }

    /// A number, if one is given. An empty variable counts as not set.
    fn number<T: std::str::FromStr>(
        &mut self,
        setting: &str,
        value: Option<&String>,
        allowed: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let value = value.filter(|value| !value.is_empty())?;
        let number = value.parse().ok().filter(allowed);
        if number.is_none() {
            let remedy = match setting {
                "cpu-requests" => "use a whole number of millicores",
                _ if setting.ends_with("-percent") => {
                    "use a share from 0 to below 1, such as 0.075"
                }
                _ => "use a price, 0 or more",
            };
            self.add(setting, value, remedy);
        }
        number
    }
}

/// The words that Go's programs, and so Karpenter's users, write for booleans.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Some(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::{Cli, Command};

    fn settings(flags: &[&str]) -> Result<Settings, Vec<String>> {
        let cli = Cli::parse_from([&["joiner", "plan", "-f", "x"], flags].concat());
        let Command::Plan(args) = cli.command else { panic!("this is a plan") };
        Settings::try_from(&args.settings).map_err(|failure| match failure {
            Failure::BadInput(problems) => problems,
            Failure::Output(error) => panic!("{error}"),
        })
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
            --pending cannot be "all": use unbound or unschedulable
            --scheduler-config (SCHEDULER_CONFIG): the scheduler configuration cannot be read: unknown field `defaultConstraint`, expected one of defaultConstraints at line 1, column 22
            --cpu-requests (CPU_REQUESTS) cannot be "1.5": use a whole number of millicores
            --vm-memory-overhead-percent (VM_MEMORY_OVERHEAD_PERCENT) cannot be "7.5": use a share from 0 to below 1, such as 0.075
            --price-per-vm (PRICE_PER_VM) cannot be "-1": use a price, 0 or more"#]].assert_eq(&problems.join("\n"));
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
