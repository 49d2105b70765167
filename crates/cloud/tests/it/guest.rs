//! A guest that does what its text says: it writes the files and runs the commands, in a folder of
//! its own and with stand-ins for the programs of an image.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::PathBuf,
    process::Command,
};

use joiner_cloud::bootstrap::{Distro, Inputs, ProviderId, Proxy, Secret};
use serde_json::Value;
use tempfile::TempDir;

use crate::shared::{TOKEN, ca, cloud_config, instance, yaml};

/// Folders of the guest that scripts may look into.
const FOLDERS: [&str; 5] = ["/run/", "/etc/", "/var/", "/sys/", "/usr/local/lib/"];

struct Guest {
    root: TempDir,
    commands: Vec<Vec<String>>,
}

impl Guest {
    /// An instance after cloud-init has written its files.
    fn boot(inputs: &Inputs) -> Self {
        let config = cloud_config(inputs);
        let root = TempDir::new().unwrap();
        let words = |command: &Value| -> Vec<String> {
            command.as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_owned()).collect()
        };
        let commands = config["runcmd"].as_array().unwrap().iter().map(words).collect();
        let guest = Self { root, commands };
        for file in config["write_files"].as_array().unwrap() {
            let content = file["content"].as_str().unwrap();
            let executable = ["0700", "0755"].contains(&file["permissions"].as_str().unwrap());
            let content = if executable { guest.inside(content) } else { content.to_owned() };
            let path = guest.write(file["path"].as_str().unwrap(), &content);
            let mode = u32::from_str_radix(file["permissions"].as_str().unwrap(), 8).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        guest.write(
            "/sys/class/dmi/id/product_serial",
            "VMware-42 1d 5f 2a 33 0e 4b 7c-9a 10 6b 2f 1e 8d 44 c7\n",
        );
        // Nobody waits in a test.
        guest.program("sleep", "");
        guest.program("timeout", "shift\nexec \"$@\"");
        guest
    }

    /// A text whose paths lead into the guest's folder.
    fn inside(&self, text: &str) -> String {
        let root = self.root.path().to_str().unwrap();
        FOLDERS
            .iter()
            .fold(text.to_owned(), |text, folder| text.replace(folder, &format!("{root}{folder}")))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// A stand-in for a program; its calls are noted with the lines that it is given.
    fn program(&self, name: &str, body: &str) {
        let body = self.inside(&body.replace("ROOT", self.root.path().to_str().unwrap()));
        let calls = self.path("calls");
        let note = format!("echo \"{name} $*\" >>'{}'", calls.display());
        let note = if ["sleep", "timeout"].contains(&name) { "" } else { &note };
        let path = self.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{note}\n{body}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the commands as cloud-init does: all of them, whatever becomes of each. Returns
    /// whether the last one succeeded, and what was complained about.
    fn run(&self) -> (bool, String) {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut complaints = String::new();
        let mut succeeded = false;
        for words in &self.commands {
            let words: Vec<_> = words.iter().map(|word| self.inside(word)).collect();
            let output = Command::new(&words[0])
                .args(&words[1..])
                .env_clear()
                .env("PATH", &path)
                .output()
                .expect("there is a shell");
            succeeded = output.status.success();
            complaints += &String::from_utf8_lossy(&output.stderr);
        }
        (succeeded, complaints)
    }

    /// A script that notes what it is told by its environment.
    fn installer(&self, path: &str) {
        let root = self.root.path().to_str().unwrap();
        self.write(path, &format!("env | grep -E '^(INSTALL|HTTP)' | sort >>{root}/environment\n"));
    }

    /// The calls of stand-ins so far, without the guest's folder in them.
    fn calls(&self) -> Vec<String> {
        let root = self.root.path().to_str().unwrap();
        self.read("calls").replace(root, "").lines().map(str::to_owned).collect()
    }

    fn joined(&self) -> bool {
        self.path("/var/lib/joiner/joined").exists()
    }
}

const KUBEADM_JOIN: &str = "kubeadm join --config /run/joiner/kubeadm-join.yaml";

/// A guest with a container runtime, and a kubeadm that keeps what it is given.
fn kubeadm_guest(inputs: &Inputs) -> (Guest, UnixListener) {
    let guest = Guest::boot(inputs);
    guest.program("kubeadm", "[ \"$1\" = join ] && cp \"$3\" ROOT/used.yaml");
    fs::create_dir_all(guest.path("/run/containerd")).unwrap();
    let socket = UnixListener::bind(guest.path("/run/containerd/containerd.sock")).unwrap();
    (guest, socket)
}

#[test]
fn a_guest_joins_by_kubeadm_once() {
    let (guest, _runtime) = kubeadm_guest(&instance(Distro::Kubeadm));
    assert_eq!(guest.run(), (true, String::new()));
    assert_eq!(guest.calls(), [KUBEADM_JOIN]);
    let used = yaml(&guest.read("used.yaml"));
    let discovery = &used["discovery"]["bootstrapToken"];
    assert_eq!(discovery["token"], TOKEN);
    assert_eq!(discovery["caCertHashes"][0], ca().kubeadm_hashes()[0]);
    let id = &used["nodeRegistration"]["kubeletExtraArgs"][0];
    assert_eq!(id["value"], "vsphere://421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7");
    // What has a token in it is gone, and a second run has nothing to do.
    assert!(guest.joined());
    assert!(!guest.path("/run/joiner").exists());
    assert_eq!(guest.run(), (true, String::new()));
    assert_eq!(guest.calls().len(), 1);
}

#[test]
fn a_join_that_got_halfway_is_cleaned_up_before_the_next() {
    let (guest, _runtime) = kubeadm_guest(&instance(Distro::Kubeadm));
    guest.program(
        "kubeadm",
        "[ \"$1\" = reset ] && exit 0\n\
         n=$(($(cat ROOT/n 2>/dev/null || echo 0) + 1)); echo $n >ROOT/n\n\
         [ $n = 2 ] && mkdir -p /etc/kubernetes && touch /etc/kubernetes/kubelet.conf\n\
         [ $n = 4 ]",
    );
    assert!(guest.run().0);
    let reset = "kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock";
    let expected = [KUBEADM_JOIN, KUBEADM_JOIN, reset, KUBEADM_JOIN, reset, KUBEADM_JOIN];
    assert_eq!(guest.calls(), expected);
}

#[test]
fn a_join_that_never_succeeds_ends_and_says_so() {
    let (guest, _runtime) = kubeadm_guest(&instance(Distro::Kubeadm));
    guest.program("kubeadm", "exit 1");
    let (succeeded, complaints) = guest.run();
    assert!(!succeeded && !guest.joined());
    assert_eq!(guest.calls().len(), 10);
    let last = complaints.lines().last().unwrap();
    assert!(last.starts_with("joiner: kubeadm join did not succeed"), "{complaints}");
}

#[test]
fn without_a_runtime_a_guest_waits_and_then_says_so() {
    let guest = Guest::boot(&instance(Distro::Kubeadm));
    guest.program("kubeadm", "");
    let (succeeded, complaints) = guest.run();
    assert!(!succeeded);
    assert!(complaints.contains("there was no container runtime at"), "{complaints}");
    assert_eq!(guest.calls(), Vec::<String>::new());
}

#[test]
fn a_guest_that_does_not_know_itself_does_not_join() {
    let (guest, _runtime) = kubeadm_guest(&instance(Distro::Kubeadm));
    guest.write("/sys/class/dmi/id/product_serial", "0\n");
    let (succeeded, complaints) = guest.run();
    assert!(!succeeded);
    assert!(complaints.contains("is no serial number of a VMware instance: 0"), "{complaints}");
    assert!(complaints.contains("has no provider id yet"), "{complaints}");
    assert_eq!(guest.calls(), Vec::<String>::new());
}

#[test]
fn a_guest_whose_file_is_gone_says_that_it_is_to_be_replaced() {
    let mut inputs = instance(Distro::Kubeadm);
    inputs.provider_id = ProviderId::Cloud;
    let (guest, _runtime) = kubeadm_guest(&inputs);
    fs::remove_file(guest.path("/run/joiner/kubeadm-join.yaml")).unwrap();
    let (succeeded, complaints) = guest.run();
    assert!(!succeeded);
    assert!(complaints.contains("was rebooted before it had joined"), "{complaints}");
}

#[test]
fn a_guest_installs_k3s_and_joins() {
    let mut inputs = instance(Distro::K3s);
    inputs.proxy =
        Some(Proxy { http: Some(Secret::from("http://u:p%40@proxy:3128")), ..Proxy::default() });
    let guest = Guest::boot(&inputs);
    guest.installer("/var/fetched.sh");
    guest
        .program("curl", "while [ \"$1\" != --output ]; do shift; done; cp /var/fetched.sh \"$2\"");
    assert_eq!(guest.run(), (true, String::new()));
    assert!(guest.calls()[0].ends_with("--output /run/joiner/install.sh https://get.k3s.io"));
    assert_eq!(
        guest.read("environment"),
        "HTTP_PROXY=http://u:p%40@proxy:3128\nINSTALL_K3S_EXEC=agent\n\
         INSTALL_K3S_VERSION=v1.33.4+k3s1\n"
    );
    let drop_in = guest.read("/etc/rancher/k3s/config.yaml.d/60-joiner-provider-id.yaml");
    let id = "provider-id=vsphere://421d5f2a-330e-4b7c-9a10-6b2f1e8d44c7";
    assert_eq!(yaml(&drop_in)["kubelet-arg+"][0], id);
    assert!(guest.joined());
    assert!(!guest.path("/run/joiner").exists());
}

#[test]
fn k3s_of_the_image_is_not_fetched_again() {
    let mut inputs = instance(Distro::K3s);
    inputs.install.script = Some("/var/install.sh".to_owned());
    let guest = Guest::boot(&inputs);
    guest.installer("/var/install.sh");
    guest.program("k3s", "echo 'k3s version v1.33.4+k3s1 (abc)'");
    assert!(guest.run().0);
    assert!(guest.read("environment").contains("INSTALL_K3S_SKIP_DOWNLOAD=true\n"));
}

#[test]
fn rke2_of_an_image_is_installed_from_its_artifacts() {
    let mut inputs = instance(Distro::Rke2Airgapped);
    inputs.provider_id = ProviderId::Cloud;
    inputs.install.script = Some("/var/install.sh".to_owned());
    let guest = Guest::boot(&inputs);
    guest.program("systemctl", "");
    let (succeeded, complaints) = guest.run();
    assert!(!succeeded && complaints.contains("in this image"), "{complaints}");
    guest.installer("/var/install.sh");
    assert!(guest.run().0);
    let expected = "INSTALL_RKE2_ARTIFACT_PATH=/opt/rke2-artifacts\nINSTALL_RKE2_TYPE=agent\n";
    assert_eq!(guest.read("environment"), expected);
    assert_eq!(guest.calls(), ["systemctl enable --now rke2-agent.service"]);
}

#[test]
fn rke2_that_is_installed_already_only_starts() {
    let mut inputs = instance(Distro::Rke2);
    inputs.provider_id = ProviderId::Cloud;
    let guest = Guest::boot(&inputs);
    guest.program("systemctl", "");
    guest.program("rke2", "echo 'rke2 version v1.33.4+rke2r1 (abc)'");
    assert!(guest.run().0);
    let calls = ["rke2 --version", "systemctl enable --now rke2-agent.service"];
    assert_eq!(guest.calls(), calls);
}

#[test]
fn an_agent_without_its_provider_id_does_not_start() {
    let guest = Guest::boot(&instance(Distro::Rke2));
    guest.write("/sys/class/dmi/id/product_serial", "0\n");
    let (succeeded, complaints) = guest.run();
    assert!(!succeeded);
    assert!(complaints.contains("so the provider id is unknown"), "{complaints}");
}
