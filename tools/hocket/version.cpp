#include "tools/hocket/verbs.h"

#include "runtime/format/plan.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace hocket {

int versionVerb(bool json) {
  std::string format = std::to_string(format::kFormatMajor) + "." + std::to_string(format::kFormatMinor);
  if (json) {
    llvm::outs() << llvm::json::Value(llvm::json::Object{{"format_version", "1.0"},
                                                         {"hocket", HOCKET_VERSION},
                                                         {"llvm", LLVM_VERSION_STRING},
                                                         {"plan_format", format}})
                 << "\n";
    return 0;
  }
  llvm::outs() << "hocket " << HOCKET_VERSION << "\nLLVM " << LLVM_VERSION_STRING << "\nplan format "
               << format << "\n";
  return 0;
}

} // namespace hocket
