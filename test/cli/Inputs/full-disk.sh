# Saves weights to a file system of 128 KiB: exit 4, an error that names it, nothing left. "skipped" where
# mounting is not permitted.
mkdir -p small
mount -t tmpfs -o size=128k tmpfs small 2> /dev/null || { echo skipped; exit 0; }
trap 'umount small' EXIT
hocket-run ok.hkt --data ok.bin --steps 1 --save small/saved > disk.log 2>&1
code=$?
if [ $code -ne 4 ] || ! grep -q 'error:.*small/saved' disk.log; then
  echo "exit $code"
  cat disk.log
elif [ -n "$(find small -type f)" ]; then
  echo "left behind: $(find small -type f)"
else
  echo ok
fi
