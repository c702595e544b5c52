// Every TOML reader on any text: no crash, and a rejection always says why.
// The first byte chooses the reader.
#include "compiler/input/job.h"
#include "compiler/input/strategy.h"

#include <cstdlib>

using namespace hocket;

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  Diagnostics diags;
  int32_t source = diags.addSource("f.toml", std::string(reinterpret_cast<const char *>(data) + 1, size - 1));
  bool read = false;
  switch (data[0] % 4) {
  case 0:
    read = readCluster(source, diags).has_value();
    break;
  case 1:
    read = readJob(source, diags).has_value();
    break;
  default: {
    auto strategy = data[0] % 4 == 2 ? readStrategy(source, diags) : readMesh(source, diags);
    read = strategy.has_value();
    if (read) {
      // What is printed reads back as the same text.
      std::string text = toToml(*strategy);
      auto again = readStrategy(diags.addSource("again.toml", text), diags);
      require(again && toToml(*again) == text);
    }
  }
  }
  require(read != diags.failed());
  Diagnostics copy = diags;
  diags.str(MessageFormat::Human);
  copy.str(MessageFormat::Json);
  return 0;
}
