# tools/build.sh: sourced by quickstart.sh and test.sh; configures and builds.

# Jobs for the compilers: all cores, but 2 GiB of memory for each.
build_jobs() {
  local cores gib
  cores=$(nproc)
  gib=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  local jobs=$((gib / 2 < cores ? gib / 2 : cores))
  echo $((jobs > 0 ? jobs : 1))
}

# build PRESET [TARGET...]: builds the targets, or all, in build/PRESET. Output goes to standard
# error; a failing configure or build returns its exit code. CONFIGURE_FLAGS are added to cmake's.
build() {
  local preset=$1 log=build/$1/configure.log
  shift
  mkdir -p "build/$preset"
  cmake --preset "$preset" "${CONFIGURE_FLAGS[@]}" >"$log" 2>&1 </dev/null || {
    local code=$?
    cat "$log" >&2
    return $code
  }
  # ninja prints a line a command where it cannot redraw one.
  NINJA_STATUS="[$preset %f/%t] " ninja -C "build/$preset" -j "$(build_jobs)" "$@" >&2 </dev/null
}
