//===- harness.h - Run generated kernels against plain code -----------------===//
//
// Ops are written as text, compiled together, loaded from memory, and run on
// doubles rounded to the element type, with guard bytes around every buffer.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/kernels/kernels.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <map>
#include <random>

namespace hocket::test {

using Values = std::vector<double>;
using Extents = std::map<char, int64_t>;

/// A tensor of the op's text: letters, and an element type other than the case's.
struct Arg {
  std::string letters, type;
  Arg(const char *letters, const char *type = "") : letters(letters), type(type) {}
};

/// The text of one op inside a function; operands are its arguments.
std::string opText(const std::string &name, const std::string &type, const Extents &extents,
                   const std::vector<Arg> &operands, const std::vector<Arg> &results,
                   const std::string &attributes, const std::string &region = "");

/// A shared object in memory.
class Library {
public:
  Library() = default;
  explicit Library(const std::vector<uint8_t> &bytes);
  ~Library();
  Library(const Library &) = delete;
  using Function = void (*)(void **, int64_t, int64_t);
  Function find(const std::string &symbol) const;

private:
  void *handle = nullptr;
};

/// Widest isa that this machine runs.
std::string hostIsa();

class Kernels {
public:
  Kernels();
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string errors;

  /// The first op of the function in `text`; lives as long as this.
  mlir::Operation *parse(const std::string &text);
  /// Describes and generates; the index to run it by.
  size_t add(const std::string &text);
  size_t addInit(const kernels::InitSpec &spec);
  size_t addGemm(const format::Gemm &gemm, const std::string &type);
  void compile(const std::string &isa = hostIsa());

  /// Results for the inputs (Value arguments included, in order). Also runs in
  /// three ranges and expects the same bits. Arguments that are read and
  /// written start from `inputs` too and end in the results.
  std::vector<Values> run(size_t kernel, const std::vector<Values> &inputs);
  /// As run, but result `result` is the buffer of input `input`.
  std::vector<Values> runInPlace(size_t kernel, const std::vector<Values> &inputs, size_t input,
                                 size_t result);
  const kernels::KernelDesc &desc(size_t kernel) const { return entries[kernel].desc; }

private:
  struct Entry {
    kernels::KernelDesc desc;
    std::vector<std::string> types; ///< element type of each argument
  };
  std::vector<Entry> entries;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> parsed;
  std::unique_ptr<Library> library;
  std::vector<Values> execute(const Entry &entry, const std::vector<Values> &inputs, int parts, int alias,
                              int into);
};

/// Reproducible values in [-1, 1), rounded to f32 (exact in both types).
Values random(int64_t n, unsigned seed);
Values integers(int64_t n, int64_t lo, int64_t hi, unsigned seed);
int64_t count(const std::string &letters, const Extents &extents);
/// max |a - b| / max(max |b|, 1e-30).
double error(const Values &a, const Values &b);
/// What the kernels are held to.
inline double tolerance(const std::string &type) { return type == "f64" ? 1e-12 : 4e-6; }

/// Calls body with every assignment of the letters (row-major in their order).
void forAll(const std::string &letters, const Extents &extents,
            const std::function<void(const Extents &)> &body);
/// Row-major offset of an assignment in a tensor of `letters`.
int64_t at(const std::string &letters, const Extents &extents, const Extents &indices);

} // namespace hocket::test
