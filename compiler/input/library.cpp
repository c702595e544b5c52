#include "compiler/input/library.h"

#include "compiler/input/host_tables.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hocket {

namespace {

/// Reads one of the two files: `word` is "device" or "host".
class LibraryReader {
public:
  LibraryReader(Library &library, Diagnostics &diags) : library(library), diags(diags) {}

  bool read(const std::string &dir, StringRef word) {
    SmallString<256> path(dir);
    sys::path::append(path, word + "s.toml");
    std::optional<int32_t> source = loadText(path.str().str(), diags);
    std::optional<Value> root = source ? parseToml(*source, diags) : std::nullopt;
    if (!root)
      return false;
    size_t before = diags.errors();
    TableReader top(*root, "the library", diags);
    top.format();
    const Value *entries = top.subtable(word);
    top.finish();
    if (!entries)
      diags.error("'" + path + "' has no [" + word + ".NAME]");
    else
      for (const Member &m : entries->members)
        entry(m, word);
    return diags.errors() == before;
  }

private:
  void entry(const Member &m, StringRef word) {
    if (m.value.kind != Value::Kind::Table) {
      diags.error(m.value.loc, "[" + word + "." + m.key + "] must be a table, not " + kindName(m.value.kind));
      return;
    }
    TableReader r(m.value, ("[" + word + "." + m.key + "]").str(), diags);
    if (word == "device") {
      LibraryDevice d;
      d.device.name = m.key;
      d.device.loc = m.keyLoc;
      readDeviceTable(r, d.device, diags, /*inLibrary=*/true);
      common(r, d, m);
      library.devices.push_back(std::move(d));
      return;
    }
    LibraryHost h;
    h.host.name = m.key;
    h.host.loc = m.keyLoc;
    h.host.fromLibrary = h.host.deviceFromLibrary = true;
    std::optional<std::string> device = r.string("device");
    if (!device && !r.find("device"))
      r.missing("device");
    readHostTable(r, m.keyLoc, h.host, diags);
    h.host.fabric = r.word("fabric", {"rail", "switch"}).value_or("switch");
    if (const Value *v = r.subtable("island")) {
      TableReader island(*v, "'island'", diags);
      h.host.islandName = island.string("name").value_or("island");
      h.host.islandHosts = island.integer("hosts", 2, kMaxRanks).value_or(1);
      island.finish();
    }
    common(r, h, m);
    if (!device)
      return;
    if (const LibraryDevice *d = library.device(*device)) {
      h.host.device = d->device;
      completeHost(h.host, diags, nullptr);
      library.hosts.push_back(std::move(h));
    } else {
      diags.error(r.find("device")->loc, "there is no device '" + *device + "' in the library" +
                                             didYouMeanName(*device, library.deviceNames()));
    }
  }

  /// Aliases and sources, and a source for every number.
  void common(TableReader &r, LibraryEntry &entry, const Member &m) {
    if (const Value *list = r.array("aliases"))
      for (const Value &v : list->items) {
        if (v.kind == Value::Kind::String)
          entry.aliases.push_back(v.string);
        else
          diags.error(v.loc, "an alias must be a string, not " + kindName(v.kind));
      }
    if (const Value *list = r.array("source"))
      for (const Value &v : list->items) {
        if (v.kind != Value::Kind::Table) {
          diags.error(v.loc, "a source must be a table, not " + kindName(v.kind));
          continue;
        }
        TableReader s(v, "the source", diags);
        LibrarySource source;
        for (auto [key, out] : {std::pair("of", &source.of), std::pair("from", &source.from)}) {
          *out = s.string(key).value_or("");
          if (!s.find(key))
            s.missing(key);
        }
        source.confidence = s.word("confidence", {"high", "medium", "low"}).value_or("");
        if (!s.find("confidence"))
          s.missing("confidence");
        s.finish();
        entry.sources.push_back(std::move(source));
      }
    r.finish();
    everyNumber(m.value, "", entry);
  }

  void everyNumber(const Value &table, const std::string &prefix, const LibraryEntry &entry) {
    for (const Member &m : table.members) {
      std::string path = prefix + m.key;
      if (m.value.kind == Value::Kind::Table)
        everyNumber(m.value, path + ".", entry);
      else if (isNumber(m.key, m.value) && !entry.sourceOf(path))
        diags.error(m.value.loc, "'" + path + "' has no source");
    }
  }

  static bool isNumber(StringRef key, const Value &v) {
    return v.isNumber() ||
           (v.kind == Value::Kind::String && !v.string.empty() && isDigit(v.string[0]) && key != "device");
  }

  Library &library;
  Diagnostics &diags;
};

template <typename Entries, typename Name>
auto *findEntry(Entries &entries, StringRef name, Name nameOf) {
  for (auto &e : entries)
    if (name.equals_insensitive(nameOf(e)))
      return &e;
  for (auto &e : entries)
    for (const std::string &alias : e.aliases)
      if (name.equals_insensitive(alias))
        return &e;
  return static_cast<decltype(&entries[0])>(nullptr);
}

template <typename Entries, typename Name>
std::vector<std::string> allNames(Entries &entries, Name nameOf) {
  std::vector<std::string> out;
  for (auto &e : entries) {
    out.push_back(nameOf(e));
    out.insert(out.end(), e.aliases.begin(), e.aliases.end());
  }
  return out;
}

const std::string &deviceName(const LibraryDevice &d) { return d.device.name; }
const std::string &hostName(const LibraryHost &h) { return h.host.name; }

} // namespace

const LibrarySource *LibraryEntry::sourceOf(StringRef path) const {
  for (StringRef p = path;; p = p.rsplit('.').first) {
    for (const LibrarySource &s : sources) {
      SmallVector<StringRef> of;
      StringRef(s.of).split(of, ' ', -1, /*KeepEmpty=*/false);
      if (is_contained(of, p))
        return &s;
    }
    if (!p.contains('.'))
      return nullptr;
  }
}

const LibraryDevice *Library::device(StringRef name) const { return findEntry(devices, name, deviceName); }
const LibraryHost *Library::host(StringRef name) const { return findEntry(hosts, name, hostName); }
std::vector<std::string> Library::deviceNames() const { return allNames(devices, deviceName); }
std::vector<std::string> Library::hostNames() const { return allNames(hosts, hostName); }

std::optional<Library> readLibrary(const std::string &dir, Diagnostics &diags) {
  Library library;
  LibraryReader reader(library, diags);
  if (!reader.read(dir, "device") || !reader.read(dir, "host"))
    return std::nullopt;
  return library;
}

const Library *LazyLibrary::get() {
  if (!asked && !dir.empty())
    library = readLibrary(dir, diags);
  asked = true;
  return library ? &*library : nullptr;
}

std::string didYouMeanName(StringRef word, ArrayRef<std::string> names) {
  std::vector<std::string> lower;
  for (const std::string &n : names)
    lower.push_back(StringRef(n).lower());
  std::vector<StringRef> refs(lower.begin(), lower.end());
  std::string asked = word.lower();
  StringRef found = nearest(asked, refs);
  for (size_t i = 0; i < lower.size(); ++i)
    if (!found.empty() && found == lower[i])
      return "; did you mean '" + names[i] + "'?";
  return "";
}

std::string libraryBeside(const std::string &shippedDir) {
  SmallString<256> path(sys::path::parent_path(shippedDir));
  sys::path::append(path, "library");
  return path.str().str();
}

} // namespace hocket
