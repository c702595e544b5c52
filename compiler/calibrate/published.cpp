#include "compiler/calibrate/published.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hocket::calibrate {

using cost::Precision;

namespace {

using Fields = std::vector<std::string>;

/// RFC 4180: quoted fields may hold commas, line ends and doubled quotes.
std::vector<Fields> parseCsv(std::string_view text, std::vector<size_t> &lines) {
  std::vector<Fields> rows;
  Fields row;
  std::string field;
  bool quoted = false, any = false;
  size_t line = 1, begin = 1;
  auto endRow = [&] {
    if (any) {
      row.push_back(field);
      rows.push_back(row);
      lines.push_back(begin);
    }
    row.clear(), field.clear(), any = false;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (!any)
      begin = line;
    if (c == '\n')
      ++line;
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += '"', ++i;
      else
        quoted = false;
    } else if (c == '"') {
      quoted = any = true;
    } else if (c == ',') {
      row.push_back(field), field.clear(), any = true;
    } else if (c == '\n') {
      endRow();
    } else if (c != '\r') {
      field += c, any = true;
    }
  }
  endRow();
  return rows;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// A number at the start of the text, if all of it is one.
bool number(std::string_view text, double &out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(out);
}

/// Dense peaks in TFLOP/s, memory and links in GB/s a direction; the same figures
/// as library/devices.toml.
/// `power`: what the same chip sustains in another power envelope, over its record's.
struct DeviceRow {
  const char *name, *record;
  double f16, fp8, fp4, memory, nvlink, nic;
  int64_t island, units;
  double power;
  double mebibytes; ///< that the driver reports
};
constexpr DeviceRow kDevices[] = {
    {"A100-40GB", "a100", 312, 0, 0, 1555, 300, 25, 8, 108, 1, 40441},
    {"A100-80GB", "a100", 312, 0, 0, 2039, 300, 25, 8, 108, 1, 81251},
    {"A100-SXM-80GB", "a100", 312, 0, 0, 2039, 300, 25, 8, 108, 1, 81251},
    {"A100", "a100", 312, 0, 0, 1555, 300, 12.5, 8, 108, 1, 81251},
    {"H100-80GB", "h100", 989.4, 1978.9, 0, 3350, 450, 50, 8, 132, 1, 81559},
    {"H100-SXM-80GB", "h100", 989.4, 1978.9, 0, 3350, 450, 50, 8, 132, 1, 81559},
    {"H100-96GB-HBM2e-500W", "h100-500w", 989.4, 1978.9, 0, 2400, 450, 50, 8, 132, 1, 97871},
    {"H200-SXM", "h100", 989.4, 1978.9, 0, 4800, 450, 50, 8, 132, 1, 143771},
    {"B200", "blackwell", 2250, 4500, 9000, 8000, 900, 50, 8, 148, 1, 183359},
    {"B300", "blackwell", 2250, 4500, 11250, 8000, 900, 100, 8, 148, 1.2, 275040},
    {"GB200", "blackwell", 2500, 5000, 10000, 8000, 900, 50, 72, 148, 1, 189471},
    {"GB300", "blackwell", 2500, 5000, 12500, 8000, 900, 100, 72, 148, 1.2, 284208},
};

/// Dimensions that a family of models has beside what the columns say.
struct ModelRow {
  const char *prefix;
  bool gated, biased, tied;
};
constexpr ModelRow kModels[] = {
    {"MPT", false, false, true},        {"GPT OSS", true, true, false},      {"GPT", false, true, true},
    {"BLOOM", false, true, true},       {"LLaMA", true, false, false},       {"LLAMA", true, false, false},
    {"Llama", true, false, false},      {"Nemotron-", false, false, false},  {"Qwen", true, false, false},
    {"DeepSeekV3", true, false, false}, {"DeepSeek-V3", true, false, false}, {"Kimi", true, false, false},
};

struct SourceRow {
  const char *part, *family, *stack, *attention, *cluster;
};
constexpr SourceRow kSources[] = {
    {"llm-foundry", "llm-foundry", "llm-foundry", "triton", "mosaic"},
    {"Megatron-Bridge", "megatron-bridge", "megatron-bridge", "cudnn", "nvidia"},
    {"NVIDIA/NeMo", "nemo", "nemo", "cudnn", "nvidia"},
    {"Narayanan", "sc21", "megatron", "megatron", "selene"},
    {"Korthikanti", "korthikanti", "megatron", "megatron", "selene"},
    {"torchtitan", "torchtitan", "torchtitan", "sdpa", "torchtitan"},
    {"ground_truth_multi", "vtrain-multi", "megatron", "megatron", "vtrain"},
    {"ground_truth_single", "vtrain-single", "vtrain-single", "vtrain-single", "vtrain-single"},
    {"bigscience", "bloom", "megatron-deepspeed", "megatron", "jean-zay"},
};

class Row {
public:
  Row(const std::map<std::string, size_t> &columns, const Fields &fields, Published &out)
      : columns(columns), fields(fields), out(out) {}
  void read();

private:
  const std::map<std::string, size_t> &columns;
  const Fields &fields;
  Published &out;

  std::string text(const char *column) const {
    auto it = columns.find(column);
    return it != columns.end() && it->second < fields.size() ? fields[it->second] : "";
  }
  int64_t integer(const char *column) const {
    double v = 0;
    return number(text(column), v) && v >= 0 && v < 1e15 ? static_cast<int64_t>(v) : 0;
  }
  int64_t orDefault(const char *column, const char *name, int64_t value) {
    int64_t v = integer(column);
    if (v > 0)
      return v;
    out.defaults.push_back(name);
    return value;
  }
  bool fail(const std::string &why) {
    if (out.unmapped.empty())
      out.unmapped = why;
    return false;
  }
  bool source();
  bool device();
  bool shape();
  bool experts();
  bool tactics();
  void memory();
};

bool Row::source() {
  for (const SourceRow &s : kSources)
    if (has(out.source, s.part)) {
      out.family = s.family, out.stack = s.stack, out.attention = s.attention, out.cluster = s.cluster;
      return true;
    }
  out.family = "other", out.stack = "megatron", out.attention = "cudnn", out.cluster = "other";
  return true;
}

bool Row::device() {
  std::string gpu = text("gpu");
  auto *row = std::find_if(std::begin(kDevices), std::end(kDevices),
                           [&](const DeviceRow &d) { return gpu == d.name; });
  if (row == std::end(kDevices))
    return fail("device '" + gpu + "' is not in the table");
  out.device = row->record;
  cost::Machine &m = out.machine;
  m.device.name = gpu;
  m.device.units = row->units;
  m.device.memoryRate = row->memory * 1e9;
  m.device.memory = row->mebibytes * 0x1p20;
  auto peak = [&](Precision p) -> double & { return m.device.peak[static_cast<size_t>(p)]; };
  peak(Precision::F16) = row->f16 * row->power * 1e12;
  peak(Precision::Fp8) = peak(Precision::MxFp8) = row->fp8 * row->power * 1e12;
  peak(Precision::NvFp4) = row->fp4 * row->power * 1e12;
  m.devices = integer("num_gpus");
  m.devicesPerHost = std::max<int64_t>(1, integer("gpus_per_node"));
  double nic = row->nic;
  if (out.family == "bloom")
    nic = 6.25; // four 100 Gb/s links for eight devices
  m.levels = {{"nvlink", cost::FabricKind::NvSwitch, row->island, row->nvlink * 1e9, 0, 1, false},
              {"network", cost::FabricKind::Rail, std::max<int64_t>(1, m.devices / row->island), nic * 1e9, 0,
               1, false}};
  if (out.family == "megatron-bridge" || out.family == "nemo") {
    bool blackwell = has(out.device, "blackwell");
    out.attention = blackwell ? "cudnn-blackwell" : "cudnn-hopper";
    out.cluster = blackwell ? "nvidia-blackwell" : "nvidia-h100";
  } else if (out.family == "llm-foundry") {
    bool hopper = out.device == "h100";
    out.attention = hopper ? "triton-hopper" : "triton-ampere";
    out.cluster = hopper ? "mosaic-h100" : "mosaic-a100";
    out.stack = hopper ? "llm-foundry-h100" : "llm-foundry-a100";
  } else if (out.family == "torchtitan") {
    out.cluster = gpu == "H200-SXM" ? "torchtitan-h200" : "torchtitan";
    bool compiled = has(text("notes"), "compile");
    out.stack = compiled ? "torchtitan-compile" : "torchtitan";
    if (has(text("notes"), "async TP") || has(text("notes"), "AsyncTP"))
      out.stack = "torchtitan-async";
  }
  return m.devices > 0 || fail("the number of devices is not published");
}

bool Row::experts() {
  std::string moe = text("moe");
  if (moe.empty())
    return true;
  // "256+1shared/8 (moe_ffn 2048, first 3 dense, MLA)", "128/8"
  cost::ExpertShape &e = out.model.experts;
  auto lead = [](std::string_view s) {
    int64_t v = 0;
    std::from_chars(s.data(), s.data() + s.size(), v);
    return v;
  };
  e.count = lead(moe);
  size_t plus = moe.find('+'), slash = moe.find('/');
  if (plus != std::string::npos && plus < slash)
    e.shared = lead(std::string_view(moe).substr(plus + 1));
  if (slash == std::string::npos)
    return fail("experts '" + moe + "' name no number per token");
  e.topk = lead(std::string_view(moe).substr(slash + 1));
  e.ffn = out.model.ffn;
  if (size_t at = moe.find("moe_ffn "); at != std::string::npos)
    e.ffn = lead(std::string_view(moe).substr(at + 8));
  if (size_t at = moe.find("first "); at != std::string::npos)
    e.denseLayers = lead(std::string_view(moe).substr(at + 6));
  if (has(moe, "MLA"))
    out.model.latent = {1536, 512, 128, 64, 128};
  if (e.count <= 0 || e.topk <= 0)
    return fail("experts '" + moe + "' are not a count and a number per token");
  return true;
}

bool Row::shape() {
  cost::ModelShape &m = out.model;
  m.name = out.name;
  auto *row = std::find_if(std::begin(kModels), std::end(kModels),
                           [&](const ModelRow &k) { return out.name.starts_with(k.prefix); });
  if (row != std::end(kModels))
    m.gated = row->gated, m.biased = row->biased, m.tied = row->tied;
  m.hidden = integer("hidden");
  if (!m.hidden)
    return fail("the model's dimensions are not published");
  std::string vocab = text("vocab");
  if (has(vocab, "250k")) {
    m.vocab = 250880;
  } else {
    m.vocab = integer("vocab");
    if (!m.vocab) {
      bool nemotron = out.name.starts_with("Nemotron");
      out.defaults.push_back(nemotron ? "vocabulary-nemotron" : "vocabulary-gpt");
      m.vocab = nemotron ? 256000 : 51200;
    }
  }
  m.ffn = orDefault("ffn", "feed-forward", 4 * m.hidden);
  m.heads = integer("heads");
  if (!m.heads) {
    out.defaults.push_back("heads");
    m.heads = std::max<int64_t>(1, m.hidden % 512 != 0 && m.hidden % 96 == 0 ? 96
                                   : m.hidden > 8192                         ? 64
                                                                             : m.hidden / 128);
  }
  m.kvHeads = integer("kv_heads");
  if (!m.kvHeads)
    m.kvHeads = m.heads;
  m.headDim = m.hidden / m.heads;
  if (out.name.starts_with("Qwen3"))
    m.headDim = 128;
  if (out.name.starts_with("GPT OSS"))
    m.headDim = 64;
  m.layers = integer("layers");
  if (!m.layers) {
    double billions = 0;
    if (!number(text("params_B"), billions) || billions <= 0)
      return fail("neither layers nor parameters are published");
    double h = static_cast<double>(m.hidden), layer = 12 * h * h;
    double stages = std::max<double>(1, static_cast<double>(integer("pp")));
    double layers = (billions * 1e9 - static_cast<double>(m.vocab) * h) / layer;
    m.layers = static_cast<int64_t>(std::max(1.0, std::round(layers / stages)) * stages);
    out.defaults.push_back("layers");
  }
  if (m.heads > m.hidden || m.layers > 10000 || m.hidden > 1000000)
    return fail("the model's dimensions are out of range");
  out.work.sequence = integer("seq");
  return (out.work.sequence > 0 || fail("the sequence is not published")) && experts();
}

bool Row::tactics() {
  cost::Tactics &x = out.tactics;
  out.work.globalBatch = integer("global_batch");
  if (!out.work.globalBatch)
    return fail("the batch is not published");
  if (text("tp").empty() && text("pp").empty())
    return fail("the mapping is not published");
  x.tensor = std::max<int64_t>(1, integer("tp"));
  x.context = std::max<int64_t>(1, integer("cp"));
  x.pipeline = std::max<int64_t>(1, integer("pp"));
  x.expert = std::max<int64_t>(1, integer("ep"));
  x.chunks = std::max<int64_t>(1, integer("vpp"));
  x.data = integer("dp");
  int64_t used = x.tensor * x.context * x.pipeline;
  if (used > out.machine.devices)
    return fail("more ranks than devices");
  if (!x.data)
    x.data = out.machine.devices / used;
  if (x.pipeline == 1) {
    x.chunks = 1;
  } else if (integer("vpp") == 0 && out.family.starts_with("megatron-bridge")) {
    x.chunks = std::max<int64_t>(1, out.model.layers / x.pipeline / 4);
    out.defaults.push_back("chunks");
  }
  x.schedule = x.chunks > 1 ? cost::ScheduleKind::Interleaved : cost::ScheduleKind::OneFOneB;
  std::string precision = text("precision"), zero = text("zero_or_dist_opt"), recompute = text("recompute");
  if (out.family == "bloom" && has(text("table"), "Rebalancing")) {
    // The embedding and the head count as layers there: the ends hold one less.
    int64_t each = (out.model.layers + 2 + x.pipeline - 1) / x.pipeline;
    if (x.pipeline > 1 && each * x.pipeline == out.model.layers + 2) {
      x.stageLayers.assign(static_cast<size_t>(x.pipeline), each);
      x.stageLayers.front() = x.stageLayers.back() = each - 1;
      out.defaults.push_back("balanced-ends");
    }
  }
  if (x.stageLayers.empty() && out.model.layers % x.pipeline != 0 && out.family == "bloom") {
    out.model.layers -= out.model.layers % x.pipeline;
    out.defaults.push_back("layers-truncated");
  }
  if (out.family.starts_with("vtrain") && x.tensor > 1) {
    int64_t block = 128 * x.tensor;
    out.model.vocab = (out.model.vocab + block - 1) / block * block;
    out.defaults.push_back("vocabulary-padded");
  }
  if (out.machine.devices != used * x.data) {
    x.data = std::max<int64_t>(1, out.machine.devices / used);
    out.defaults.push_back("data-from-devices");
  }
  bool fp8 = has(precision, "FP8") || has(precision, "float8");
  size_t eight = precision.find("FP8");
  x.precision = Precision::F16;
  if (has(precision, "NVFP4"))
    x.precision = Precision::NvFp4;
  else if (fp8)
    x.precision = precision.starts_with("MXFP8") || (eight == 0 && precision.starts_with("FP8-MX")) ||
                          has(precision, "rowwise")
                      ? Precision::MxFp8
                      : Precision::Fp8;
  if (x.precision != Precision::F16 && out.machine.device.peak[static_cast<size_t>(x.precision)] <= 0)
    return fail("the device has no unit for " + precision);
  x.sequenceParallel = text("sequence_parallel") == "yes";
  if (has(zero, "FSDP") || zero == "ZeRO-3")
    x.zero = cost::Zero::Parameters;
  else if (has(zero, "ZeRO-1") || has(zero, "overlap"))
    x.zero = cost::Zero::Optimizer;
  x.gradientsF32 = has(precision, "fp32 grad");
  if (out.family == "nemo" || out.family == "megatron-bridge") {
    if (x.zero == cost::Zero::None) {
      x.zero = cost::Zero::Optimizer;
      out.defaults.push_back("optimizer-sharded");
    }
    if (x.tensor > 1) {
      x.sequenceParallel = true;
      out.defaults.push_back("sequence-parallel");
    }
  }
  if (has(recompute, "full"))
    x.recompute = cost::Recompute::Full;
  else if (has(recompute, "selective"))
    x.recompute = cost::Recompute::Selective;
  else if (recompute.empty())
    out.defaults.push_back("recompute-none");
  out.recomputeStated = !recompute.empty();
  x.microBatch = integer("micro_batch");
  if (!x.microBatch) {
    x.microBatch = 1;
    int64_t own = out.work.globalBatch / std::max<int64_t>(1, x.data);
    // SC21 prints none: 16 sequences a replica without stages, small models run more at once.
    int64_t want = x.pipeline > 1 ? 1 : out.model.hidden <= 3072 ? 16 : 4;
    while (x.microBatch * 2 <= want && own % (x.microBatch * 2) == 0)
      x.microBatch *= 2;
    out.defaults.push_back("micro-batch");
  }
  if (x.data * x.microBatch > out.work.globalBatch)
    return fail("the batch is smaller than one micro-batch of every replica");
  if (x.pipeline > out.model.layers || x.tensor > out.model.heads * 16)
    return fail("more stages than layers or more tensor ranks than heads");
  std::string notes = text("table") + " " + text("notes");
  out.fineTuning = has(notes, "Finetuning") || has(notes, "Fine-Tuning") || has(notes, "LoRA") ||
                   has(notes, "SFT") || has(notes, "PEFT");
  return true;
}

/// "mem 47GB", "peak mem 82.4 GiB", "mem OOM".
void Row::memory() {
  std::string notes = text("notes");
  size_t at = notes.find("mem ");
  if (at == std::string::npos || (at > 0 && notes[at - 1] != ' '))
    return;
  std::string_view rest = std::string_view(notes).substr(at + 4);
  out.outOfMemory = rest.starts_with("OOM");
  double value = 0;
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  std::string_view unit = rest.substr(static_cast<size_t>(end - rest.data()));
  if (error != std::errc() || !(value > 0 && value < 1e6))
    return;
  // A GB is read as 2^30 bytes: 76 of them were "too close to OOM" on a device of 79.3 GiB.
  if (unit.starts_with("GB") || unit.starts_with(" GiB"))
    out.peakBytes = value * 0x1p30;
}

void Row::read() {
  out.source = text("source");
  out.name = text("model");
  double seconds = 0;
  if (number(text("step_time_s"), seconds) && seconds > 0)
    out.seconds = seconds;
  source() && device() && shape() && tactics();
  memory();
  out.memoryStack = out.family == "vtrain-single" ? "megatron"
                    : out.family == "torchtitan"  ? "torchtitan"
                                                  : out.stack;
  for (const char *column : {"source", "model", "gpu", "num_gpus", "global_batch", "precision"})
    out.group += text(column) + "|";
  if (out.family == "megatron-bridge") {
    if (out.model.experts.count)
      out.family = "bridge-moe", out.stack = "megatron-bridge-moe";
    else
      out.family = has(out.device, "blackwell") ? "bridge-blackwell" : "bridge-h100";
  }
}

} // namespace

Table readPublished(std::string_view text) {
  Table table;
  std::vector<size_t> lines;
  std::vector<Fields> rows = parseCsv(text, lines);
  if (rows.empty()) {
    table.error = "the file is empty";
    return table;
  }
  std::map<std::string, size_t> columns;
  for (size_t i = 0; i < rows[0].size(); ++i)
    columns.emplace(rows[0][i], i);
  for (const char *column :
       {"source", "model", "hidden", "seq", "gpu", "num_gpus", "global_batch", "tp", "pp", "step_time_s"})
    if (!columns.count(column)) {
      table.error = std::string("there is no column '") + column + "'";
      return table;
    }
  for (size_t i = 1; i < rows.size(); ++i) {
    Published out;
    out.line = lines[i];
    Row(columns, rows[i], out).read();
    table.rows.push_back(std::move(out));
  }
  return table;
}

const std::map<std::string, std::string> &defaultsExplained() {
  static const std::map<std::string, std::string> all = {
      {"feed-forward", "four times the hidden size"},
      {"balanced-ends", "first and last stage hold a layer less (BLOOM's rebalanced plans)"},
      {"chunks", "four layers a virtual stage where stages are interleaved (Megatron-Bridge)"},
      {"data-from-devices",
       "data parallelism is what the devices leave, where the printed one does not fit them"},
      {"layers-truncated", "layers that do not divide into stages were not built (Megatron at the time)"},
      {"heads", "64 above hidden size 8,192 (96 if that is no multiple of 512), else a head of 128"},
      {"layers", "from the stated parameters: (P - V h) / 12 h^2, rounded to whole stages"},
      {"micro-batch",
       "1 with stages; without, 4, or 16 up to hidden size 3,072, as far as the batch divides"},
      {"optimizer-sharded", "the optimizer is sharded over data (NeMo, Megatron-Bridge)"},
      {"recompute-none", "nothing is computed again where no recompute is named"},
      {"sequence-parallel", "sequence parallelism where tensor > 1 (NeMo, Megatron-Bridge)"},
      {"vocabulary-padded", "to a multiple of 128 per tensor rank, where there is more than one (vTrain)"},
      {"vocabulary-gpt", "51,200 (GPT-2's, padded)"},
      {"vocabulary-nemotron", "256,000"},
  };
  return all;
}

} // namespace hocket::calibrate
