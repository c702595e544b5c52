//===- declaration.h - Kernels' names carry what the plan says of them ------===//
//
// A plan's code cannot be looked into, but its names can: the compiler ends the
// symbol of every generated kernel in a digest of the kernel's declaration, its
// arguments and its work.  Code and declaration that do not belong together
// have different names, and the loader finds no code for the declaration's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket::format {

/// 16 hexadecimal digits over every field but the symbol.
std::string declarationDigest(const Kernel &kernel);
std::string declarationDigest(const Gemm &gemm);

/// `base`, an underscore, the digest.
template <typename Entry>
std::string declaredSymbol(const std::string &base, const Entry &entry) {
  return base + "_" + declarationDigest(entry);
}

} // namespace hocket::format
