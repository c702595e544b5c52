#include "tools/hocket/verbs.h"

#include "runtime/format/read.h"
#include "runtime/verify/verify.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <new>

using namespace llvm;

namespace hocket {

int verifyVerb(const std::string &path, bool json) {
  SmallString<256> file(path);
  if (sys::fs::is_directory(file))
    sys::path::append(file, "plan.hkt");
  format::ReadResult result = format::readFile(file.str().str());
  int code = 0;
  json::Array findings;
  std::string error;
  if (!result) {
    code = result.error.exitCode();
    error = result.error.message;
  } else {
    std::vector<verify::Finding> found;
    try {
      found = verify::verify(*result.plan);
      code = found.empty() ? 0 : 1;
    } catch (const std::bad_alloc &) {
      code = 4;
      error = (file + ": not enough memory to verify the plan").str();
    }
    for (const verify::Finding &f : found) {
      if (!json)
        errs() << file << ": error: " << f.str() << "\n";
      findings.push_back(json::Object{{"class", json::fixUTF8(f.className)},
                                      {"template", json::fixUTF8(f.templateName)},
                                      {"instruction", f.instr},
                                      {"name", json::fixUTF8(f.instrName)},
                                      {"problem", json::fixUTF8(f.problem)},
                                      {"legal", json::fixUTF8(f.legal)}});
    }
  }
  if (json) {
    json::Object o{{"format_version", "1.0"},
                   {"file", json::fixUTF8(file)},
                   {"sound", code == 0},
                   {"findings", std::move(findings)}};
    if (!error.empty())
      o["error"] = json::Object{{"code", code},
                                {"messages", json::Array{json::Object{{"severity", "error"},
                                                                      {"message", json::fixUTF8(error)},
                                                                      {"notes", json::Array()}}}}};
    outs() << json::Value(std::move(o)) << "\n";
    return code;
  }
  if (!error.empty())
    errs() << "error: " << error << "\n";
  else if (code == 0)
    outs() << file << ": sound; " << result.plan->ranks() << " rank" << (result.plan->ranks() == 1 ? "" : "s")
           << " in " << result.plan->classes.size() << " class"
           << (result.plan->classes.size() == 1 ? "" : "es") << "\n";
  return code;
}

} // namespace hocket
