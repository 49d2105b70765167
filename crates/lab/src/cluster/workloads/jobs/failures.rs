//! What a pod's failure means for its Job, by the Job's `podFailurePolicy`.

use serde_json::Value;

/// What becomes of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It counts towards the limit.
    Counts,
    /// It does not count: the pod is simply replaced.
    Ignored,
    /// The whole Job has failed, with this explanation.
    FailsJob(String),
}

/// The verdict of the first rule that a failed pod meets.
pub(super) fn verdict(policy: &Value, pod: &Value) -> Verdict {
    for (index, rule) in policy["rules"].as_array().into_iter().flatten().enumerate() {
        let Some(how) = meets(rule, pod) else { continue };
        return match rule["action"].as_str() {
            Some("Ignore") => Verdict::Ignored,
            Some("FailJob") => {
                Verdict::FailsJob(format!("{how} matching FailJob rule at index {index}"))
            }
            _ => Verdict::Counts,
        };
    }
    Verdict::Counts
}

/// How a pod meets a rule, if it does.
fn meets(rule: &Value, pod: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name =
        format!("{}/{}", text(&pod["metadata"]["namespace"]), text(&pod["metadata"]["name"]));
    let status = &pod["status"];
    if let Some(codes) = rule.get("onExitCodes").filter(|codes| codes.is_object()) {
        let values = codes["values"].as_array()?;
        let lists =
            ["containerStatuses", "initContainerStatuses"].map(|list| status[list].as_array());
        return lists.into_iter().flatten().flatten().find_map(|container| {
            let code = &container["state"]["terminated"]["exitCode"];
            let named = codes
                .get("containerName")
                .is_none_or(|wanted| wanted.is_null() || *wanted == container["name"]);
            let among = values.contains(code) == (codes["operator"] == "In");
            let failed = code.as_i64().is_some_and(|code| code != 0);
            (named && among && failed).then(|| {
                let container = text(&container["name"]);
                format!("Container {container} for pod {name} failed with exit code {code}")
            })
        });
    }
    let conditions = status["conditions"].as_array()?;
    rule["onPodConditions"].as_array()?.iter().find_map(|wanted| {
        let status = wanted["status"].as_str().unwrap_or("True");
        conditions
            .iter()
            .any(|has| has["type"] == wanted["type"] && has["status"] == status)
            .then(|| format!("Pod {name} has condition {}", text(&wanted["type"])))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_rule_that_is_met_decides() {
        let policy = json!({"rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [42]}},
        ]});
        let pod = |code: i64, condition: &str| {
            let terminated = json!({"exitCode": code});
            json!({
                "metadata": {"namespace": "a", "name": "p"},
                "status": {
                    "conditions": [{"type": condition, "status": "True"}],
                    "containerStatuses": [{"name": "c", "state": {"terminated": terminated}}],
                },
            })
        };
        assert_eq!(verdict(&policy, &pod(42, "DisruptionTarget")), Verdict::Ignored);
        assert_eq!(verdict(&policy, &pod(1, "Ready")), Verdict::Counts);
        let fails = "Container c for pod a/p failed with exit code 42 matching FailJob rule at \
                     index 1";
        assert_eq!(verdict(&policy, &pod(42, "Ready")), Verdict::FailsJob(fails.into()));
        assert_eq!(verdict(&Value::Null, &pod(42, "Ready")), Verdict::Counts);
    }
}
