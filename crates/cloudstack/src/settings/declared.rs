//! Every setting of CloudStack, once. Flags and variables are those of its predecessor, and more.

use joiner_settings::settings;

settings! {
    /// How the API is reached, and how instances are made there.
    ACCESS:
    CLOUDSTACK_API_URL "cloudstack-api-url" "URL" ""
        "CloudStack's API, such as https://cloud.example.org/client/api, which is also the path where none is given; turns the provider on";
    CLOUDSTACK_API_KEY "cloudstack-api-key" "KEY" ""
        "The API key of the account that instances belong to";
    CLOUDSTACK_API_KEY_FILE "cloudstack-api-key-file" "FILE" ""
        "A file with the API key, instead of the key itself; read again when it changes";
    CLOUDSTACK_SECRET_KEY "cloudstack-secret-key" "KEY" ""
        "The secret key for it; better as a variable or a file, since flags can be seen by others";
    CLOUDSTACK_SECRET_KEY_FILE "cloudstack-secret-key-file" "FILE" ""
        "A file with the secret key, instead of the key itself; read again when it changes";
    CLOUDSTACK_VERIFY_SSL "cloudstack-verify-ssl" "BOOL" "true"
        "Check the server's certificate";
    CLOUDSTACK_CA_FILE "cloudstack-ca-file" "FILE" ""
        "Certificates to trust besides the system's, as PEM";
    CLOUDSTACK_PROJECT_ID "cloudstack-project-id" "ID" ""
        "The project that instances belong to, where a class names none";
    CLOUDSTACK_ACCOUNT "cloudstack-account" "NAME" ""
        "The account that instances belong to, instead of the key's own; for keys of administrators, with the domain";
    CLOUDSTACK_DOMAIN_ID "cloudstack-domain-id" "ID" ""
        "The id of that account's domain";
    CLOUDSTACK_TIMEOUT "cloudstack-timeout" "DURATION" "60s"
        "How long one answer of the API may take";
    CLOUDSTACK_MAX_RPS "cloudstack-max-rps" "NUMBER" "20"
        "How many requests may leave in a second";
    CLOUDSTACK_MAX_INFLIGHT "cloudstack-max-inflight" "NUMBER" "10"
        "How many requests may be under way at once";
    CLOUDSTACK_EXPUNGE "cloudstack-expunge" "WHEN" "auto"
        "Whether removed instances are expunged at once: auto (where the key may), true or false";
    CLOUDSTACK_PROVIDER_ID_FORMAT "cloudstack-provider-id-format" "FORMAT" "auto"
        "How provider ids are written: auto (as on the nodes that are there), capi, ccm or legacy";
    CLOUDSTACK_VM_NAME_PREFIX "cloudstack-vm-name-prefix" "TEXT" "karpenter-"
        "How names of instances begin; the name of the NodeClaim follows";
    CLOUDSTACK_LAUNCH_WAIT "cloudstack-launch-wait" "DURATION" "45s"
        "How long a creation waits for its job; one that fails within this time is tried in another way at once";
}

settings! {
    /// What instances cost and hide, instead of what is set for all clouds.
    COSTS:
    CLOUDSTACK_VM_MEMORY_OVERHEAD_PERCENT "cloudstack-vm-memory-overhead-percent" "SHARE" ""
        "Share of a VM's memory that its guest does not see, for CloudStack alone; without it that of all clouds";
    CLOUDSTACK_PRICE_PER_CPU "cloudstack-price-per-cpu" "PRICE" ""
        "Price of a vCPU hour, for CloudStack alone; without it that of all clouds";
    CLOUDSTACK_PRICE_PER_GIB "cloudstack-price-per-gib" "PRICE" ""
        "Price of an hour of a GiB of memory, likewise";
    CLOUDSTACK_GPU_RESOURCES "cloudstack-gpu-resources" "CARD=RESOURCE" ""
        "What nodes call graphics cards, by a part of CloudStack's name for them, separated by commas: T4=example.com/t4; cards of NVIDIA, AMD and Intel are known";
}
