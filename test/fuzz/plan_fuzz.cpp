//===- plan_fuzz.cpp - libFuzzer: bytes as a plan file ----------------------===//
//
// The prefix's constant fields and the checksum are put right first, so that
// the index, the sections and the verifier behind them are what is fuzzed.
// A plan that is read must survive writing and reading again.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/container.h"
#include "runtime/format/read.h"
#include "runtime/format/write.h"
#include "runtime/verify/verify.h"

#include <cstdlib>

using namespace hocket;
using namespace hocket::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)read({data, size});
  if (size < kPrefixBytes)
    return 0;
  std::vector<uint8_t> file(data, data + size);
  Prefix prefix;
  std::memcpy(&prefix, data, sizeof(prefix));
  prefix.magic = kMagic;
  prefix.major = kFormatMajor, prefix.minor = kFormatMinor;
  prefix.reserved = 0;
  prefix.totalLength = size;
  prefix.indexOffset = kPrefixBytes;
  prefix.features = 0;
  std::memcpy(file.data(), &prefix, sizeof(prefix));
  stamp(file);
  ReadResult r = read(file);
  if (!r)
    return 0;
  for (const verify::Finding &f : verify::verify(*r.plan))
    if (f.str().empty())
      std::abort();
  std::vector<uint8_t> again = write(*r.plan);
  ReadResult second = read(again);
  if (!second || write(*second.plan) != again)
    std::abort();
  return 0;
}
