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
    if (config && (config->layers < 1 || config->hidden < 1 || config->headDim < 1))
      std::abort();
    diags.str(dropoutZero ? MessageFormat::Human : MessageFormat::Json);
  }
  return 0;
}
