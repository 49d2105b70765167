//! Parameters that are refused, and what is said of them.

use joiner_sim_proxmox::Complaint;

use crate::support::Client;

const UNKNOWN: &str =
    "property is not defined in schema and the schema does not allow additional properties";

#[tokio::test(start_paused = true)]
async fn a_parameter_that_an_endpoint_lacks_is_refused_and_kept() {
    let client = Client::small();
    let problem =
        client.refused("POST /nodes/pve-1/qemu/9001/clone newid=200&nmae=x", "nmae").await;
    assert_eq!(problem, UNKNOWN);
    let endpoint = "POST /nodes/{node}/qemu/{vmid}/clone".to_owned();
    let complaint = Complaint { endpoint, parameter: "nmae".to_owned(), problem };
    assert_eq!(client.cluster.complaints(), [complaint]);
    assert_eq!(client.row(200).await, serde_json::Value::Null);
}

#[tokio::test(start_paused = true)]
async fn values_are_of_their_types() {
    let client = Client::small();
    let check = async |line: &str, parameter: &str, expected: &str| {
        assert_eq!(client.refused(line, parameter).await, expected, "{line}");
    };
    let missing = "property is missing and it is not optional";
    check("POST /nodes/pve-1/qemu/9001/clone full=1", "newid", missing).await;
    let low = "value must have a minimum value of 100";
    check("POST /nodes/pve-1/qemu/9001/clone newid=99", "newid", low).await;
    let high = "value must have a maximum value of 999999999";
    check("GET /cluster/nextid vmid=1000000000", "vmid", high).await;
    let no_integer = "type check ('integer') failed - got 'two'";
    check("POST /nodes/pve-1/qemu/100/config cores=two", "cores", no_integer).await;
    let no_flag = "type check ('boolean') failed - got 'maybe'";
    check("POST /nodes/pve-1/qemu/9001/clone newid=200&full=maybe", "full", no_flag).await;
    let no_type = "value 'vms' does not have a value in the enumeration 'vm, storage, node, sdn'";
    check("GET /cluster/resources type=vms", "type", no_type).await;
    let no_name = "invalid format - value does not look like a valid DNS name";
    check("POST /nodes/pve-1/qemu/9001/clone newid=200&name=a_b", "name", no_name).await;
    let pattern = "value does not match the regex pattern";
    check("PUT /nodes/pve-1/qemu/100/resize disk=scsi0&size=3Gi", "size", pattern).await;
    let key = format!("invalid format - format error\nnet0.brigde: {UNKNOWN}");
    check("POST /nodes/pve-1/qemu/100/config net0=virtio,brigde%3Dvmbr0", "net0", &key).await;
    check("POST /nodes/pve-1/qemu/100/config net32=virtio", "net32", UNKNOWN).await;
    let other = "duplicate parameter (already defined in URI as '9001')";
    check("POST /nodes/pve-1/qemu/9001/clone newid=200&vmid=1", "vmid", other).await;
}

#[tokio::test(start_paused = true)]
async fn flags_have_four_words_each() {
    let client = Client::small();
    for (flag, value) in [("on", 1), ("yes", 1), ("true", 1), ("1", 1), ("off", 0), ("no", 0)] {
        client.done(&format!("POST /nodes/pve-1/qemu/100/config onboot={flag}")).await;
        assert_eq!(client.config(100).await["onboot"], value, "{flag}");
    }
}
