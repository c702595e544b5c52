#include "compiler/input/cluster.h"

using namespace llvm;

namespace hocket {

bool checkExecutable(const Cluster &cluster, Diagnostics &diags) {
  size_t before = diags.errors();
  if (cluster.pools() > 1)
    diags.error(cluster.pool(1).use, "no plan can be compiled for clusters of several pools in this version",
                kExitIncompatible);
  for (size_t p = 0; p < cluster.pools(); ++p) {
    const Pool &pool = cluster.pool(p);
    if (!pool.device.gpu)
      continue;
    diags
        .error(pool.use,
               "host '" + pool.name + "' has GPUs (" + pool.device.name +
                   "): this version compiles plans for devices with kind = \"cpu\" only",
               kExitIncompatible)
        .note("the library's CPU hosts are listed by hocket devices");
    break;
  }
  return diags.errors() == before;
}

} // namespace hocket
