//! Asking for jobs.

use serde_json::Value;

use super::Call;
use crate::{access::Scope, estate::Owner, refusal::Refusal, world::World};

impl World {
    pub(super) fn query_job(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        let found = match (given.entity("jobid"), given.text("resourceid")) {
            (Some(number), _) => Some(number),
            (None, Some(id)) if given.text("resourcetype").is_some() => self.jobs.pending_on(id),
            _ => {
                let text = "Expected parameter job id or parameters resource id and resource type";
                return Err(Refusal::value(text));
            }
        };
        let job = found.and_then(|number| self.jobs.get(number));
        let Some(job) = job else {
            return Err(Refusal::value("Unable to find a job by id: entity does not exist"));
        };
        // Who may not see a job is told that it is there.
        self.may_operate(call.caller, Owner::Account(job.account))?;
        Ok(self.job_row(job))
    }

    pub(super) fn list_jobs(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        let shown = |owner| match &scope {
            Scope::Owners(owners) => owners.contains(&owner),
            other => self.shows(other, owner),
        };
        let rows: Vec<_> = self
            .jobs
            .all()
            .filter(|job| {
                shown(Owner::Account(job.account))
                    && job.is_pending()
                    && given.text("resourceid").is_none_or(|id| job.is_about(id))
                    && given.mentions(&[job.class()])
            })
            .collect();
        Ok(call.listed(&rows, |job| self.job_row(job)))
    }
}
