//===- kernels.h - From one local model op to native code -------------------===//
//
// Takes one `model` op with local shapes (no encodings; chains of maps already
// fused), gives the facts the plan needs and a `func.func`; then takes a module
// of such functions, gives one x86-64 shared object.
//
// A function @symbol takes one flat memref for each kernel argument (operands
// in op order, then results, then scratch) and a range [begin, end) of its
// work; the object exports `void symbol(void **args, int64_t begin, int64_t end)`.
// Any split of [0, work) into ranges gives the same bits. Indices from data
// (gather, scatter_add, labels) never address memory outside the arguments.
// Kernels allocate nothing and need up to 1 MiB of stack (tiles of attention).
// A result of `map` may alias an operand of equal letters; nothing else may alias.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/format/plan.h"
#include <optional>

namespace hocket::kernels {

struct KernelDesc {
  std::string symbol;
  std::vector<format::KernelArg> args; ///< operands in op order, results, scratch if scratchBytes > 0
  int64_t scratchBytes = 0;
  int64_t work = 1;
  double flops = 0, memoryBytes = 0;
};

/// Static facts of the kernel of `op`; generates no code. The symbol names op,
/// element type and extents, and ends in a hash of letters, attributes and
/// region. Errors are emitted on `op`. The op is verified: what its verifier asks for is not
/// asked again.
mlir::FailureOr<KernelDesc> describe(mlir::Operation *op);

/// Appends `func.func @symbol` to `kernels` (once per symbol is the caller's job).
mlir::LogicalResult generate(mlir::Operation *op, mlir::ModuleOp kernels);

/// `dot` as one row-major product if its letters group into m, n, k; nullopt:
/// use describe(). The symbol is empty for f32 (a library call); for f64 it
/// names a generated loop with the arguments a, b, c. If the result is [n, m]
/// the product exists only with a and b exchanged: given `swapped`, it is set
/// and the product of (b, a) returned, else nullopt.
std::optional<format::Gemm> asGemm(model::DotOp dot, bool accumulate, bool *swapped = nullptr);
mlir::LogicalResult generateGemm(const format::Gemm &gemm, mlir::ModuleOp kernels);

/// Initial values of one shard of a parameter, by a counter-based generator
/// over the row-major index in the true global extents:
///   z(i) = mix(mix((seed ^ key) + C) + (i + 1) C), C = 0x9E3779B97F4A7C15, mix = splitmix64's,
///   normal = sqrt(-2 ln u1) cos(2 pi u2) std, u = (32 bits + 0.5) / 2^32 (high bits u1, low bits u2),
/// in f64, then rounded. Elements beyond the true extent of a padded dim are 0.
struct InitSpec {
  std::string kind; ///< "normal", "zero" or "one"
  double std = 0;
  mlir::Type type;
  std::vector<int64_t> local, global; ///< local and true global extents, leading l included
  uint64_t key = 0;
  std::vector<unsigned> padded = {}; ///< dims whose shards may reach beyond the true extent
};
/// Arguments: out, base (sum over dims of offset * global stride), seed, then
/// the offset of each dim in `padded`; all but out are i64 values.
KernelDesc describeInit(const InitSpec &spec);
mlir::LogicalResult generateInit(const InitSpec &spec, mlir::ModuleOp kernels);

/// Lowers to LLVM, optimises for `isa` ("x86-64-v2", "x86-64-v3", "x86-64-v4")
/// and links. The bytes depend on the module and `isa` alone. Undefined symbols
/// are libm's and mem*. Errors are emitted on the module, but those of this
/// machine (no linker, no room for temporary files) go to `outside` if it is given.
mlir::FailureOr<std::vector<uint8_t>> compile(mlir::ModuleOp kernels, llvm::StringRef isa,
                                              std::string *outside = nullptr);

/// The optimised LLVM IR that compile() turns into code, for tests and reading.
mlir::FailureOr<std::string> compileToText(mlir::ModuleOp kernels, llvm::StringRef isa);

/// Loads the dialects that generated functions use.
void loadDialects(mlir::MLIRContext &context);

} // namespace hocket::kernels
