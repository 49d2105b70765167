
# cloud-init knows it; without cloud-init, the metadata agents of CoreOS' descendants do.
id=$(cloud-init query instance_id 2>/dev/null) || id=
if [ -z "$id" ]; then
  id=$(cat "$cloud_data/instance-id" 2>/dev/null) || id=
fi
if [ -z "$id" ]; then
  id=$(sed -n 's/^[A-Z]*_CLOUDSTACK_INSTANCE_ID=//p' "$metadata"/* 2>/dev/null | head -n 1) || id=
fi
id=$(printf %s "$id" | tr A-F a-f)
if ! printf '%s\n' "$id" | grep -qE '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'; then
  echo "joiner: the datasource's instance id is no UUID: '$id'" >&2
  exit 1
fi
echo "cloudstack:///$id"
