//! The rows of services and of what leads to them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    cells::{NONE, first_three, labels, or, selector},
    rows::{Row, UNSET},
};
use crate::fields::Fields;

impl Row<'_> {
    /// Where a load balancer is reached, sorted.
    pub(super) fn load_balancer(&self) -> String {
        let points = self.status().part("loadBalancer").list("ingress");
        let places: BTreeSet<&str> =
            points.iter().map(|point| or(point.text("ip"), point.text("hostname"))).collect();
        let places: Vec<&str> = places.into_iter().filter(|place| !place.is_empty()).collect();
        places.join(",")
    }

    pub(super) fn service(&self) -> Vec<Value> {
        let spec = self.spec();
        let kind = spec.text("type");
        let external: Vec<&str> = spec.texts("externalIPs").collect();
        let external = match kind {
            "ClusterIP" | "NodePort" => or(&external.join(","), NONE).to_owned(),
            "LoadBalancer" => {
                let balancer = self.load_balancer();
                let all: Vec<&str> = std::iter::once(balancer.as_str())
                    .filter(|place| !place.is_empty())
                    .chain(external)
                    .collect();
                or(&all.join(","), "<pending>").to_owned()
            }
            "ExternalName" => spec.text("externalName").to_owned(),
            _ => "<unknown>".to_owned(),
        };
        let port = |port: &Value| {
            let node = match port.count("nodePort") {
                0 => String::new(),
                number => format!(":{number}"),
            };
            format!("{}{node}/{}", port.count("port"), port.text("protocol"))
        };
        let ports: Vec<String> = spec.list("ports").iter().map(port).collect();
        vec![
            kind.into(),
            spec.texts("clusterIPs").next().unwrap_or(NONE).into(),
            external.into(),
            or(&ports.join(","), NONE).into(),
            self.age(),
            labels(spec, "selector").into(),
        ]
    }

    pub(super) fn ingress(&self) -> Vec<Value> {
        let spec = self.spec();
        let rules = spec.list("rules");
        let mut hosts: Vec<&str> = Vec::new();
        let mut more = false;
        for rule in rules {
            more |= hosts.len() == 3;
            if !more && !rule.text("host").is_empty() {
                hosts.push(rule.text("host"));
            }
        }
        let shown = match (hosts.is_empty(), more) {
            (true, _) => "*".to_owned(),
            (false, true) => format!("{} + {} more...", hosts.join(","), rules.len() - 3),
            (false, false) => hosts.join(","),
        };
        vec![
            spec.given_text("ingressClassName").unwrap_or(NONE).into(),
            shown.into(),
            self.load_balancer().into(),
            if spec.list("tls").is_empty() { "80" } else { "80, 443" }.into(),
            self.age(),
        ]
    }

    pub(super) fn ingress_class(&self) -> Vec<Value> {
        let parameters = self.spec().field("parameters").map(|parameters| {
            let group = parameters.given_text("apiGroup").map(|group| format!(".{group}"));
            let (kind, name) = (parameters.text("kind"), parameters.text("name"));
            format!("{kind}{}/{name}", group.unwrap_or_default())
        });
        vec![
            self.name_or_default(&["ingressclass.kubernetes.io/is-default-class"]),
            self.spec().text("controller").into(),
            parameters.unwrap_or_else(|| NONE.to_owned()).into(),
            self.age(),
        ]
    }

    pub(super) fn network_policy(&self) -> Vec<Value> {
        let pods = selector(self.spec().part("podSelector"));
        self.plain(&[or(&pods, NONE)])
    }

    pub(super) fn endpoints(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for subset in self.object.list("subsets") {
            let addresses = || subset.list("addresses").iter().map(|address| address.text("ip"));
            if subset.list("ports").is_empty() {
                all.extend(addresses().map(str::to_owned));
            }
            for port in subset.list("ports") {
                let port = port.count("port");
                all.extend(addresses().map(|address| {
                    if address.contains(':') {
                        format!("[{address}]:{port}")
                    } else {
                        format!("{address}:{port}")
                    }
                }));
            }
        }
        let if_none = if self.object.list("subsets").is_empty() { NONE } else { "" };
        vec![first_three(&all, if_none).into(), self.age()]
    }

    pub(super) fn endpoint_slice(&self) -> Vec<Value> {
        let port = |port: &Value| match (port.number("port"), port.given_text("name")) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        };
        let ports: Vec<String> = self.object.list("ports").iter().map(port).collect();
        let addresses: Vec<String> = self
            .object
            .list("endpoints")
            .iter()
            .flat_map(|endpoint| endpoint.texts("addresses"))
            .map(str::to_owned)
            .collect();
        vec![
            self.object.text("addressType").into(),
            or(&first_three(&ports, UNSET), UNSET).into(),
            first_three(&addresses, UNSET).into(),
            self.age(),
        ]
    }
}
