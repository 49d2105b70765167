//! Commands: which there are, their parameters, and carrying them out.

#![expect(clippy::unnecessary_wraps, reason = "all commands have the one signature of the list")]

pub(crate) mod call;
mod capacity;
mod deploy;
mod groups;
mod jobs;
mod networks;
mod offerings;
mod page;
mod people;
mod read;
mod service;
pub(crate) mod table;
mod tagging;
mod templates;
mod vms;
mod volumes;
mod zones;

use serde_json::Value;

pub(crate) use call::Call;
pub(crate) use vms::Parts;

use crate::{refusal::Refusal, world::World};

/// What carries a command out.
type Run = fn(&mut World, &Call) -> Result<Value, Refusal>;

/// The commands of the table, each with what carries it out.
const RUN: [(&str, Run); 36] = [
    ("listzones", World::list_zones),
    ("listserviceofferings", World::list_service_offerings),
    ("listdiskofferings", World::list_disk_offerings),
    ("listtemplates", World::list_templates),
    ("listnetworks", World::list_networks),
    ("listsshkeypairs", World::list_key_pairs),
    ("registersshkeypair", World::register_key_pair),
    ("listaffinitygroups", World::list_affinity_groups),
    ("createaffinitygroup", World::create_affinity_group),
    ("deleteaffinitygroup", World::delete_affinity_group),
    ("listsecuritygroups", World::list_security_groups),
    ("listprojects", World::list_projects),
    ("listresourcelimits", World::list_resource_limits),
    ("updateresourcecount", World::update_resource_count),
    ("listcapabilities", World::list_capabilities),
    ("listapis", World::list_apis),
    ("listusers", World::list_users),
    ("getuser", World::get_user),
    ("listhosts", World::list_hosts),
    ("listcapacity", World::list_capacity),
    ("listvirtualmachines", World::list_vms),
    ("deployvirtualmachine", World::deploy_vm),
    ("startvirtualmachine", World::start_vm),
    ("stopvirtualmachine", World::stop_vm),
    ("rebootvirtualmachine", World::reboot_vm),
    ("destroyvirtualmachine", World::destroy_vm),
    ("expungevirtualmachine", World::expunge_vm),
    ("updatevirtualmachine", World::update_vm),
    ("listvolumes", World::list_volumes),
    ("deletevolume", World::delete_volume),
    ("destroyvolume", World::destroy_volume),
    ("createtags", World::create_tags),
    ("deletetags", World::delete_tags),
    ("listtags", World::list_tags),
    ("queryasyncjobresult", World::query_job),
    ("listasyncjobs", World::list_jobs),
];

/// The rows that a call asks for.
pub(crate) fn page(given: &call::Given, size_max: u32) -> Result<page::Page, Refusal> {
    page::Page::read(given, size_max)
}

impl World {
    /// Carries a command out.
    pub(crate) fn run(&mut self, call: &Call) -> Result<Value, Refusal> {
        let name = call.command.name.to_ascii_lowercase();
        let run = RUN.iter().find(|(known, _)| *known == name).map(|(_, run)| *run);
        // The table and this list name the same commands: a test compares them.
        run.ok_or_else(Refusal::unauthorized)?(self, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_table_can_be_carried_out() {
        let table = table::Commands::new();
        let mut known: Vec<_> = table.all().map(|it| it.name.to_ascii_lowercase()).collect();
        let mut carried_out: Vec<_> = RUN.iter().map(|(name, _)| (*name).to_owned()).collect();
        known.sort();
        carried_out.sort();
        assert_eq!(known, carried_out);
    }
}
