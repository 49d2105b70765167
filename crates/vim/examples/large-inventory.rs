//! How long a list of many instances takes, and how much memory. The client's share alone, against
//! a server in the process that writes its answers as they are asked for:
//!
//!     cargo run --release -p joiner-vim --example large-inventory -- 5000
//!
//! Or all of it, against a vCenter that is there; nothing is changed in it:
//!
//!     GOVC_URL=… GOVC_USERNAME=… GOVC_PASSWORD=… \
//!         cargo run --release -p joiner-vim --example large-inventory

#![expect(clippy::print_stdout, reason = "it is made to print")]

use std::{env, error::Error, fmt::Write as _, fs, ops::Range, sync::Arc, time::Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use joiner_clock::Clock;
use joiner_vim::{
    Credentials, Endpoint, Https, TlsSettings, Transport, Vim, VimSettings,
    transport::TransportError,
};

/// What a provider reads of each instance.
const PATHS: [&str; 16] = [
    "name",
    "config.uuid",
    "config.instanceUuid",
    "config.template",
    "config.annotation",
    "config.createDate",
    "config.hardware.numCPU",
    "config.hardware.memoryMB",
    "runtime.powerState",
    "runtime.connectionState",
    "runtime.host",
    "config.extraConfig[\"joiner.cluster\"].value",
    "config.extraConfig[\"joiner.nodeclaim\"].value",
    "config.extraConfig[\"joiner.nodeclaim-uid\"].value",
    "config.extraConfig[\"joiner.nodepool\"].value",
    "config.extraConfig[\"joiner.instance-type\"].value",
];

const PAGE: usize = 200;

/// A server with instances, whose pages are written when they are asked for.
struct Instances(usize);

#[async_trait]
impl Transport for Instances {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let asked = |method: &str| body.contains(&format!("<{method}>"));
        let mut response = Response::builder();
        let inside = if asked("RetrieveServiceContent") {
            CONTENT.to_owned()
        } else if asked("Login") {
            response = response.header("set-cookie", "vmware_soap_session=\"s\"; Path=/");
            "<returnval><userName>me</userName></returnval>".to_owned()
        } else if asked("CurrentTime") {
            "<returnval>2026-01-01T12:00:00Z</returnval>".to_owned()
        } else if asked("CreateContainerView") {
            "<returnval type=\"ContainerView\">view</returnval>".to_owned()
        } else if asked("RetrievePropertiesEx") {
            self.page(0)
        } else if let Some((_, rest)) = body.split_once("<token>") {
            self.page(rest.split('<').next().and_then(|token| token.parse().ok()).unwrap_or(0))
        } else {
            String::new()
        };
        let answer = format!(
            "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><e:Body>\
             <Response xmlns=\"urn:vim25\">{inside}</Response></e:Body></e:Envelope>"
        );
        Ok(response.body(Bytes::from(answer)).expect("a response is well-formed"))
    }
}

const CONTENT: &str = r#"<returnval><rootFolder type="Folder">root</rootFolder>
<propertyCollector type="PropertyCollector">pc</propertyCollector>
<viewManager type="ViewManager">vm</viewManager><about/>
<sessionManager type="SessionManager">sm</sessionManager>
<authorizationManager type="AuthorizationManager">am</authorizationManager>
<searchIndex type="SearchIndex">si</searchIndex></returnval>"#;

impl Instances {
    fn page(&self, from: usize) -> String {
        let to = (from + PAGE).min(self.0);
        let token = if to < self.0 { format!("<token>{to}</token>") } else { String::new() };
        format!("<returnval>{token}{}</returnval>", objects(from..to))
    }
}

fn objects(numbers: Range<usize>) -> String {
    let mut xml = String::new();
    for number in numbers {
        let mut write = |text: std::fmt::Arguments<'_>| {
            xml.write_fmt(text).expect("a string takes everything");
        };
        write(format_args!("<objects><obj type=\"VirtualMachine\">vm-{number}</obj>"));
        for path in PATHS {
            let name = path.replace('"', "&quot;");
            write(format_args!(
                "<propSet><name>{name}</name><val xsi:type=\"xsd:string\">\
                 7d3c6a4e-2f0b-4d55-9d0e-{number:012}</val></propSet>"
            ));
        }
        write(format_args!("</objects>"));
    }
    xml
}

/// The most memory that the process had, in KiB, as Linux tells.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// The vCenter that the environment names.
fn vcenter() -> Result<Vim, Box<dyn Error>> {
    let endpoint: Endpoint = env::var("GOVC_URL")?.parse()?;
    let credentials = Credentials::new(env::var("GOVC_USERNAME")?, env::var("GOVC_PASSWORD")?);
    let insecure = env::var("GOVC_INSECURE").is_ok_and(|value| matches!(&*value, "1" | "true"));
    let transport = Https::new(endpoint, &TlsSettings { insecure, ..TlsSettings::default() })?;
    Ok(Vim::new(VimSettings::new(credentials), Arc::new(transport), Clock::wall()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let vim = match env::args().nth(1) {
        Some(count) => {
            let settings = VimSettings::new(Credentials::new("me", "secret"));
            Vim::new(settings, Arc::new(Instances(count.parse()?)), Clock::wall())
        }
        None => vcenter()?,
    };
    vim.current_time().await?;
    let root = vim.service_content().await?.root_folder.clone();
    let (before, began) = (most_memory(), Instant::now());
    let instances = vim.list(&root, "VirtualMachine", &PATHS).await?;
    println!(
        "{} instances with {} properties each: {:.2} s, {} MiB at most above {} MiB before",
        instances.len(),
        PATHS.len(),
        began.elapsed().as_secs_f64(),
        (most_memory() - before) / 1024,
        before / 1024
    );
    vim.logout().await;
    Ok(())
}
