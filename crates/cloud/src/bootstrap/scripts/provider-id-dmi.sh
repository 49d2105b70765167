
raw=$(cat "$file") || exit 1
case $raw in
VMware-*) ;;
*) echo "joiner: $file is no serial number of a VMware instance: $raw" >&2 && exit 1 ;;
esac
digits=$(printf %s "${raw#VMware-}" | tr -d ' -' | tr A-F a-f)
uuid=$(printf %s "$digits" | sed -n 's/^\([0-9a-f]\{8\}\)\([0-9a-f]\{4\}\)\([0-9a-f]\{4\}\)\([0-9a-f]\{4\}\)\([0-9a-f]\{12\}\)$/\1-\2-\3-\4-\5/p')
if [ -z "$uuid" ]; then
  echo "joiner: the serial number in $file has no 32 digits: $raw" >&2
  exit 1
fi
echo "vsphere://$uuid"
