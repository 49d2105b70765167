//! Properties of what a vCenter has once, and of what sessions make.

use crate::{
    inventory::About,
    reference::{Kind, Ref},
    session::Viewer,
    wire::value::Value::{self, Bool, Data, Long, Ref as Named, Time},
    world::World,
};

pub(super) fn of_service<'w>(
    world: &'w World,
    viewer: &Viewer,
    object: Ref,
    name: &str,
) -> Option<Value<'w>> {
    Some(match (object.kind, name) {
        (Kind::ServiceInstance, "serverClock") => Time(world.moment(world.agenda.now())),
        (Kind::ServiceInstance, "content") => service_content(world),
        (Kind::SessionManager, "currentSession") => session(world, viewer),
        (Kind::TaskManager, "recentTask") => Value::refs(world.tasks.recent()),
        (Kind::ViewManager, "viewList") => Value::refs(world.views.of_session(&viewer.session)),
        (Kind::PropertyCollector, "filter") => Value::refs(world.collectors.filters_of(object)),
        (Kind::ContainerView | Kind::ListView, "view") => {
            Value::refs(world.views.contents(world, viewer, object)?)
        }
        (Kind::ContainerView, "container") => Named(world.views.container(object)?.of),
        (Kind::ContainerView, "type") => {
            Value::texts(world.views.container(object)?.kinds.iter().map(|kind| &**kind))
        }
        (Kind::ContainerView, "recursive") => Bool(world.views.container(object)?.recursive),
        _ => return None,
    })
}

/// The service content, which is readable without a login.
pub(crate) fn service_content(world: &World) -> Value<'_> {
    let only = |kind| Named(Ref::only(kind));
    Data(
        "ServiceContent",
        vec![
            ("rootFolder", Named(world.estate.root)),
            ("propertyCollector", only(Kind::PropertyCollector)),
            ("viewManager", only(Kind::ViewManager)),
            ("about", about(&world.about)),
            ("sessionManager", only(Kind::SessionManager)),
            ("authorizationManager", only(Kind::AuthorizationManager)),
            ("taskManager", only(Kind::TaskManager)),
            ("searchIndex", only(Kind::SearchIndex)),
            ("storageResourceManager", only(Kind::StorageResourceManager)),
        ],
    )
}

fn about(about: &About) -> Value<'_> {
    let version = about.api_version.splitn(4, '.').take(3).collect::<Vec<_>>().join(".");
    Data(
        "AboutInfo",
        vec![
            ("name", Value::text("VMware vCenter Server")),
            (
                "fullName",
                Value::text(format!("VMware vCenter Server {version} build-{}", about.build)),
            ),
            ("vendor", Value::text("VMware, Inc.")),
            ("version", Value::text(version)),
            ("build", Value::text(&*about.build)),
            ("osType", Value::text("linux-x64")),
            ("productLineId", Value::text("vpx")),
            ("apiType", Value::text("VirtualCenter")),
            ("apiVersion", Value::text(&*about.api_version)),
            ("instanceUuid", Value::text(crate::identity::uuid("vcenter"))),
        ],
    )
}

/// The session of who asks; unset for who has none.
pub(crate) fn session<'w>(world: &'w World, viewer: &Viewer) -> Value<'w> {
    let Some(session) = world.sessions.get(&viewer.session) else { return Value::Unset };
    Data(
        "UserSession",
        vec![
            ("key", Value::text(&*session.key)),
            ("userName", Value::text(&*session.user)),
            ("fullName", Value::text(&*session.user)),
            ("loginTime", Time(world.moment(session.began))),
            ("lastActiveTime", Time(world.moment(session.last_used))),
            ("locale", Value::text("en")),
            ("messageLocale", Value::text("en")),
            ("extensionSession", Bool(false)),
            ("ipAddress", Value::text("127.0.0.1")),
            ("userAgent", Value::text("")),
            ("callCount", Long(session.calls as i64)),
        ],
    )
}
