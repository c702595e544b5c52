#include "runtime/comm/local/world.h"

namespace hocket::comm {

std::unique_ptr<World> openWorld(const format::Plan &plan, device::Fault &fault) {
  return std::make_unique<local::World>(plan, fault);
}

} // namespace hocket::comm
