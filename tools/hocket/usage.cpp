#include "tools/hocket/verbs.h"

namespace hocket {

int usageError(const llvm::Twine &what, const llvm::Twine &hint, bool json) {
  Diagnostics diags;
  diags.error(what).help(hint);
  diags.print(llvm::errs(), MessageFormat::Human, /*color=*/false);
  if (json)
    diags.printErrorDocument(llvm::outs(), kExitBadInput);
  return kExitBadInput;
}

} // namespace hocket
