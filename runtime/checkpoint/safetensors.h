//===- safetensors.h - The checkpoint format of Hugging Face ----------------===//
//
// 8 bytes little-endian header length, a JSON header, raw data.  The reader
// trusts nothing; each failure is an Error(2) that names the file and the rule.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/data/file.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace hocket::checkpoint {

struct TensorInfo {
  std::string dtype; ///< "F32", "BF16"
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0; ///< bytes from the start of the data
  uint64_t elements() const {
    uint64_t n = 1;
    for (uint64_t d : shape)
      n *= d;
    return n;
  }
};

using Header = std::map<std::string, TensorInfo>;

/// Headers above this are refused, as the reference implementation does.
inline constexpr uint64_t kMaxHeader = 100'000'000;

/// Parses a header's JSON text for `dataBytes` bytes of data: known types, type
/// times shape = bytes, offsets that tile the data with no hole and no overlap,
/// no name twice.  `file` names the file in messages.
Header parseHeader(std::string_view json, uint64_t dataBytes, const std::string &file);

class SafetensorsReader {
public:
  explicit SafetensorsReader(const std::string &path);
  const Header &tensors() const { return header; }
  const TensorInfo *find(const std::string &name) const;
  /// Elements [first, first + out.size()) as double; F64, F32, F16 and BF16.
  void read(const std::string &name, uint64_t first, std::span<double> out) const;
  const std::string &path() const { return file.path(); }

private:
  data::InputFile file;
  uint64_t dataStart = 0;
  Header header;
};

/// One tensor to be written.
struct OutputTensor {
  std::string name, dtype; ///< dtype F32 or F64
  std::vector<uint64_t> shape;
};

/// Writes a file whose tensors stand in the order of their names (equal
/// contents, equal bytes).  `fill(i, bytes)` gives the raw data of tensors[i].
/// The file appears when complete.
void writeSafetensors(const std::string &path, std::vector<OutputTensor> tensors,
                      const std::function<void(const OutputTensor &, std::vector<uint8_t> &)> &fill);

} // namespace hocket::checkpoint
