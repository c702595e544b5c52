#!/usr/bin/env bash
# tools/kjv.sh OUT: writes the King James Bible as plain text (4,404,412 bytes,
# one verse a line behind its reference) to OUT, from Debian's bible-kjv.
# Installs nothing. Exit: 0 written, 2 usage or missing package, 4 cannot write.
set -euo pipefail

if [ $# -ne 1 ] || [ -z "$1" ]; then
  echo "usage: tools/kjv.sh OUT" >&2
  exit 2
fi
out=$1
if [ -d "$out" ]; then
  echo "tools/kjv.sh: $out is a directory" >&2
  exit 2
fi

missing=()
command -v bible >/dev/null || missing+=(bible-kjv)
[ -r /usr/lib/bible.data ] || missing+=(bible-kjv-text)
if [ ${#missing[@]} -gt 0 ]; then
  echo "tools/kjv.sh: missing packages: ${missing[*]}" >&2
  echo "hint: apt-get install ${missing[*]}" >&2
  exit 2
fi

tmp=$out.tmp.$$
trap 'rm -f "$tmp"' EXIT
{ bible -f 'Gen1:1-Rev22:21' >"$tmp"; } 2>/dev/null || {
  echo "tools/kjv.sh: cannot write $tmp" >&2
  exit 4
}
# The program exits 0 even when it finds no text, so the last verse is checked.
if ! tail -n 1 "$tmp" | grep -q '^Rev22:21 '; then
  echo "tools/kjv.sh: the text is incomplete (bible printed $(wc -c <"$tmp") bytes)" >&2
  exit 4
fi
mv "$tmp" "$out"
