//! What is sent, element by element. The order is the schema's: a vCenter refuses any other.

use expect_test::{Expect, expect};

use super::*;
use crate::{
    Method, MoRef,
    xml::{Writer, indented},
};

fn check(method: &Method, expected: &Expect) {
    let mut xml = Writer::default();
    method.write(&mut xml);
    expected.assert_eq(&indented(&xml.finish()));
}

fn reference(kind: &str, id: &str) -> MoRef {
    MoRef::new(kind, id)
}

/// An instance with a card of its own, a disk that grows, and shares.
fn instance(datastore: &MoRef) -> ConfigSpec {
    let network = Device {
        backing: Some(Backing::DistributedPort {
            switch_uuid: "50 1a".to_owned(),
            portgroup_key: "dvportgroup-21".to_owned(),
        }),
        connectable: Some(Connectable::ALWAYS),
        ..Device::new(-100, DeviceKind::Vmxnet3 { address: AddressType::Generated })
    };
    let disk = Device {
        backing: Some(Backing::FlatDisk(FlatDisk {
            file_name: "[ds] t/t.vmdk".to_owned(),
            datastore: Some(datastore.clone()),
            disk_mode: "persistent".to_owned(),
            thin_provisioned: Some(true),
            ..FlatDisk::default()
        })),
        controller_key: Some(1000),
        unit_number: Some(0),
        ..Device::new(2000, DeviceKind::Disk { capacity_in_bytes: 60 << 30 })
    };
    let old_card = Device::new(4000, DeviceKind::Other("VirtualE1000".to_owned()));
    ConfigSpec {
        instance_uuid: Some("5201".to_owned()),
        annotation: Some("cloned_from:/DC0/vm/t\nnotes & more".to_owned()),
        disk_uuid_enabled: Some(true),
        num_cpus: Some(4),
        memory_mb: Some(16_384),
        device_changes: vec![
            DeviceChange::remove(old_card),
            DeviceChange::add(network),
            DeviceChange::edit(disk),
        ],
        cpu_allocation: Some(Allocation {
            reservation: Some(2_000),
            limit: Some(-1),
            shares: Some(Shares::Custom(4_000)),
        }),
        memory_allocation: Some(Allocation { shares: Some(Shares::High), ..Allocation::default() }),
        extra_config: vec![
            ExtraConfig::new("joiner.cluster", "prod"),
            ExtraConfig::new("guestinfo.userdata", "I2Nsb3Vk"),
        ],
        v_app_config_removed: Some(true),
        memory_reservation_locked_to_max: Some(true),
        ..ConfigSpec::default()
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what is expected")]
fn a_full_clone() {
    let datastore = reference("Datastore", "datastore-11");
    let spec = CloneSpec {
        config: Some(instance(&datastore)),
        location: RelocateSpec {
            folder: Some(reference("Folder", "group-v3")),
            datastore: Some(datastore.clone()),
            disk_move_type: Some(DiskMoveType::MoveAllDiskBackingsAndConsolidate),
            pool: Some(reference("ResourcePool", "resgroup-8")),
            host: Some(reference("HostSystem", "host-9")),
            disks: vec![DiskLocator {
                disk_id: 2000,
                datastore,
                disk_move_type: Some(DiskMoveType::MoveAllDiskBackingsAndDisallowSharing),
                backing: None,
                profile: Some("policy-1".to_owned()),
            }],
            device_changes: Vec::new(),
            profile: Some("policy-1".to_owned()),
        },
        ..CloneSpec::default()
    };
    let folder = reference("Folder", "group-v3");
    let method = Method::Clone { folder, name: "prod/karp-1".to_owned(), spec: Box::new(spec) };
    check(
        &method,
        &expect![[r#"
        <folder type="Folder">group-v3</folder>
        <name>prod%2fkarp-1</name>
        <spec>
          <location>
            <folder type="Folder">group-v3</folder>
            <datastore type="Datastore">datastore-11</datastore>
            <diskMoveType>moveAllDiskBackingsAndConsolidate</diskMoveType>
            <pool type="ResourcePool">resgroup-8</pool>
            <host type="HostSystem">host-9</host>
            <disk>
              <diskId>2000</diskId>
              <datastore type="Datastore">datastore-11</datastore>
              <diskMoveType>moveAllDiskBackingsAndDisallowSharing</diskMoveType>
              <profile xsi:type="VirtualMachineDefinedProfileSpec">
                <profileId>policy-1</profileId>
              </profile>
            </disk>
            <profile xsi:type="VirtualMachineDefinedProfileSpec">
              <profileId>policy-1</profileId>
            </profile>
          </location>
          <template>false</template>
          <config>
            <instanceUuid>5201</instanceUuid>
            <annotation>cloned_from:/DC0/vm/t
        notes &amp; more</annotation>
            <flags>
              <diskUuidEnabled>true</diskUuidEnabled>
            </flags>
            <numCPUs>4</numCPUs>
            <memoryMB>16384</memoryMB>
            <deviceChange>
              <operation>remove</operation>
              <device xsi:type="VirtualE1000">
                <key>4000</key>
              </device>
            </deviceChange>
            <deviceChange>
              <operation>add</operation>
              <device xsi:type="VirtualVmxnet3">
                <key>-100</key>
                <backing xsi:type="VirtualEthernetCardDistributedVirtualPortBackingInfo">
                  <port>
                    <switchUuid>50 1a</switchUuid>
                    <portgroupKey>dvportgroup-21</portgroupKey>
                  </port>
                </backing>
                <connectable>
                  <startConnected>true</startConnected>
                  <allowGuestControl>true</allowGuestControl>
                  <connected>true</connected>
                </connectable>
                <addressType>generated</addressType>
              </device>
            </deviceChange>
            <deviceChange>
              <operation>edit</operation>
              <device xsi:type="VirtualDisk">
                <key>2000</key>
                <backing xsi:type="VirtualDiskFlatVer2BackingInfo">
                  <fileName>[ds] t/t.vmdk</fileName>
                  <datastore type="Datastore">datastore-11</datastore>
                  <diskMode>persistent</diskMode>
                  <thinProvisioned>true</thinProvisioned>
                </backing>
                <controllerKey>1000</controllerKey>
                <unitNumber>0</unitNumber>
                <capacityInKB>62914560</capacityInKB>
                <capacityInBytes>64424509440</capacityInBytes>
              </device>
            </deviceChange>
            <cpuAllocation>
              <reservation>2000</reservation>
              <limit>-1</limit>
              <shares>
                <shares>4000</shares>
                <level>custom</level>
              </shares>
            </cpuAllocation>
            <memoryAllocation>
              <shares>
                <shares>0</shares>
                <level>high</level>
              </shares>
            </memoryAllocation>
            <extraConfig>
              <key>joiner.cluster</key>
              <value xsi:type="xsd:string">prod</value>
            </extraConfig>
            <extraConfig>
              <key>guestinfo.userdata</key>
              <value xsi:type="xsd:string">I2Nsb3Vk</value>
            </extraConfig>
            <vAppConfigRemoved>true</vAppConfigRemoved>
            <memoryReservationLockedToMax>true</memoryReservationLockedToMax>
          </config>
          <powerOn>false</powerOn>
        </spec>
    "#]],
    );
}

#[test]
fn a_linked_clone_that_starts_at_once() {
    let spec = CloneSpec {
        location: RelocateSpec {
            disk_move_type: Some(DiskMoveType::CreateNewChildDiskBacking),
            pool: Some(reference("ResourcePool", "resgroup-8")),
            ..RelocateSpec::default()
        },
        power_on: true,
        snapshot: Some(reference("VirtualMachineSnapshot", "snapshot-5")),
        ..CloneSpec::default()
    };
    let folder = reference("Folder", "group-v3");
    let method = Method::Clone { folder, name: "n1".to_owned(), spec: Box::new(spec) };
    check(
        &method,
        &expect![[r#"
        <folder type="Folder">group-v3</folder>
        <name>n1</name>
        <spec>
          <location>
            <diskMoveType>createNewChildDiskBacking</diskMoveType>
            <pool type="ResourcePool">resgroup-8</pool>
          </location>
          <template>false</template>
          <powerOn>true</powerOn>
          <snapshot type="VirtualMachineSnapshot">snapshot-5</snapshot>
        </spec>
    "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is what is expected")]
fn devices_of_every_kind() {
    let add = |device: Device| DeviceChange::add(device);
    let opaque = Backing::OpaqueNetwork { id: "ls-1".to_owned(), kind: "nsx.Logical".to_owned() };
    let card = Device {
        backing: Some(opaque),
        ..Device::new(
            -101,
            DeviceKind::Vmxnet3 { address: AddressType::Manual("00:50:56:00:00:01".to_owned()) },
        )
    };
    let standard = Device {
        backing: Some(Backing::Network { device_name: "VM Network".to_owned() }),
        ..Device::new(-102, DeviceKind::Vmxnet3 { address: AddressType::Generated })
    };
    let data = Device {
        backing: Some(Backing::FlatDisk(FlatDisk {
            disk_mode: "persistent".to_owned(),
            eagerly_scrub: Some(true),
            ..FlatDisk::default()
        })),
        controller_key: Some(1000),
        unit_number: Some(1),
        ..Device::new(-103, DeviceKind::Disk { capacity_in_bytes: 1 << 30 })
    };
    let vgpu = Device {
        backing: Some(Backing::Vgpu { profile: "grid_a100-10c".to_owned() }),
        ..Device::new(-200, DeviceKind::PciPassthrough)
    };
    let allowed = vec![AllowedPciDevice { vendor_id: 0x10de, device_id: 0x20b0 }];
    let gpu = Device {
        backing: Some(Backing::DynamicPci { allowed, custom_label: Some("a100".to_owned()) }),
        ..Device::new(-201, DeviceKind::PciPassthrough)
    };
    let foreign = Device::new(2001, DeviceKind::Disk { capacity_in_bytes: 1 << 30 });
    let spec = ConfigSpec {
        device_changes: vec![
            add(card),
            add(standard),
            DeviceChange {
                profile: Some("policy-1".to_owned()),
                ..add(data).with_file(FileOperation::Create)
            },
            add(vgpu),
            add(gpu),
            DeviceChange::remove(foreign),
        ],
        ..ConfigSpec::default()
    };
    check(
        &Method::Reconfigure(Box::new(spec)),
        &expect![[r#"
        <spec>
          <deviceChange>
            <operation>add</operation>
            <device xsi:type="VirtualVmxnet3">
              <key>-101</key>
              <backing xsi:type="VirtualEthernetCardOpaqueNetworkBackingInfo">
                <opaqueNetworkId>ls-1</opaqueNetworkId>
                <opaqueNetworkType>nsx.Logical</opaqueNetworkType>
              </backing>
              <addressType>manual</addressType>
              <macAddress>00:50:56:00:00:01</macAddress>
            </device>
          </deviceChange>
          <deviceChange>
            <operation>add</operation>
            <device xsi:type="VirtualVmxnet3">
              <key>-102</key>
              <backing xsi:type="VirtualEthernetCardNetworkBackingInfo">
                <deviceName>VM Network</deviceName>
              </backing>
              <addressType>generated</addressType>
            </device>
          </deviceChange>
          <deviceChange>
            <operation>add</operation>
            <fileOperation>create</fileOperation>
            <device xsi:type="VirtualDisk">
              <key>-103</key>
              <backing xsi:type="VirtualDiskFlatVer2BackingInfo">
                <fileName></fileName>
                <diskMode>persistent</diskMode>
                <eagerlyScrub>true</eagerlyScrub>
              </backing>
              <controllerKey>1000</controllerKey>
              <unitNumber>1</unitNumber>
              <capacityInKB>1048576</capacityInKB>
              <capacityInBytes>1073741824</capacityInBytes>
            </device>
            <profile xsi:type="VirtualMachineDefinedProfileSpec">
              <profileId>policy-1</profileId>
            </profile>
          </deviceChange>
          <deviceChange>
            <operation>add</operation>
            <device xsi:type="VirtualPCIPassthrough">
              <key>-200</key>
              <backing xsi:type="VirtualPCIPassthroughVmiopBackingInfo">
                <vgpu>grid_a100-10c</vgpu>
              </backing>
            </device>
          </deviceChange>
          <deviceChange>
            <operation>add</operation>
            <device xsi:type="VirtualPCIPassthrough">
              <key>-201</key>
              <backing xsi:type="VirtualPCIPassthroughDynamicBackingInfo">
                <deviceName></deviceName>
                <allowedDevice>
                  <vendorId>4318</vendorId>
                  <deviceId>8368</deviceId>
                </allowedDevice>
                <customLabel>a100</customLabel>
              </backing>
            </device>
          </deviceChange>
          <deviceChange>
            <operation>remove</operation>
            <device xsi:type="VirtualDisk">
              <key>2001</key>
              <capacityInKB>1048576</capacityInKB>
              <capacityInBytes>1073741824</capacityInBytes>
            </device>
          </deviceChange>
        </spec>
    "#]],
    );
}

#[test]
fn small_methods() {
    let host = Some(reference("HostSystem", "host-9"));
    check(
        &Method::PowerOn { host },
        &expect![[r#"
        <host type="HostSystem">host-9</host>
    "#]],
    );
    check(&Method::PowerOn { host: None }, &expect![[""]]);
    check(
        &Method::Upgrade { version: Some("vmx-19".to_owned()) },
        &expect![[r"
            <version>vmx-19</version>
        "]],
    );
    check(&Method::Destroy, &expect![[""]]);
}

#[test]
fn user_data_is_not_shown() {
    let shown = format!("{:?}", ExtraConfig::new("guestinfo.userdata", "token"));
    assert_eq!(shown, "guestinfo.userdata=[5 bytes]");
}
