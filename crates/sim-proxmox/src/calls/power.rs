//! Starting, stopping and destroying VMs.

use super::{Call, Reply, check_skiplock};
use crate::{
    refusal::Refusal,
    task::{Act, Mode, Resource, Step, TaskNumber},
    world::World,
};

impl World {
    pub(super) fn call_power(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let (vmid, id) = (call.vmid(), call.text("vmid").to_owned());
        if call.name == "destroy" {
            return self.destroy(call);
        }
        let vm = self.unlocked_vm(call)?;
        let (is_template, running, ha) = (vm.is_template(), vm.running, vm.ha.is_some());
        let durations = self.behaviour.durations.clone();
        let lock = Step::Lock(Resource::Vm(vmid), Mode::Exclusive);
        let name = call.name.as_str();
        if is_template {
            return Err(Refusal::failed("you can't start a vm if it's a template"));
        }
        if ha {
            let start = name == "start";
            let kind = if start { "hastart" } else { "hastop" };
            let steps = vec![Step::Wait(durations.write), Step::Act(Act::AskHa { vmid, start })];
            let task = call.task(kind, &id, steps);
            return Ok(self.begin_reply(task));
        }
        let (kind, lasts, act) = match name {
            "start" => ("qmstart", durations.start, Act::Start(vmid)),
            "stop" => ("qmstop", durations.stop, Act::Stop(vmid)),
            _ => ("qmshutdown", durations.shutdown, Act::Stop(vmid)),
        };
        let act = if running || name == "start" { act } else { Act::Nothing };
        if name == "shutdown" && !running {
            return Err(Refusal::failed(format!("VM {vmid} not running")));
        }
        if name == "stop" && call.flag("overrule-shutdown") {
            let shutdowns = self.tasks.all.iter().filter(|(_, task)| {
                task.is_running() && task.kind == "qmshutdown" && task.id == id
            });
            let shutdowns: Vec<TaskNumber> = shutdowns.map(|(number, _)| *number).collect();
            for number in shutdowns {
                self.interrupt(number);
            }
        }
        let task = call.task(kind, &id, vec![lock, Step::Wait(lasts), Step::Act(act)]);
        Ok(self.begin_reply(task))
    }

    fn destroy(&mut self, call: &Call) -> Result<Reply, Refusal> {
        check_skiplock(call)?;
        self.vm(call)?;
        let (vmid, purge) = (call.vmid(), call.flag("purge"));
        if call.flag("skiplock") {
            self.vm_mut(vmid).map_err(Refusal::failed)?.config.remove("lock");
        }
        self.may_destroy(vmid, purge).map_err(Refusal::failed)?;
        let steps = vec![
            Step::Lock(Resource::Vm(vmid), Mode::Exclusive),
            Step::Wait(self.behaviour.durations.destroy),
            Step::Act(Act::Destroy { vmid, purge }),
        ];
        let task = call.task("qmdestroy", call.text("vmid"), steps);
        Ok(self.begin_reply(task))
    }
}
