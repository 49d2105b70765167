use super::*;
use crate::bootstrap::digest::{hex, sha256};

#[test]
fn a_wrapper_lists_ours_before_the_users() {
    let ours = json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [{
            "path": "/etc/hostname",
            "mode": 420,
            "overwrite": true,
            "contents": {"source": "data:,node-1"},
        }]},
    });
    let ours = print(ours);
    assert_eq!(
        ours,
        r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"contents":{"source":"data:,node-1"},"mode":420,"overwrite":true,"path":"/etc/hostname"}]}}"#
    );
    let users = r#"{"ignition":{"version":"3.3.0"},"passwd":{"users":[{"name":"core"}]}}"#;
    let text = wrapped(&ours, users, &VERSION);
    assert_eq!(text.len(), 391);
    let hash = "91d40d0233c8ef7b569d3bdd5dc09bb272e7348486f246c2ce9706271ee251ff";
    assert_eq!(hex(&sha256(text.as_bytes())), hash);
    let [ours, users] = [&*ours, users].map(|config| STANDARD.encode(config));
    assert_eq!(
        text,
        format!(
            "{{\"ignition\":{{\"config\":{{\"merge\":[{{\"source\":\"data:;base64,{ours}\"}},\
             {{\"source\":\"data:;base64,{users}\"}}]}},\"version\":\"3.4.0\"}}}}"
        )
    );
}
