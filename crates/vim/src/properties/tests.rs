use expect_test::{Expect, expect};

use super::*;
use crate::xml::indented;

fn check(of: Of<'_>, paths: &[&str], expected: &Expect) {
    let paths: Vec<Arc<str>> = paths.iter().map(|path| Arc::from(*path)).collect();
    let mut xml = Writer::default();
    filter(&mut xml, "specSet", of, &paths);
    expected.assert_eq(&indented(&xml.finish()));
}

#[test]
fn properties_of_everything_in_a_view() {
    let view = MoRef::new("ContainerView", "session[1]view-1");
    let paths = ["name", "config.extraConfig[\"joiner.cluster\"].value"];
    check(
        Of::View { view: &view, kind: "VirtualMachine" },
        &paths,
        &expect![[r#"
        <specSet>
          <propSet>
            <type>VirtualMachine</type>
            <all>false</all>
            <pathSet>name</pathSet>
            <pathSet>config.extraConfig[&quot;joiner.cluster&quot;].value</pathSet>
          </propSet>
          <objectSet>
            <obj type="ContainerView">session[1]view-1</obj>
            <skip>true</skip>
            <selectSet xsi:type="TraversalSpec">
              <name>members</name>
              <type>ContainerView</type>
              <path>view</path>
              <skip>false</skip>
            </selectSet>
          </objectSet>
        </specSet>
    "#]],
    );
}

#[test]
fn properties_of_objects_of_several_kinds() {
    let objects = [
        MoRef::new("Network", "network-1"),
        MoRef::new("Datastore", "datastore-2"),
        MoRef::new("Network", "network-3"),
    ];
    check(
        Of::Objects(&objects),
        &["name"],
        &expect![[r#"
        <specSet>
          <propSet>
            <type>Datastore</type>
            <all>false</all>
            <pathSet>name</pathSet>
          </propSet>
          <propSet>
            <type>Network</type>
            <all>false</all>
            <pathSet>name</pathSet>
          </propSet>
          <objectSet>
            <obj type="Network">network-1</obj>
          </objectSet>
          <objectSet>
            <obj type="Datastore">datastore-2</obj>
          </objectSet>
          <objectSet>
            <obj type="Network">network-3</obj>
          </objectSet>
        </specSet>
    "#]],
    );
}
