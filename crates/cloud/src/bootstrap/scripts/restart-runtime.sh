
# A runtime that is already up has not seen its proxy yet.
systemctl daemon-reload
systemctl try-restart containerd.service
