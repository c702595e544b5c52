//===- hash.h - Names of kernels --------------------------------------------===//
#pragma once

#include "mlir/IR/Types.h"
#include "llvm/Support/BLAKE3.h"
#include <bit>
#include <string>

namespace hocket::kernels {

/// Collects what a kernel depends on; ends in 8 hexadecimal digits.
class Hash {
public:
  Hash &text(llvm::StringRef s) {
    number(int64_t(s.size()));
    blake.update(s);
    return *this;
  }
  Hash &number(int64_t v) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; ++i)
      bytes[i] = uint8_t(uint64_t(v) >> (8 * i));
    blake.update(llvm::ArrayRef<uint8_t>(bytes, 8));
    return *this;
  }
  Hash &real(double v) { return number(std::bit_cast<int64_t>(v)); }
  std::string finish();

private:
  llvm::BLAKE3 blake;
};

/// "f32", "i32", "index".
std::string typeName(mlir::Type t);
/// "16x128x4"; "scalar" if empty.
std::string shapeName(llvm::ArrayRef<int64_t> shape);

} // namespace hocket::kernels
