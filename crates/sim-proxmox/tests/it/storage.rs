//! Storages: uploads, downloads, what is on them.

use bytes::Bytes;
use http::Request;
use serde_json::json;

use crate::support::{Client, PROVIDER, Reply};

const NOBLE: &str = "/nodes/pve-1/storage/local/download-url content=import&filename=noble.qcow2\
                     &url=https://images.example/noble.img";

/// The SHA-256 of what is behind the URL.
const RIGHT_SUM: &str = "b802c4085f2a160c1ccd9355c2d7f040c4afdb45327b9095f5dd785b3920b139";

async fn upload(client: &Client, storage: &str, parts: &[(&str, &str)]) -> Reply {
    let mut body = String::new();
    for (disposition, content) in parts {
        let part = [
            "--mark\r\nContent-Disposition: form-data; ",
            disposition,
            "\r\n\r\n",
            content,
            "\r\n",
        ];
        body.extend(part);
    }
    body.push_str("--mark--\r\n");
    let request = Request::builder()
        .method("POST")
        .uri(format!("/api2/json/nodes/pve-1/storage/{storage}/upload"))
        .header("authorization", format!("PVEAPIToken={PROVIDER}"))
        .header("content-type", "multipart/form-data; boundary=mark")
        .body(Bytes::from(body))
        .unwrap();
    client.send(request).await.unwrap()
}

const CONTENT: (&str, &str) = ("name=\"content\"", "iso");
const FILE: (&str, &str) = ("name=\"filename\"; filename=\"a.iso\"", "the image");

#[tokio::test(start_paused = true)]
async fn an_image_is_uploaded_listed_and_deleted() {
    let client = Client::small();
    let upid = upload(&client, "local", &[CONTENT, FILE]).await.ok();
    assert!(upid.as_str().unwrap().contains(":imgcopy::"), "{upid}");
    assert_eq!(client.wait(upid.as_str().unwrap()).await, "OK");
    let rows = client.call("GET /nodes/pve-1/storage/local/content content=iso").await.ok();
    assert_eq!((&rows[0]["volid"], &rows[0]["size"]), (&json!("local:iso/a.iso"), &json!(9)));
    assert_eq!(client.call("GET /nodes/pve-2/storage/local/content").await.ok(), json!([]));
    client.done("DELETE /nodes/pve-1/storage/local/content/iso/a.iso").await;
    let line = "DELETE /nodes/pve-1/storage/local/content/local%3Aiso%2Fa.iso delay=5";
    assert_eq!(client.call(line).await.refusal(), (500, "volume 'local:iso/a.iso' does not exist"));
}

#[tokio::test(start_paused = true)]
async fn a_form_has_its_fields_in_order_and_one_name_for_the_file() {
    let client = Client::small();
    let sum = ("name=\"checksum\"", "00");
    let algorithm = ("name=\"checksum-algorithm\"", "sha256");
    let check = async |storage: &str, parts: &[(&str, &str)], status: u16, part: &str| {
        let reply = upload(&client, storage, parts).await;
        let (found, text) = reply.refusal();
        assert_eq!(found, status, "{parts:?}: {text}");
        assert!(text.contains(part), "{parts:?}: {text}");
    };
    check("local", &[CONTENT, sum, algorithm, FILE], 500, "unexpected field").await;
    let named = ("name=\"file\"; filename=\"a.iso\"", "the image");
    check("local", &[CONTENT, named], 500, "wrong field name").await;
    check("local", &[CONTENT, algorithm, sum, FILE], 500, "checksum mismatch").await;
    check("local-lvm", &[CONTENT, FILE], 500, "can't upload to storage type 'lvmthin'").await;
    let text = ("name=\"filename\"; filename=\"a.txt\"", "the image");
    check("local", &[CONTENT, text], 400, "Parameter verification failed.").await;
}

#[tokio::test(start_paused = true)]
async fn a_download_is_checked_and_overwrites_nothing() {
    let client = Client::small();
    let sum = "checksum-algorithm=sha256&checksum=";
    let status = client.task(&format!("POST {NOBLE}&{sum}00")).await;
    assert!(status.starts_with("checksum mismatch"), "{status}");
    client.done(&format!("POST {NOBLE}")).await;
    let again = client.task(&format!("POST {NOBLE}")).await;
    assert_eq!(again, "refusing to override existing file 'noble.qcow2'");
    client.done(&format!("POST {NOBLE}&{sum}{RIGHT_SUM}")).await;
    let gone = NOBLE.replace("noble.img", "gone.img").replace("noble.qcow2", "gone.qcow2");
    assert_eq!(client.task(&format!("POST {gone}")).await, "download failed: 404 Not Found");
    client
        .refused(&format!("POST {}", NOBLE.replace("noble.qcow2", "noble.img")), "filename")
        .await;
    client.refused(&format!("POST {NOBLE}&checksum=00"), "checksum").await;
}

#[tokio::test(start_paused = true)]
async fn storages_tell_what_they_hold_and_what_is_free() {
    let client = Client::small();
    client.cluster.fill("local", "pve-1", 1 << 30).unwrap();
    let rows = client.call("GET /nodes/pve-1/storage content=iso").await.ok();
    assert_eq!((&rows[0]["storage"], &rows[0]["avail"]), (&json!("local"), &json!(1_u64 << 30)));
    assert_eq!((&rows[1]["storage"], &rows[1]["shared"]), (&json!("shared"), &json!(1)));
    client.cluster.set_storage("local", false).unwrap();
    let status = client.call("GET /nodes/pve-1/storage/local/status").await;
    assert_eq!(status.refusal(), (500, "storage 'local' is not online"));
    let none = client.call("GET /nodes/pve-1/storage/none/status").await;
    assert_eq!(none.refusal(), (500, "storage 'none' does not exist"));
}
