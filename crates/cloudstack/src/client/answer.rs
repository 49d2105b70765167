//! Answers: what is in their envelope, and what to do where they are not quite JSON.

use http::StatusCode;
use serde_json::Value;

use super::{ClientError, Command, Refusal};

/// The envelope of refusals that come before the server knows which command it is.
const BEFORE_COMMAND: &str = "errorresponse";
/// The parameters whose values must not come back in an error.
const SECRET_PARAMETERS: [&str; 2] = ["userdata", "password"];

/// What is in an answer's envelope.
pub(crate) fn payload(
    command: &Command,
    status: StatusCode,
    body: &[u8],
) -> Result<Value, ClientError> {
    let is_ok = status.is_success();
    let Some(answer) = parsed(body) else {
        return Err(if is_ok {
            ClientError::Malformed(format!("{}: no JSON", command.api.name))
        } else {
            ClientError::Http(status.as_u16())
        });
    };
    let Some((envelope, payload)) = single(answer) else {
        return Err(if is_ok {
            ClientError::Malformed(format!("{}: not one object in an object", command.api.name))
        } else {
            ClientError::Http(status.as_u16())
        });
    };
    let code = payload.get("errorcode").and_then(Value::as_u64);
    match code {
        None if is_ok => Ok(payload),
        None => Err(ClientError::Http(status.as_u16())),
        Some(code) => {
            let mut refusal = refusal(command.api.name, code, &payload);
            refusal.before_command = envelope == BEFORE_COMMAND;
            refusal.text = without_secrets(command, refusal.text);
            Err(ClientError::Refused(refusal))
        }
    }
}

/// What the server says of an error, in an answer or in the result of a job.
pub(crate) fn refusal(command: &str, code: u64, error: &Value) -> Refusal {
    let number = |field: &str| error[field].as_u64().and_then(|code| u32::try_from(code).ok());
    let text = error["errortext"].as_str().unwrap_or_default();
    let mut refusal = Refusal::new(command, u32::try_from(code).unwrap_or(u32::MAX), text);
    refusal.exception = number("cserrorcode");
    refusal
}

/// JSON; where it is not quite, without the control characters that a server lets through which
/// writes them as they were stored.
fn parsed(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body)
        .or_else(|_| serde_json::from_slice(&without_control_characters(body)))
        .ok()
}

fn without_control_characters(body: &[u8]) -> Vec<u8> {
    let (mut is_in_string, mut is_escaped) = (false, false);
    let keep = |byte: &u8| {
        let keeps = !is_in_string || *byte >= 0x20;
        match byte {
            _ if !keeps => {}
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_string,
            b'"' => is_in_string = !is_in_string,
            _ => {}
        }
        keeps
    };
    body.iter()
        .copied()
        .filter({
            let mut keep = keep;
            move |byte| keep(byte)
        })
        .collect()
}

/// The one member of an object.
fn single(value: Value) -> Option<(String, Value)> {
    let Value::Object(members) = value else { return None };
    let mut members = members.into_iter();
    match (members.next(), members.next()) {
        (Some((name, payload @ Value::Object(_))), None) => Some((name, payload)),
        _ => None,
    }
}

fn without_secrets(command: &Command, mut text: String) -> String {
    for name in SECRET_PARAMETERS {
        if let Some(value) = command.parameter(name)
            && text.contains(value)
        {
            text = text.replace(value, "[redacted]");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::command::{Api, Scoped};

    fn read(status: u16, body: &str) -> Result<Value, ClientError> {
        let command = Command::new(Api::new("deployVirtualMachine", Scoped::Project))
            .with("userdata", "aHVudGVyMg==");
        payload(&command, StatusCode::from_u16(status).unwrap(), body.as_bytes())
    }

    #[test]
    fn the_envelope_is_whatever_it_is_called() {
        assert_eq!(read(200, r#"{"listzonesresponse":{}}"#), Ok(json!({})));
        assert_eq!(read(200, r#"{"anything":{"id":"a"}}"#), Ok(json!({"id": "a"})));
    }

    #[test]
    fn control_characters_in_texts_make_no_answer_unreadable() {
        let body = "{\"x\":{\"displayname\":\"a\u{1}b\\\"\tc\",\n\"name\":\"d\"}}";
        assert_eq!(read(200, body), Ok(json!({"displayname": "ab\"c", "name": "d"})));
    }

    #[test]
    fn what_is_no_answer_is_malformed_or_somebody_elses() {
        for body in ["", "<html>", r#"{"a":{"id":"#, r#"{"a":{},"b":{}}"#, r#"{"a":1}"#, "[]"] {
            assert!(matches!(read(200, body), Err(ClientError::Malformed(_))), "{body}");
            assert_eq!(read(502, body), Err(ClientError::Http(502)), "{body}");
        }
        assert_eq!(read(502, r#"{"a":{"id":"a"}}"#), Err(ClientError::Http(502)));
    }

    #[test]
    fn an_error_is_told_with_its_codes_and_whether_the_command_was_known() {
        let body = r#"{"errorresponse":{"uuidList":[],"errorcode":432,"cserrorcode":9999,
            "errortext":"The API [listHosts] does not exist or is not available for the account"}}"#;
        let Err(ClientError::Refused(refusal)) = read(432, body) else { panic!("it is a refusal") };
        assert_eq!((refusal.code, refusal.exception), (432, Some(9999)));
        assert!(refusal.before_command && refusal.is_of_role() && !refusal.is_of_keys());
        let body = r#"{"deployvirtualmachineresponse":{"errorcode":401,"errortext":"unable to verify
            user credentials and/or request signature"}}"#;
        let Err(ClientError::Refused(refusal)) = read(401, body) else { panic!("it is a refusal") };
        assert!(refusal.is_of_keys() && !refusal.is_of_role());
    }

    #[test]
    fn user_data_that_comes_back_in_an_error_is_taken_out() {
        let body = r#"{"deployvirtualmachineresponse":{"errorcode":431,
            "errortext":"User data aHVudGVyMg== is not good"}}"#;
        let error = read(431, body).unwrap_err().to_string();
        assert!(error.contains("[redacted]") && !error.contains("aHVud"), "{error}");
    }
}
