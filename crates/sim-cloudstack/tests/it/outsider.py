"""Drives a CloudStack server with the package cs: sign, page, deploy, wait, tag, destroy.

Usage: outsider.py ENDPOINT. Every assertion that fails ends the program with an error.
"""

import sys

from cs import CloudStack, CloudStackApiException


def client(endpoint, account, method="post", secret=None):
    return CloudStack(
        endpoint=endpoint,
        key=f"{account}-key",
        secret=secret or f"{account}-secret",
        method=method,
        poll_interval=0.05,
        fetch_result=True,
        trace=False,
    )


def refused(code, call, **parameters):
    """The error of a call that is refused with a code."""
    try:
        call(**parameters)
    except CloudStackApiException as refusal:
        assert refusal.error["errorcode"] == code, refusal
        return refusal.error
    raise AssertionError(f"{call} {parameters} was not refused")


def named(rows, name):
    return next(row["id"] for row in rows if row["name"] == name)


def main(endpoint):
    user, admin = client(endpoint, "user"), client(endpoint, "admin")
    reader = client(endpoint, "user", method="get")

    # Signatures: both methods, characters that are encoded in different ways, and a wrong key.
    assert reader.listZones(name="zone-1")["count"] == 1
    assert reader.listVirtualMachines(keyword="a+b *é/=") == {}
    refused(401, client(endpoint, "user", secret="wrong").listZones)
    refused(432, user.listHosts)

    # Pages: the package asks for as many as there are.
    pages = {"fetch_list": True, "pagesize": 3, "listall": True}
    offerings = reader.listServiceOfferings(**pages)
    assert len(offerings) == reader.listServiceOfferings()["count"] > 3, offerings
    refused(431, reader.listZones, page=1, pagesize=4)

    deployment = {
        "zoneid": named(reader.listZones()["zone"], "zone-1"),
        "serviceofferingid": named(offerings, "small"),
        "templateid": named(
            reader.listTemplates(templatefilter="self", fetch_list=True, pagesize=3), "ubuntu-2404"
        ),
        "networkids": [named(reader.listNetworks(fetch_list=True, pagesize=3), "nodes")],
        "userdata": "I2Nsb3VkLWNvbmZpZwo=",
        "details": {"owner": "outsider", "karpenter.sh/nodeclaim": "a"},
    }
    vm = user.deployVirtualMachine(name="web-1", **deployment)["virtualmachine"]
    assert vm["state"] == "Running", vm
    assert vm["details"]["karpenter.sh/nodeclaim"] == "a", vm
    refused(431, user.deployVirtualMachine, name="web-1", **deployment)

    tag = {"resourcetype": "UserVm", "resourceids": [vm["id"]]}
    tags = [{"key": "kubernetes.io/cluster/my cluster", "value": "owned"}]
    assert user.createTags(tags=tags, **tag)["success"]
    refused(530, user.createTags, tags=tags, **tag)
    found = reader.listVirtualMachines(tags=tags, listall=True)
    assert [row["id"] for row in found["virtualmachine"]] == [vm["id"]], found
    assert reader.listTags(resourceid=vm["id"])["count"] == 1
    assert user.deleteTags(tags=tags, **tag)["success"]
    assert reader.listVirtualMachines(tags=tags) == {}

    refused(530, user.destroyVirtualMachine, id=vm["id"], expunge=True)
    gone = user.destroyVirtualMachine(id=vm["id"])["virtualmachine"]
    assert gone["state"] == "Destroyed", gone
    assert reader.listVirtualMachines(id=vm["id"]) == {}
    assert admin.expungeVirtualMachine(id=vm["id"])["success"]


if __name__ == "__main__":
    main(sys.argv[1])
