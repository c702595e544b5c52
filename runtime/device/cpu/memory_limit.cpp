#include "runtime/device/cpu/memory_limit.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

namespace hocket::device::cpu {

namespace {

/// Where a hierarchy of control groups is mounted: `top`, a group's path, is seen at `at`.
struct Mount {
  bool unified = false; ///< version 2
  std::string top, at;
};

bool listed(const std::string &list, const std::string &word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// Mounts that account memory, from lines as in proc(5):
///   36 35 0:31 /top /at rw,nosuid shared:9 - cgroup cgroup rw,memory
std::vector<Mount> mounts(std::istream &info) {
  std::vector<Mount> result;
  for (std::string line; std::getline(info, line);) {
    std::istringstream words(line);
    std::string id, parent, device, top, at, word, type, source, options;
    words >> id >> parent >> device >> top >> at;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    if (type == "cgroup2" || (type == "cgroup" && listed(options, "memory")))
      result.push_back({type == "cgroup2", top, at});
  }
  return result;
}

/// Of `group` below `top`: "/a/b" and "/a" give "/b"; outside of it, which another namespace's paths are, "".
std::string below(const std::string &group, const std::string &top) {
  std::string prefix = top == "/" ? "" : top;
  if (!group.starts_with(prefix) || group.find("/..") != std::string::npos)
    return "";
  std::string rest = group.substr(prefix.size());
  return rest.starts_with("/") && rest != "/" ? rest : "";
}

} // namespace

MemoryLimit memoryLimit(const std::string &root) {
  MemoryLimit limit;
  auto take = [&](const std::string &text, uint64_t unit, const std::string &source) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && value <= UINT64_MAX / unit && value * unit < limit.bytes)
      limit = {value * unit, source};
  };
  std::ifstream memory(root + "/proc/meminfo");
  for (std::string key, value, unit; memory >> key >> value; std::getline(memory, unit))
    if (key == "MemTotal:")
      take(value, 1024, "/proc/meminfo");

  std::ifstream info(root + "/proc/self/mountinfo");
  std::vector<Mount> mounted = mounts(info);
  std::ifstream groups(root + "/proc/self/cgroup");
  // number:controllers:path; number 0 without controllers is version 2.
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool unified = controllers.empty();
    if (!unified && !listed(controllers, "memory"))
      continue;
    for (const Mount &m : mounted) {
      if (m.unified != unified)
        continue;
      std::string rest = below(line.substr(second + 1), m.top);
      for (;;) {
        std::string file = m.at + rest + (unified ? "/memory.max" : "/memory.limit_in_bytes"), value;
        // "max" is no number: no limit.
        if (std::ifstream in(root + file); in >> value)
          take(value, 1, file);
        if (rest.empty())
          break;
        rest.resize(rest.rfind('/'));
      }
    }
  }
  return limit;
}

} // namespace hocket::device::cpu
