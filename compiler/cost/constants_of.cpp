#include "compiler/cost/constants_of.h"

#include "compiler/input/table_reader.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hocket {

namespace {

using namespace cost;

template <typename T>
struct Key {
  StringRef name;
  double T::*value;
  double most = 1e6;
};

const Key<DeviceConstants> kDevice[] = {
    {"f16", &DeviceConstants::f16, 2},       {"fp8", &DeviceConstants::fp8, 2},
    {"mxfp8", &DeviceConstants::mxfp8, 2},   {"nvfp4", &DeviceConstants::nvfp4, 2},
    {"memory", &DeviceConstants::memory, 2}, {"operands", &DeviceConstants::operands},
    {"kernel", &DeviceConstants::kernel},    {"misaligned", &DeviceConstants::misaligned},
    {"wave", &DeviceConstants::wave}};
const Key<AttentionConstants> kAttention[] = {{"forward", &AttentionConstants::forward, 2},
                                              {"backward", &AttentionConstants::backward, 2},
                                              {"misaligned", &AttentionConstants::misaligned},
                                              {"score_bytes", &AttentionConstants::scoreBytes}};
const Key<StackConstants> kStack[] = {{"launch", &StackConstants::launch},
                                      {"traffic", &StackConstants::traffic},
                                      {"tensor_exposed", &StackConstants::tensorExposed},
                                      {"gradient_exposed", &StackConstants::gradientExposed},
                                      {"gather_exposed", &StackConstants::gatherExposed},
                                      {"stage_exposed", &StackConstants::stageExposed},
                                      {"step", &StackConstants::step},
                                      {"micro", &StackConstants::micro}};
const Key<ClusterConstants> kCluster[] = {{"site", &ClusterConstants::site},
                                          {"inner", &ClusterConstants::inner, 2},
                                          {"inner_latency", &ClusterConstants::innerLatency},
                                          {"outer", &ClusterConstants::outer, 2},
                                          {"outer_latency", &ClusterConstants::outerLatency},
                                          {"transfer", &ClusterConstants::transfer, 2}};
const Key<MemoryConstants> kMemory[] = {{"reserve", &MemoryConstants::reserve, 1e12},
                                        {"activation_factor", &MemoryConstants::activationFactor},
                                        {"optimizer_scratch", &MemoryConstants::optimizerScratch},
                                        {"accumulation_copy", &MemoryConstants::accumulationCopy},
                                        {"logit_bytes", &MemoryConstants::logitBytes},
                                        {"stage_tensors", &MemoryConstants::stageTensors}};

template <typename T>
void readKind(TableReader &top, StringRef word, ArrayRef<Key<T>> keys,
              std::map<std::string, ConstantsRecord<T>> &records, Diagnostics &diags) {
  const Value *entries = top.subtable(word);
  if (!entries)
    return;
  for (const Member &m : entries->members) {
    std::string what = ("[" + word + "." + m.key + "]").str();
    if (m.value.kind != Value::Kind::Table) {
      diags.error(m.value.loc, what + " must be a table, not " + kindName(m.value.kind));
      continue;
    }
    TableReader r(m.value, what, diags);
    ConstantsRecord<T> record;
    for (const Key<T> &key : keys) {
      if (!r.find(key.name))
        r.missing(key.name);
      else
        record.constants.*key.value = r.number(key.name, 0, key.most).value_or(0);
    }
    record.source = r.string("source").value_or("");
    if (!r.find("source"))
      r.missing("source");
    r.finish();
    records.emplace(m.key, std::move(record));
  }
}

/// What was measured on an architecture.
struct Measured {
  StringRef arch, device, attention, stack, experts;
};
constexpr Measured kMeasured[] = {
    {"sm_80", "a100", "triton-ampere", "megatron", "megatron"},
    {"sm_90", "h100", "cudnn-hopper", "megatron-bridge", "megatron-bridge-moe"},
    {"sm_100", "blackwell", "cudnn-blackwell", "megatron-bridge", "megatron-bridge-moe"},
    {"sm_103", "blackwell", "cudnn-blackwell", "megatron-bridge", "megatron-bridge-moe"}};

template <typename T>
bool take(const std::map<std::string, ConstantsRecord<T>> &records, StringRef name, T &out,
          std::string &taken) {
  auto it = records.find(name.str());
  if (it == records.end())
    return false;
  out = it->second.constants, taken = it->first;
  return true;
}

template <typename T>
bool named(const std::map<std::string, ConstantsRecord<T>> &records, StringRef name, const char *what, T &out,
           std::string &taken, Loc loc, Diagnostics &diags) {
  if (name.empty() || take(records, name, out, taken))
    return true;
  SmallVector<StringRef> names;
  for (const auto &[key, record] : records)
    names.push_back(key);
  diags.error(loc,
              Twine("no measured ") + what + " is called '" + name + "'; there are " + alternatives(names));
  return false;
}

} // namespace

std::optional<ConstantsLibrary> readConstants(const std::string &dir, Diagnostics &diags) {
  SmallString<256> path(dir);
  sys::path::append(path, "constants.toml");
  std::optional<int32_t> source = loadText(path.str().str(), diags);
  std::optional<Value> root = source ? parseToml(*source, diags) : std::nullopt;
  if (!root)
    return std::nullopt;
  size_t before = diags.errors();
  ConstantsLibrary library;
  TableReader top(*root, "the library of constants", diags);
  top.format();
  readKind<DeviceConstants>(top, "device", kDevice, library.device, diags);
  readKind<AttentionConstants>(top, "attention", kAttention, library.attention, diags);
  readKind<StackConstants>(top, "stack", kStack, library.stack, diags);
  readKind<ClusterConstants>(top, "cluster", kCluster, library.cluster, diags);
  readKind<MemoryConstants>(top, "memory", kMemory, library.memory, diags);
  top.finish();
  if (diags.errors() != before)
    return std::nullopt;
  return library;
}

std::optional<ChosenConstants> chooseConstants(const ConstantsLibrary &library, const DeviceKind &device,
                                               bool experts, StringRef stack, StringRef cluster, Loc loc,
                                               Diagnostics &diags) {
  ChosenConstants out;
  cost::Constants &c = out.constants;
  StringRef usual;
  for (const Measured &m : kMeasured)
    if (device.arch == m.arch) {
      take(library.device, m.device, c.device, out.device);
      take(library.attention, m.attention, c.attention, out.attention);
      usual = experts ? m.experts : m.stack;
    }
  if (stack.empty())
    take(library.stack, usual, c.stack, out.stack);
  else if (!named(library.stack, stack, "software stack", c.stack, out.stack, loc, diags))
    return std::nullopt;
  if (!named(library.cluster, cluster, "cluster", c.cluster, out.cluster, loc, diags))
    return std::nullopt;
  // A driver's context, communicators and workspaces are there on every GPU.
  if (!take(library.memory, out.stack, out.memory, out.memoryStack) && device.gpu)
    out.memory.reserve = 3 * 0x1p30;
  return out;
}

} // namespace hocket
