//! Every setting of vSphere, once. Flags and variables are those of its predecessor.

use joiner_settings::settings;

settings! {
    /// How the vCenter is reached, and where instances are kept in it.
    ACCESS:
    VSPHERE_ENDPOINT as "GOVC_URL" "vsphere-endpoint" "ADDRESS" ""
        "The vCenter: a host, with a port and https:// or without; turns the provider on";
    VSPHERE_USERNAME as "GOVC_USERNAME" "vsphere-username" "NAME" ""
        "Who logs in to the vCenter";
    VSPHERE_PASSWORD as "GOVC_PASSWORD" "vsphere-password" "PASSWORD" ""
        "The password for it; better as a variable, since flags can be seen by others";
    VSPHERE_CREDENTIALS_PATH "vsphere-credentials-path" "FOLDER" ""
        "A folder with the files username and password, such as a mounted Secret, instead of the two above; read again at each login";
    VSPHERE_PATH as "VSPHERE_FOLDER" "vsphere-path" "PATH" ""
        "The folder that instances are kept in, below the datacenter's folder of VMs";
    VSPHERE_DC "vsphere-dc" "NAME" ""
        "The datacenter of classes without a dcSelector; without either, the only one there is";
    VSPHERE_INSECURE as "GOVC_INSECURE" "vsphere-insecure" "BOOL" "false"
        "Do not check the vCenter's certificate";
    VSPHERE_TLS_CA_CERTS as "GOVC_TLS_CA_CERTS" "vsphere-tls-ca-certs" "FILES" ""
        "Certificates to trust besides the system's: PEM files, separated by ':'";
    VSPHERE_THUMBPRINT "vsphere-thumbprint" "HASH" ""
        "The one certificate to trust: its SHA-1 or SHA-256, as 20 or 32 hex numbers separated by ':'";
}

settings! {
    /// What instances cost and hide, instead of what is set for all clouds.
    COSTS:
    VSPHERE_VM_MEMORY_OVERHEAD_PERCENT "vsphere-vm-memory-overhead-percent" "SHARE" ""
        "Share of a VM's memory that its guest does not see, for vSphere alone; without it that of all clouds";
}
