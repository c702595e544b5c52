//===- builder.h - What the families share ----------------------------------===//
//
// A family lists its parameters and builds the layer, the embedding and the
// head from them; the builder makes functions, arguments and names.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/import.h"
#include "dialects/model/Build.h"
#include "dialects/model/Param.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::importer {

using model::Term;
using Terms = llvm::SmallVector<Term, 2>;

struct Parameter {
  std::string name, dims; ///< "wq", "hgrd": without the layer letter
  model::Param param;
};

/// What one function is made of: ops at its end, arguments by name.
class Body {
public:
  Body(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  const Term &operator[](llvm::StringRef name) const;
  void bind(llvm::StringRef name, Term term) { named[name.str()] = std::move(term); }

  Term dot(llvm::StringRef name, const Term &a, const Term &b, llvm::StringRef result);
  Term map(llvm::StringRef name, llvm::ArrayRef<Term> inputs, llvm::StringRef result, model::ScalarFn body);
  /// Sum of all; the first has the letters of the result.
  Term add(llvm::StringRef name, llvm::ArrayRef<Term> inputs);
  Term gather(llvm::StringRef name, const Term &table, const Term &indices, llvm::StringRef result);
  Terms rmsnorm(llvm::ArrayRef<llvm::StringRef> names, const Term &x, const Term &w, double eps);
  Terms layernorm(llvm::ArrayRef<llvm::StringRef> names, const Term &x, const Term &w, const Term &b,
                  double eps);
  Term rope(llvm::StringRef name, const Term &x, const Term &positions, double theta,
            const std::optional<RopeScaling> &scaling);
  /// q "bsgrd", k and v "bsgd": inside the op the keys' s is t.
  Term attention(llvm::ArrayRef<llvm::StringRef> names, const Term &q, const Term &k, const Term &v,
                 const Term &positions, double scale);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  /// Names the results of the op that made `terms`, for residuals and reports.
  void setNames(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> names);
  mlir::Location at(llvm::StringRef name);
  std::map<std::string, Term> named;
};

/// One model family.  Parameter order is that of the contracts page.
class FamilyBuilder {
public:
  explicit FamilyBuilder(const ModelConfig &config) : config(config) {}
  virtual ~FamilyBuilder() = default;
  virtual std::vector<Parameter> embeddings() const = 0;
  virtual std::vector<Parameter> layer() const = 0;
  virtual std::vector<Parameter> finalNorm() const = 0;
  virtual Parameter head() const = 0;
  /// tokens -> x, x -> x, x -> normalised x.
  virtual Term embed(Body &) const = 0;
  virtual Term layer(Body &, const Term &x) const = 0;
  virtual Term normalise(Body &, const Term &x) const = 0;

protected:
  /// Initial values as the classes of transformers draw them: matrices normal,
  /// those that add to the residual stream with std / sqrt(2 layers).
  Parameter matrix(std::string name, std::string dims, std::string checkpoint, std::string layout) const;
  Parameter residual(std::string name, std::string dims, std::string checkpoint, std::string layout) const;
  Parameter vector(std::string name, std::string dims, std::string checkpoint, std::string layout,
                   std::string init) const;
  double attentionScale() const;

  const ModelConfig &config;
};

std::unique_ptr<FamilyBuilder> makeGpt2(const ModelConfig &config);
std::unique_ptr<FamilyBuilder> makeLlama(const ModelConfig &config);

} // namespace hocket::importer
