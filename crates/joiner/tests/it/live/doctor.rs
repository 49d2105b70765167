//! `joiner doctor vsphere` on a vCenter and a cluster that are there.

use joiner_sim_vcenter::{Inventory, VCenter};

use super::*;

/// A cluster with the objects of the first steps on vSphere, and a vCenter that suits them.
struct Site {
    cluster: Cluster,
    vcenter: VCenter,
    serving: joiner_sim_vcenter::Serving,
}

impl Site {
    async fn new() -> Self {
        let cluster = Cluster::empty().await;
        for object in example("vsphere-start") {
            create(&cluster.lab, object);
        }
        let vcenter = VCenter::new(Inventory::small(), Clock::wall()).unwrap();
        let serving = vcenter.serve(true).await.unwrap();
        Self { cluster, vcenter, serving }
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let flags = [
            "doctor",
            "vsphere",
            "--cluster-name=prod",
            "--vsphere-username=administrator@vsphere.local",
            "--vsphere-password=secret",
            "--vsphere-path=k8s",
        ];
        let address = format!("--vsphere-endpoint={}", self.serving.address());
        let flags = flags.iter().chain(more).map(ToString::to_string);
        flags.chain([address]).collect()
    }

    fn thumbprint(&self) -> String {
        format!("--vsphere-thumbprint={}", self.serving.thumbprint().unwrap())
    }

    /// What the program says, whatever the port is.
    async fn told(&self, more: &[&str]) -> String {
        let run = program(self.args(more)).await;
        run.to_string().replace(&self.serving.address().to_string(), "VCENTER")
    }
}

#[tokio::test]
async fn a_vcenter_and_classes_of_a_cluster_are_looked_at_and_nothing_is_changed() {
    let site = Site::new().await;
    let (before, start) = (site.vcenter.picture(), site.cluster.lab.history().entries().len());
    let config = site.cluster.path("config");
    let told = site.told(&[&site.thumbprint(), "--kubeconfig", &config]).await;
    expect![[r#"
        VCENTER
              CHECK       FINDING
          ok  address     answers
          ok  version     VMware vCenter Server 8.0.3 build-24022515
          ok  login       the account is known
          ok  clock       differs by 0 s
          ok  datacenter  /dc1
          ok  folder      "k8s" is there
          ok  tags        answers

        cluster "prod"
              CHECK      FINDING
          ok  instances  0 belong to this cluster
          ok  orphans    every instance has its NodeClaim

        VsphereNodeClass "general"
                       CHECK       FINDING
          ok           class       says what can be meant
          ok           userData    5086 bytes with an example of what instances join with
          not checked  join        no controller has looked at the class yet; its condition BootstrapReady says it once joiner run is there
          ok           compute     leads to /dc1/host/cluster1
          ok           datastore   leads to /dc1/datastore/datastore1
          ok           network     leads to /dc1/network/workers
          ok           template    leads to /dc1/vm/templates/ubuntu-2404
          ok           folder      leads to /dc1/vm/k8s
          ok           privileges  the account has all that are needed
          ok           tags        instances can carry all that they are to carry
          ok           template    /dc1/vm/templates/ubuntu-2404: 20 GiB, ubuntu64Guest, vmx-19, efi; clones get disk.enableUUID
          ok           snapshot    instances are linked clones of a snapshot of /dc1/vm/templates/ubuntu-2404
          ok           datastore   /dc1/datastore/datastore1 has 1995 of 2000 GiB free, an instance takes about 4 GiB
          ok           network     /dc1/network/workers can be reached
          ok           hosts       3 of 3 hosts of /dc1/host/cluster1 can take instances

        1 not checked, 23 fine.
    "#]].assert_eq(&told);
    assert_eq!(site.vcenter.picture(), before);
    assert_eq!(site.vcenter.sessions(), 0);
    let asked: Vec<String> = site
        .cluster
        .calls_since(start)
        .into_iter()
        .map(|(verb, _, plural)| format!("{verb} {plural}"))
        .collect();
    assert_eq!(asked, ["list nodeclaims", "list vspherenodeclasses"]);
}

#[tokio::test]
async fn classes_of_files_are_looked_at_without_a_cluster() {
    let site = Site::new().await;
    let class = ["-f", "examples/vsphere-start/class.yaml"];
    let run = program(site.args(&[&site.thumbprint(), "-o", "json", class[0], class[1]])).await;
    assert_eq!(run.code, Some(0), "{run}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let summary = &report["summary"];
    assert_eq!((&summary["problems"], &summary["notChecked"]), (&json!(0), &json!(2)), "{report}");
    let first = &report["findings"][0];
    assert_eq!(first["check"], "address");
    assert_eq!(first["severity"], "ok");
    assert_eq!(first["object"], site.serving.address().to_string());
}

#[tokio::test]
async fn a_certificate_that_is_not_the_one_is_told_with_the_one_that_was_shown() {
    let site = Site::new().await;
    let wrong = format!("--vsphere-thumbprint={}", ["ab"; 32].join(":"));
    let run = program(site.args(&[&wrong])).await;
    assert_eq!(run.code, Some(1), "{run}");
    let shown = site.serving.thumbprint().unwrap();
    assert!(run.stdout.contains(&shown) && run.stdout.contains("VSPHERE_THUMBPRINT"), "{run}");
    assert!(run.stdout.contains("no class is given (-f), and no cluster is read"), "{run}");
    assert_eq!(site.vcenter.count("Login"), 0, "the password is not told to strangers");
}

#[tokio::test]
async fn a_missing_datastore_is_a_problem_with_a_remedy() {
    let site = Site::new().await;
    let class = include_str!("../../../../../examples/vsphere-start/class.yaml");
    let path = site.cluster.path("class.yaml");
    fs::write(&path, class.replace("datastore1", "gone")).unwrap();
    let told = site.told(&[&site.thumbprint(), "-f", &path]).await;
    let problems: Vec<&str> = told.lines().filter(|line| line.contains("problem")).collect();
    expect![[r#"
          problem      datastore   spec.datastoreSelector: there is no datastore of the name or at the path "gone" that the account can see
        1 problem, 6 not checked, 14 fine."#]].assert_eq(&problems.join("\n"));
}

#[tokio::test]
async fn a_text_in_a_secret_of_the_cluster_is_read_for_the_class_that_refers_to_it() {
    let site = Site::new().await;
    let mut class = example("vsphere-start")
        .into_iter()
        .find(|object| object["kind"] == "VsphereNodeClass")
        .unwrap();
    let told = async || {
        let config = site.cluster.path("config");
        let told = site.told(&[&site.thumbprint(), "--kubeconfig", &config]).await;
        let of_text = told.lines().filter(|line| line.contains(" userData "));
        of_text.skip(1).map(str::trim).collect::<Vec<_>>().join("\n")
    };
    class["metadata"]["name"] = json!("of-secret");
    class["spec"]["userData"] = json!({"secretRef": {"name": "texts", "namespace": "default"}});
    create(&site.cluster.lab, class);
    expect!["problem      userData    spec.userData.secretRef: Secret default/texts is not there"]
        .assert_eq(&told().await);
    let text = json!({"userData": "cGFja2FnZXM6IFtqcV0="});
    create(
        &site.cluster.lab,
        json!({
            "apiVersion": "v1", "kind": "Secret", "data": text,
            "metadata": {"name": "texts", "namespace": "default"},
        }),
    );
    expect!["ok           userData    5101 bytes with an example of what instances join with"]
        .assert_eq(&told().await);
}
