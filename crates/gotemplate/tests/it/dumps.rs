//! Texts as users write them, and dumps of whole objects.

use expect_test::{Expect, expect};
use joiner_gotemplate::MissingKey;

use crate::{
    cases::{self, Outcome},
    data,
};

/// Templates that are also executed by Go.
pub(crate) const SAMPLES: [&str; 6] = [USER_DATA, NETWORK, METADATA, DUMP, DUMP_WIDE, DUMP_JSON];

const USER_DATA: &str = r#"#cloud-config
hostname: {{ .Metadata.Hostname }}
{{- with get .Values "SSHAuthorizedKeys" }}
ssh_authorized_keys:
{{- range (split . ",") }}
- {{ . | quote }}
{{- end }}
{{- end }}
write_files:
- path: /etc/rancher/k3s/config.yaml
  permissions: "0600"
  content: |
    server: {{ get .Values "K3sURL" }}
    token: {{ get .Values "K3sToken" }}
    kubelet-arg: ["provider-id={{ .Metadata.ProviderID }}"]
{{- if gt .Resources.Hugepages2Mi 0 }}
- path: /etc/sysctl.d/99-hugepages.conf
{{- end }}
- path: /etc/kubelet.example.yaml
  content: |
    {{- .Kubernetes.KubeletConfiguration | toYamlPretty | nindent 8 }}
- path: /etc/ca.b64
  content: {{ .Kubernetes.RootCA | b64enc | quote }}
"#;

const NETWORK: &str = r"network:
  version: 2
  ethernets:
{{- range $index, $interface := .Network.Interfaces }}
    {{ .Name }}:
      match: {macaddress: {{ .MacAddr | lower | quote }}}
      dhcp4: {{ .DHCPv4 }}
{{- if ne .MTU 0 }}
      mtu: {{ .MTU }}
{{- end }}
{{- with .Address4 }}
      addresses: {{ toJson . }}
{{- end }}
{{- end }}
";

const METADATA: &str = r"hostname: {{ .Metadata.Hostname }}
instance-id: {{ .Metadata.InstanceID }}
{{- if .Metadata.InstanceType }}
instance-type: {{ .Metadata.InstanceType }}
{{- end }}
availability-zone: {{ .Metadata.Zone }}
";

const DUMP: &str = "{{ . | toYamlPretty }}";
const DUMP_WIDE: &str = "{{ toYaml . }}";
const DUMP_JSON: &str =
    "{{ toPrettyJson .Network }}{{ .Kubernetes.KubeletConfiguration | toJson }}";

#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes values")]
fn check(source: &str, expected: Expect) {
    match cases::outcome_of(source, MissingKey::NoValue, &data::node()) {
        Outcome::Output(output) => expected.assert_eq(&String::from_utf8(output).unwrap()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn user_data_is_rendered() {
    check(
        USER_DATA,
        expect![[r#"
        #cloud-config
        hostname: worker-1
        ssh_authorized_keys:
        - "ssh-ed25519 AAAAC3Nz one"
        - "ssh-ed25519 AAAAC3Nz two"
        write_files:
        - path: /etc/rancher/k3s/config.yaml
          permissions: "0600"
          content: |
            server: https://api.example.com:6443
            token: K10placeholder::node:secret
            kubelet-arg: ["provider-id=proxmox://region-1/100"]
        - path: /etc/kubelet.example.yaml
          content: |
                cpuManagerPolicy: static
                cpuCFSQuota: false
                maxPods: 110
                clusterDNS:
                  - 10.96.0.10
                kubeReserved:
                  cpu: 100m
                  memory: 512Mi
                registerWithTaints:
                  - key: karpenter.sh/unregistered
                    effect: NoExecute
        - path: /etc/ca.b64
          content: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
    "#]],
    );
}

#[test]
fn network_configuration_is_rendered() {
    check(
        NETWORK,
        expect![[r#"
        network:
          version: 2
          ethernets:
            eth0:
              match: {macaddress: "bc:24:11:0a:0b:0c"}
              dhcp4: true
              mtu: 1500
            eth1:
              match: {macaddress: "bc:24:11:0a:0b:0d"}
              dhcp4: false
              addresses: ["10.0.0.5/24"]
    "#]],
    );
}

#[test]
fn the_whole_object_is_dumped_with_keys_in_their_order() {
    check(
        DUMP,
        expect![[r#"
            metadata:
              hostname: worker-1
              instanceid: "100"
              instanceuuid: ""
              instancetype: 2x4
              providerid: proxmox://region-1/100
              region: region-1
              zone: zone-a
              tags:
                - karpenter
                - blue
              nodeclass: ""
            network:
              interfaces:
                - name: eth0
                  mac_address: BC:24:11:0A:0B:0C
                  dhcp4: true
                  mtu: 1500
                - name: eth1
                  mac_address: BC:24:11:0A:0B:0D
                  addresses4:
                    - 10.0.0.5/24
              name_servers:
                - 1.1.1.1
                - 2001:db8::1
            resources:
              cpu: 4
              memory: 8589934592
              hugepages2Mi: 0
            kubernetes:
              rootca: |
                -----BEGIN CERTIFICATE-----
                MIIB
                -----END CERTIFICATE-----
              bootstraptoken: abcdef.0123456789abcdef
              kubeletconfiguration:
                cpuManagerPolicy: static
                cpuCFSQuota: false
                maxPods: 110
                clusterDNS:
                  - 10.96.0.10
                kubeReserved:
                  cpu: 100m
                  memory: 512Mi
                registerWithTaints:
                  - key: karpenter.sh/unregistered
                    effect: NoExecute
            values:
              K3sToken: K10placeholder::node:secret
              K3sURL: https://api.example.com:6443
              SSHAuthorizedKeys: ssh-ed25519 AAAAC3Nz one,ssh-ed25519 AAAAC3Nz two
              settings: mode=fast;empty=;odd"#]],
    );
}

#[test]
fn structs_without_keys_for_json_have_their_go_names_there() {
    check(
        DUMP_JSON,
        expect![[r#"
        {
          "Interfaces": [
            {
              "Name": "eth0",
              "MacAddr": "BC:24:11:0A:0B:0C",
              "DHCPv4": true,
              "DHCPv6": false,
              "Address4": [],
              "Gateway4": "",
              "MTU": 1500
            },
            {
              "Name": "eth1",
              "MacAddr": "BC:24:11:0A:0B:0D",
              "DHCPv4": false,
              "DHCPv6": false,
              "Address4": [
                "10.0.0.5/24"
              ],
              "Gateway4": "",
              "MTU": 0
            }
          ],
          "SearchDomains": null,
          "NameServers": [
            "1.1.1.1",
            "2001:db8::1"
          ]
        }{"CPUManagerPolicy":"static","CPUCFSQuota":false,"MaxPods":110,"ClusterDNS":["10.96.0.10"],"KubeReserved":{"cpu":"100m","memory":"512Mi"},"Taints":[{"key":"karpenter.sh/unregistered","effect":"NoExecute"}]}"#]],
    );
}
