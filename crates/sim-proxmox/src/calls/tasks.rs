//! Tasks as they are told.

use serde_json::{Value, json};

use super::{Call, Reply};
use crate::{
    refusal::Refusal,
    task::{Task, TaskNumber},
    world::World,
};

/// How many rows lists of tasks and logs have where the caller asks for no other number.
const LIMIT: usize = 50;

impl World {
    pub(super) fn call_tasks(&mut self, call: &Call) -> Result<Reply, Refusal> {
        if call.name == "tasks" || call.name == "clustertasks" {
            return Ok(Reply::Done(self.task_rows(call)));
        }
        let (number, task) = self.known_task(call)?;
        let own = task.user == call.caller.name() || task.user == call.caller.user;
        let privilege = if call.name == "taskstop" { "Sys.Modify" } else { "Sys.Audit" };
        if !own {
            self.demand(&call.caller, &format!("/nodes/{}", task.node), &[privilege])?;
        }
        let data = match call.name.as_str() {
            "taskstatus" => {
                let mut row = row(task);
                row["pid"] = task.pid.into();
                row["status"] = if task.is_running() { "running" } else { "stopped" }.into();
                if let Some((_, status)) = &task.ended {
                    row["exitstatus"] = status.clone().into();
                }
                row
            }
            "tasklog" => {
                let start = call.number("start").unwrap_or(0);
                let limit = call.number("limit").unwrap_or(LIMIT);
                let limit = if limit == 0 { usize::MAX } else { limit };
                let lines = task.log.iter().enumerate().skip(start).take(limit);
                lines.map(|(index, line)| json!({ "n": index + 1, "t": line })).collect()
            }
            _ => {
                self.interrupt(number);
                Value::Null
            }
        };
        Ok(Reply::Done(data))
    }

    fn known_task(&self, call: &Call) -> Result<(TaskNumber, &Task), Refusal> {
        let upid = call.text("upid");
        if !upid.starts_with("UPID:") || upid.split(':').count() != 9 {
            return Err(Refusal::parameter("upid", "unable to parse worker upid"));
        }
        let known = self.tasks.find(upid);
        let known = known.filter(|(_, task)| !task.lost && task.node == call.text("node"));
        known.ok_or_else(|| Refusal::new(400, "upid: no such task"))
    }

    /// Tasks, the newest first: those of the caller, and all for those who may see the node.
    fn task_rows(&self, call: &Call) -> Value {
        let source = call.get("source").unwrap_or("archive");
        let since: Option<i64> = call.number("since");
        let until: Option<i64> = call.number("until");
        let tasks = self.tasks.all.values().rev().filter(|task| {
            let path = format!("/nodes/{}", task.node);
            let failed = task.ended.as_ref().is_some_and(|(_, status)| !Task::is_ok(status));
            let of_source = match source {
                "active" => task.is_running(),
                "archive" => !task.is_running() || call.name == "clustertasks",
                _ => true,
            };
            !task.hidden
                && !task.lost
                && of_source
                && call.get("node").is_none_or(|node| node == task.node)
                && call.get("vmid").is_none_or(|vmid| vmid == task.id)
                && call.get("typefilter").is_none_or(|kind| kind == task.kind)
                && call.get("userfilter").is_none_or(|part| task.user.contains(part))
                && call.get("statusfilter").is_none_or(|filter| status_fits(task, filter))
                && since.is_none_or(|since| task.begun >= since)
                && until.is_none_or(|until| task.begun <= until)
                && (failed || !call.flag("errors"))
                && (task.user == call.caller.name() || self.may(&call.caller, &path, "Sys.Audit"))
        });
        let start = call.number("start").unwrap_or(0);
        let limit = call.number("limit").unwrap_or(LIMIT);
        let rows = tasks.skip(start).take(limit).map(|task| {
            let mut row = row(task);
            if let Some((at, status)) = &task.ended {
                row["endtime"] = self.seconds(*at).into();
                row["status"] = status.clone().into();
            }
            row
        });
        rows.collect()
    }
}

fn status_fits(task: &Task, filter: &str) -> bool {
    let status = task.ended.as_ref().map(|(_, status)| status.as_str());
    filter.split([',', ';', ' ']).any(|wanted| match (wanted, status) {
        ("ok", Some("OK")) => true,
        ("warning", Some(status)) => status.starts_with("WARNINGS"),
        ("error", Some(status)) => !Task::is_ok(status),
        _ => false,
    })
}

fn row(task: &Task) -> Value {
    json!({
        "upid": task.upid,
        "node": task.node,
        "pid": task.pid,
        "pstart": task.started.as_millis() as u64 / 10,
        "starttime": task.begun,
        "type": task.kind,
        "id": task.id,
        "user": task.user,
    })
}
