#include "compiler/input/cluster.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace llvm;

namespace hocket {

std::optional<Cluster> openCluster(const std::string &spec, const std::string &shippedDir,
                                   Diagnostics &diags) {
  StringRef text = spec;
  if (text == "-" || text.contains('/') || text.ends_with(".toml") || sys::fs::is_regular_file(text)) {
    std::optional<int32_t> source = loadText(spec, diags);
    return source ? readCluster(*source, diags) : std::nullopt;
  }

  int32_t flag = diags.addSource("--cluster", spec);
  auto [name, count] = text.split(':');
  Loc nameLoc = diags.at(flag, 0, name.size());
  int64_t hosts = 0;
  Loc hostsLoc = diags.at(flag, name.size() + 1, text.size());
  if (text.contains(':') && (count.getAsInteger(10, hosts) || hosts < 1 || hosts > kMaxRanks)) {
    diags.error(hostsLoc, "the number of hosts must be from 1 to " + Twine(kMaxRanks));
    return std::nullopt;
  }
  bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  SmallString<256> path(shippedDir);
  sys::path::append(path, name + ".toml");
  if (!plain || !sys::fs::is_regular_file(path)) {
    std::vector<std::string> shipped;
    std::error_code ec;
    for (sys::fs::directory_iterator it(shippedDir, ec), end; !ec && it != end; it.increment(ec))
      if (sys::path::extension(it->path()) == ".toml")
        shipped.push_back(sys::path::stem(it->path()).str());
    std::sort(shipped.begin(), shipped.end());
    std::vector<StringRef> refs(shipped.begin(), shipped.end());
    std::string list;
    for (StringRef s : refs)
      list += (list.empty() ? "" : ", ") + s.str();
    diags.error(nameLoc, "there is no file and no shipped cluster '" + name + "'" + didYouMean(name, refs))
        .note(list.empty() ? Twine("give the path of a cluster.toml") : Twine("shipped clusters: " + list));
    return std::nullopt;
  }
  std::optional<int32_t> source = loadText(path.str().str(), diags);
  return source ? readCluster(*source, diags, hosts, hostsLoc) : std::nullopt;
}

} // namespace hocket
