#include "compiler/partition/record.h"
#include "dialects/model/Model.h"
#include "dialects/par/Par.h"

using namespace mlir;

namespace hocket {

DictionaryAttr countCollectives(func::FuncOp fn) {
  std::map<std::string, int64_t> counts;
  fn.walk([&](par::AllReduceOp reduce) {
    std::string key = ("all_reduce " + reduce.getKind() + " ").str();
    llvm::ListSeparator comma(",");
    for (StringAttr axis : reduce.getAxes().getAsRange<StringAttr>())
      key += (StringRef(comma) + axis.getValue()).str();
    ++counts[key];
  });
  Builder b(fn.getContext());
  SmallVector<NamedAttribute> entries;
  for (auto &[key, n] : counts)
    entries.emplace_back(b.getStringAttr(key), b.getI64IntegerAttr(n));
  return b.getDictionaryAttr(entries);
}

std::optional<unsigned> indexedDimension(Operation *op) {
  if (!isa<model::IotaOp, model::GatherOp, model::ScatterAddOp>(op))
    return std::nullopt;
  model::Dims dims = cast<model::LetterOp>(op).getLetters();
  if (isa<model::IotaOp>(op))
    return 0;
  bool gather = isa<model::GatherOp>(op);
  const std::string &table = gather ? dims.operands[0] : dims.results[0];
  std::string rest = dims.operands[1] + (gather ? dims.results[0] : dims.operands[0]);
  size_t d = table.find_first_not_of(rest);
  return d == std::string::npos ? std::nullopt : std::optional<unsigned>(d);
}

} // namespace hocket
