// The safetensors reader on any bytes: no crash; what it accepts tiles the data.
#include "runtime/checkpoint/safetensors.h"
#include "runtime/error.h"

#include <cstdlib>
#include <cstring>

using namespace hocket;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  // As in a file: the length first; here the header itself, with what follows as data.
  uint64_t length = size;
  if (size >= 8) {
    std::memcpy(&length, bytes, 8);
    if (length <= size - 8)
      bytes += 8, size -= 8;
    else
      length = size;
  }
  std::string_view header(reinterpret_cast<const char *>(bytes), length);
  try {
    uint64_t covered = 0;
    for (const auto &[name, info] : checkpoint::parseHeader(header, size - length, "f"))
      covered += info.end - info.begin;
    if (covered != size - length)
      std::abort();
  } catch (const Error &e) {
    if (e.code() != kExitBadInput || !*e.what())
      std::abort();
  }
  return 0;
}
