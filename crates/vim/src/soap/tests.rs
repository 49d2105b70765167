use expect_test::expect;

use super::*;
use crate::xml::indented;

fn answer(status: u16, body: &str) -> Result<Answer, VimError> {
    Answer::of(Response::builder().status(status).body(Bytes::from(body.to_owned())).unwrap())
}

#[test]
fn a_call_names_its_object_first() {
    let object = MoRef::new("SessionManager", "SessionManager");
    let call = Call::new(&object, "Login", |xml| xml.leaf("userName", "me & you"));
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
          <soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="urn:vim25">
            <soapenv:Body>
              <Login>
                <_this type="SessionManager">SessionManager</_this>
                <userName>me &amp; you</userName>
              </Login>
            </soapenv:Body>
          </soapenv:Envelope>
    "#]].assert_eq(&indented(&call.envelope));
}

#[test]
fn what_is_sent_is_not_shown() {
    let object = MoRef::new("SessionManager", "SessionManager");
    let call = Call::new(&object, "Login", |xml| xml.leaf("password", "hunter2"));
    assert_eq!(format!("{call:?}"), "Call { method: \"Login\", .. }");
}

#[test]
fn faults_are_known_by_their_type_whatever_the_prefixes() {
    let by_vcenter = r#"<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/"
 xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
 xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<soapenv:Body>
<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>Permission denied.</faultstring>
<detail><NoPermissionFault xmlns="urn:vim25" xsi:type="NoPermission">
<object type="Network">network-7</object><privilegeId>Network.Assign</privilegeId>
</NoPermissionFault></detail></soapenv:Fault>
</soapenv:Body>
</soapenv:Envelope>"#;
    let by_others = r#"<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>
<S:Fault xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><faultcode>S:Server</faultcode>
<faultstring>Permission denied.</faultstring><detail><Fault
 xmlns:XMLSchema-instance="http://www.w3.org/2001/XMLSchema-instance" xmlns:v="urn:vim25"
 XMLSchema-instance:type="v:NoPermission"><v:object type="Network">network-7</v:object>
<v:privilegeId>Network.Assign</v:privilegeId></Fault></detail></S:Fault></S:Body></S:Envelope>"#;
    for body in [by_vcenter, by_others] {
        // Some answer with a status that says success.
        for status in [500, 200] {
            let error = answer(status, body).unwrap_err();
            assert!(error.is_fault("NoPermission"));
            assert_eq!(
                error.to_string(),
                "NoPermission: Permission denied. \
                 (missing privilege Network.Assign on Network:network-7)"
            );
        }
    }
}

#[test]
fn a_fault_without_a_type_is_known_by_its_name() {
    let body = "<e:Envelope xmlns:e=\"e\"><e:Body><e:Fault><faultstring>Gone.</faultstring><detail>\
                <ManagedObjectNotFoundFault><obj type=\"Task\">task-1</obj>\
                </ManagedObjectNotFoundFault></detail></e:Fault></e:Body></e:Envelope>";
    let error = answer(500, body).unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!(fault.kind, "ManagedObjectNotFound");
    assert_eq!(fault.object(), Some(MoRef::new("Task", "task-1")));
}

#[test]
fn what_stands_between_is_not_mistaken_for_the_server() {
    assert_eq!(answer(500, "<html>oops</html>").unwrap_err(), VimError::Http(500));
    assert_eq!(answer(503, "").unwrap_err(), VimError::Http(503));
    assert_eq!(answer(404, "<html/>").unwrap_err(), VimError::Http(404));
    let proxy = answer(200, "<html>please log in</html>").unwrap_err();
    assert!(matches!(proxy, VimError::Malformed(_)), "{proxy}");
}
