//! The page of settings, which is made from the declarations.

use joiner_operator::settings::declared;
use joiner_settings::Setting;

use super::Clouds;

impl Clouds {
    /// The page of settings, as Markdown.
    pub(crate) fn settings_page(self) -> String {
        let mut of_clouds = String::new();
        for kind in self.iter().filter(|kind| !kind.settings.access.is_empty()) {
            let (told, settings) = (kind.settings.access_told, table(kind.settings.access));
            for part in ["## Of ", kind.title, "\n\n", told, "\n\n", &settings, "\n"] {
                of_clouds.push_str(part);
            }
        }
        format!(
            "# Settings\n\nThis page is made from the program by a test (`UPDATE_EXPECT=1 cargo test -p joiner \
             settings`).\nA flag counts before its variable; an empty value counts as none.\n\n\
             ## Of the controller\n\n{}\n{of_clouds}## Of planning, also for `joiner plan` and `joiner explain`\n\n{}",
            table(declared::CONTROLLER),
            table(&self.planning_settings())
        )
    }
}

fn table(settings: &[&Setting]) -> String {
    let rows: String = settings.iter().map(|setting| row(setting)).collect();
    format!("| Flag | Variable | Default | What for |\n|---|---|---|---|\n{rows}")
}

fn row(setting: &Setting) -> String {
    let default = match setting.default {
        "" => String::new(),
        text => format!("`{text}`"),
    };
    format!("| `--{}` | `{}` | {default} | {} |\n", setting.name, setting.variable, setting.help)
}
