//! What guests find on their hardware.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use joiner_sim_proxmox::GuestEvent;

use crate::support::{Client, PROVIDER};

const SECTOR: usize = 2048;

/// A directory record of a file, with a Rock Ridge name.
fn record(name: &str, rock_ridge: &str, sector: u32, length: u32) -> Vec<u8> {
    let mut record = vec![0_u8; 33];
    record[2..6].copy_from_slice(&sector.to_le_bytes());
    record[10..14].copy_from_slice(&length.to_le_bytes());
    record[32] = name.len() as u8;
    record.extend(name.as_bytes());
    if name.len().is_multiple_of(2) {
        record.push(0);
    }
    record.extend([b'N', b'M', rock_ridge.len() as u8 + 5, 1, 0]);
    record.extend(rock_ridge.as_bytes());
    record[0] = record.len() as u8;
    record
}

/// The smallest image that has one file.
fn image(text: &str) -> Vec<u8> {
    let mut image = vec![0_u8; 20 * SECTOR];
    let primary = 16 * SECTOR;
    image[primary] = 1;
    image[primary + 1..primary + 6].copy_from_slice(b"CD001");
    image[primary + 40..primary + 72].copy_from_slice(format!("{:32}", "cidata").as_bytes());
    let mut root = record("\0", "", 18, SECTOR as u32);
    root.truncate(34);
    image[primary + 156..primary + 190].copy_from_slice(&root);
    let end = 17 * SECTOR;
    image[end] = 255;
    image[end + 1..end + 6].copy_from_slice(b"CD001");
    let file = record("USERDATA.;1", "user-data", 19, text.len() as u32);
    image[18 * SECTOR..18 * SECTOR + file.len()].copy_from_slice(&file);
    image[19 * SECTOR..19 * SECTOR + text.len()].copy_from_slice(text.as_bytes());
    image
}

#[tokio::test(start_paused = true)]
async fn a_guest_reads_the_image_in_its_drive() {
    let client = Client::small();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&seen);
    client.cluster.on_guest(move |event| events.lock().unwrap().push(event.clone()));
    client.cloned(200).await;
    let mut body = b"--mark\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n\
        --mark\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"a.iso\"\r\n\r\n"
        .to_vec();
    body.extend(image("#cloud-config\n"));
    body.extend(b"\r\n--mark--\r\n");
    let request = Request::builder()
        .method("POST")
        .uri("/api2/json/nodes/pve-1/storage/local/upload")
        .header("authorization", format!("PVEAPIToken={PROVIDER}"))
        .header("content-type", "multipart/form-data; boundary=mark")
        .body(Bytes::from(body))
        .unwrap();
    let upid = client.send(request).await.unwrap().ok();
    assert_eq!(client.wait(upid.as_str().unwrap()).await, "OK");
    client.done("POST /nodes/pve-1/qemu/200/config ide2=local:iso/a.iso,media%3Dcdrom").await;
    client.done("POST /nodes/pve-1/qemu/200/status/start").await;
    client.done("POST /nodes/pve-1/qemu/200/status/stop").await;
    let seen = seen.lock().unwrap();
    let [GuestEvent::Started(guest), GuestEvent::Stopped { vmid: 200, .. }] = &seen[..] else {
        unreachable!("{seen:?}")
    };
    assert_eq!((guest.name.as_str(), guest.cpus, guest.macs.len()), ("web-200", 2, 1));
    assert_eq!(guest.no_cloud().unwrap()["user-data"], b"#cloud-config\n");
}
