// The config.json reader on any text: no crash, and a rejection says why.
#include "compiler/input/config.h"

#include <cstdlib>

using namespace hocket;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  for (bool dropoutZero : {false, true}) {
    Diagnostics diags;
    int32_t source = diags.addSource("config.json", std::string(reinterpret_cast<const char *>(data), size));
    auto config = readConfig(source, dropoutZero, diags);
    if (config.has_value() == diags.failed())
      std::abort();
    // The limits keep the count below 2^63.
    if (config && (config->parameters() == 0 || config->parameters() >> 63))
      std::abort();
    diags.str(dropoutZero ? MessageFormat::Human : MessageFormat::Json);
  }
  return 0;
}
