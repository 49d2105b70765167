
install() {
  if [ -n "$artifacts" ]; then
    INSTALL_RKE2_ARTIFACT_PATH="$artifacts" INSTALL_RKE2_TYPE="agent" timeout 600 sh "$script"
  else
    INSTALL_RKE2_TYPE="agent" INSTALL_RKE2_VERSION="$release" timeout 600 sh "$script"
  fi
}
start() { timeout 300 systemctl enable --now rke2-agent.service; }

if [ -n "$release" ] && rke2 --version 2>/dev/null | grep -qF "rke2 version $release "; then
  say "RKE2 $release is already installed"
else
  find_script
  ten_times install || fail "RKE2 could not be installed, the installer's own words are above"
fi
ten_times start || fail "rke2-agent did not come up; journalctl -u rke2-agent says why"
