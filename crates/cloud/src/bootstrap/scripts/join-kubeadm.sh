
if [ ! -e "$config" ]; then
  fail "$config is not there, so the instance was rebooted before it had joined; replace it"
fi
if grep -q '@JOINER_PROVIDER_ID@' "$config"; then
  fail "$config has no provider id yet, the step before this one has said why"
fi
command -v kubeadm >/dev/null || fail "kubeadm is not in this image; it needs kubelet, kubeadm and a container runtime"

waited=0
until [ -S "$socket" ]; do
  waited=$((waited + 1))
  if [ "$waited" -ge 60 ]; then
    fail "there was no container runtime at $socket for two minutes; is it installed and enabled?"
  fi
  sleep 2
done

join() {
  # What a join that got halfway left behind would stop the next one.
  if [ "$attempt" -gt 1 ] && [ -e /etc/kubernetes/kubelet.conf ]; then
    kubeadm reset --force --cri-socket "unix://$socket" || say "kubeadm reset did not succeed"
  fi
  kubeadm join --config "$config"
}
ten_times join || fail "kubeadm join did not succeed, its own words are above; are endpoint, token and clock right?"
rm -f "$config"
