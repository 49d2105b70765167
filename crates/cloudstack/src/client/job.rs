//! Jobs: what a server does after it has said yes.

use serde_json::Value;

use super::{ClientError, Command, Refusal, answer};

/// Something that the server is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The job.
    pub job: String,
    /// The command that began it.
    pub command: &'static str,
    /// The object that it makes, where it makes one. The id is known before the job has begun.
    pub object: Option<String>,
}

/// What the server says of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// The Java class of the command, where the server says it.
    pub command: Option<String>,
    /// The object that it is about.
    pub object: Option<String>,
    /// What came of it; none while it is under way.
    pub outcome: Option<Result<Value, JobFailed>>,
}

/// Why a job has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobFailed {
    /// The job ended in an error.
    #[error("{0}")]
    Refused(Refusal),
    /// The server was restarted while the job ran. Whether it had an effect is unknown.
    #[error("{0}: CloudStack's management server ended while it worked on this")]
    Interrupted(String),
    /// The job was cancelled. Whether it had an effect is unknown.
    #[error("{0}: the job was cancelled")]
    Cancelled(String),
    /// The time is over and the job is not.
    #[error("{0}: the job is not over in time")]
    Deadline(String),
    /// The server does not know the job, or not any more.
    #[error("{0}: CloudStack does not know the job any more")]
    Disappeared(String),
    /// The server cannot be asked, and will not be soon.
    #[error("{0}")]
    Client(ClientError),
}

impl JobFailed {
    /// What the server said, where the job ended in an error.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Client(error) => error.refusal(),
            _ => None,
        }
    }

    /// What the failure means.
    pub fn class(&self) -> super::ErrorClass {
        match self {
            Self::Refused(refusal) => refusal.class(),
            Self::Client(error) => error.class(),
            _ => super::ErrorClass::Transient,
        }
    }
}

impl Job {
    /// Reads what `queryAsyncJobResult` answers.
    pub(crate) fn read(command: &Command, answer: &Value) -> Result<Self, ClientError> {
        let malformed =
            |what: &str| ClientError::Malformed(format!("{}: {what}", command.api.name));
        let text = |field: &str| answer[field].as_str().map(str::to_owned);
        let asked = command.parameter("jobid").unwrap_or_default();
        let id = text("jobid").unwrap_or_else(|| asked.to_owned());
        let class = text("cmd");
        let name = class.as_deref().map_or("job", |class| {
            let short = class.rsplit('.').next().unwrap_or(class);
            short.split("Cmd").next().unwrap_or(short)
        });
        let status = answer["jobstatus"].as_u64().ok_or_else(|| malformed("no jobstatus"))?;
        let outcome = match status {
            0 => None,
            1 => Some(Ok(answer["jobresult"].clone())),
            2 => Some(Err(failure(name, answer))),
            // Declared, and told by some versions; what came of the command is unknown.
            3 => Some(Err(JobFailed::Cancelled(name.to_owned()))),
            _ => return Err(malformed("a jobstatus that is none of 0 to 3")),
        };
        Ok(Self { object: text("jobinstanceid"), command: class, id, outcome })
    }

    /// Whether it removes its object.
    pub fn is_removal(&self) -> bool {
        let class = self.command.as_deref().unwrap_or_default();
        class.contains("DestroyVM") || class.contains("ExpungeVM")
    }
}

fn failure(name: &str, answer: &Value) -> JobFailed {
    let code = answer["jobresultcode"].as_u64().unwrap_or_default();
    match &answer["jobresult"] {
        Value::Object(error) if error.contains_key("errortext") => {
            let error = &answer["jobresult"];
            let code = error["errorcode"].as_u64().unwrap_or(code);
            JobFailed::Refused(answer::refusal(name, code, error))
        }
        Value::String(text) if !text.is_empty() => {
            let code = u32::try_from(code).unwrap_or(u32::MAX);
            JobFailed::Refused(Refusal::new(name, code, text))
        }
        _ => JobFailed::Interrupted(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::{Command, api};

    fn outcome(fields: &Value) -> Option<Result<Value, JobFailed>> {
        let command = Command::new(api::QUERY_ASYNC_JOB_RESULT).with("jobid", "j1");
        let mut answer = json!({"cmd": "org.apache.cloudstack.api.command.user.vm.DeployVMCmd"});
        for (key, value) in fields.as_object().unwrap() {
            answer[key] = value.clone();
        }
        Job::read(&command, &answer).unwrap().outcome
    }

    #[test]
    fn a_job_is_pending_done_or_failed() {
        assert_eq!(outcome(&json!({"jobstatus": 0, "jobresultcode": 0})), None);
        let done = json!({"jobstatus": 1, "jobresult": {"virtualmachine": {"id": "v"}}});
        assert_eq!(outcome(&done), Some(Ok(json!({"virtualmachine": {"id": "v"}}))));
        let failed = json!({"jobstatus": 2, "jobresultcode": 533,
            "jobresult": {"errorcode": 533, "errortext": "No destination found"}});
        let Some(Err(JobFailed::Refused(refusal))) = outcome(&failed) else {
            panic!("it is refused")
        };
        assert_eq!(refusal.to_string(), "DeployVM: No destination found (533)");
    }

    /// Defect 22 of upstream: a cancelled job is waited for until the time is over.
    #[test]
    fn a_cancelled_job_has_failed() {
        let cancelled = Some(Err(JobFailed::Cancelled("DeployVM".to_owned())));
        assert_eq!(outcome(&json!({"jobstatus": 3})), cancelled);
    }

    #[test]
    fn a_failed_job_without_a_result_was_interrupted() {
        let interrupted = Some(Err(JobFailed::Interrupted("DeployVM".to_owned())));
        assert_eq!(outcome(&json!({"jobstatus": 2, "jobresultcode": 530})), interrupted);
    }

    #[test]
    fn a_removal_is_known_by_its_command() {
        let command = Command::new(api::QUERY_ASYNC_JOB_RESULT);
        let job = |class: &str| {
            Job::read(&command, &json!({"cmd": class, "jobstatus": 0, "jobid": "j"})).unwrap()
        };
        assert!(job("org.apache.cloudstack.api.command.user.vm.DestroyVMCmd").is_removal());
        assert!(!job("org.apache.cloudstack.api.command.user.vm.DeployVMCmd").is_removal());
    }
}
