//===- machine_of.h - A pool of a cluster as the cost model's numbers -------===//
#pragma once

#include "compiler/cost/machine.h"
#include "compiler/input/cluster.h"

namespace hocket {

/// Pool `pool` of a cluster alone.  Levels stand from the inside out; a level's
/// rate is one device's share, not divided by its oversubscription.  Levels that
/// join one island only are left out, except the innermost.
cost::Machine machineOf(const Cluster &cluster, size_t pool = 0);

} // namespace hocket
