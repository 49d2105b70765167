
# The script installs, enables and starts the agent, under systemd and OpenRC.
install() { INSTALL_K3S_EXEC=agent INSTALL_K3S_VERSION="$release" timeout 600 sh "$script"; }

find_script
if k3s --version 2>/dev/null | grep -qF "k3s version $release "; then
  say "k3s $release is already installed"
  export INSTALL_K3S_SKIP_DOWNLOAD=true
fi
ten_times install || fail "k3s did not come up; the installer's own words are above, the agent's in its log (k3s-agent)"
