#include "compiler/input/job.h"

#include "compiler/input/table_reader.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hocket {

format::Optimizer Job::adamw() {
  format::Optimizer o;
  o.lr = 3e-4;
  o.beta1 = 0.9;
  o.beta2 = 0.95;
  o.eps = 1e-8;
  o.decay = 0.1;
  o.clip = 1.0;
  o.schedule = format::ScheduleKind::Cosine;
  o.warmup = 100;
  o.steps = 2000;
  o.minLr = 3e-5;
  return o;
}

/// In the order of ComputeType.
static constexpr StringRef kComputeTypes[] = {"f64", "f32", "bf16", "fp8-tensorwise", "mxfp8", "nvfp4"};

StringRef name(ComputeType type) { return kComputeTypes[size_t(type)]; }

std::optional<ComputeType> parseCompute(StringRef name, Loc loc, Diagnostics &diags) {
  for (auto [i, word] : enumerate(kComputeTypes))
    if (word == name)
      return ComputeType(i);
  diags.error(loc, "dtype '" + name + "' is unknown: write " + alternatives(kComputeTypes) +
                       didYouMean(name, kComputeTypes));
  return std::nullopt;
}

bool checkExecutable(const Job &job, Diagnostics &diags) {
  if (job.compute == ComputeType::F32 || job.compute == ComputeType::F64)
    return true;
  diags.error(job.dtypeLoc,
              "dtype '" + name(job.compute) + "' is not executable in this version: write 'f32' or 'f64'",
              kExitIncompatible);
  return false;
}

namespace {

void readDType(TableReader &top, Job &job, Diagnostics &diags) {
  const Value *v = top.find("dtype");
  if (!v)
    return;
  job.dtypeLoc = v->loc;
  if (v->kind == Value::Kind::String) {
    if (auto d = parseCompute(v->string, v->loc, diags))
      job.compute = *d, job.computeGiven = true;
    return;
  }
  if (v->kind != Value::Kind::Table) {
    diags.error(v->loc, "'dtype' must be a string or a table, not " + kindName(v->kind));
    return;
  }
  TableReader r(*v, "'dtype'", diags);
  std::optional<ComputeType> compute, gradients;
  if (auto s = r.string("compute"))
    compute = parseCompute(*s, r.find("compute")->loc, diags);
  else if (!r.find("compute"))
    r.missing("compute");
  if (auto s = r.string("gradients"))
    gradients = parseCompute(*s, r.find("gradients")->loc, diags);
  r.finish();
  if (compute)
    job.compute = *compute, job.computeGiven = true;
  if (!compute || !gradients)
    return;
  // Beside narrow products: 16 bits or f32; beside wide ones their own.
  bool narrow = *compute > ComputeType::F32;
  job.gradientsF32 = *gradients == ComputeType::F32;
  if (narrow ? *gradients != ComputeType::F32 && *gradients != ComputeType::Bf16 : *gradients != *compute)
    diags.error(r.find("gradients")->loc,
                "gradients beside compute = '" + name(*compute) + "' are " +
                    (narrow ? "'f32' or 'bf16'" : "'" + name(*compute).str() + "'"));
}

void readOptimizer(TableReader &top, Job &job, Diagnostics &diags) {
  const Value *v = top.find("optimizer");
  if (!v)
    return;
  constexpr StringRef names[] = {"adamw"};
  if (v->kind == Value::Kind::String) {
    (void)asWord(*v, "optimizer", names, diags);
    return;
  }
  if (v->kind != Value::Kind::Table) {
    diags.error(v->loc, "'optimizer' must be \"adamw\" or a table, not " + kindName(v->kind));
    return;
  }
  TableReader r(*v, "'optimizer'", diags);
  format::Optimizer &o = job.optimizer;
  (void)r.word("name", names);
  if (!r.find("name"))
    r.missing("name");
  o.lr = r.number("lr", 0, 1e3).value_or(o.lr);
  if (const Value *betas = r.array("betas")) {
    if (betas->items.size() != 2) {
      diags.error(betas->loc, "'betas' must hold two numbers, as in [0.9, 0.95]");
    } else {
      // Below 1: the bias correction divides by 1 - beta^t.
      constexpr double most = 0.9999999;
      o.beta1 = asNumber(betas->items[0], "betas", 0, most, diags).value_or(o.beta1);
      o.beta2 = asNumber(betas->items[1], "betas", 0, most, diags).value_or(o.beta2);
    }
  }
  o.eps = r.number("eps", 1e-300, 1).value_or(o.eps);
  o.decay = r.number("decay", 0, 1e3).value_or(o.decay);
  o.clip = r.number("clip", 0, 1e12).value_or(o.clip);
  if (auto s = r.word("schedule", {"cosine", "constant"}))
    o.schedule = *s == "constant" ? format::ScheduleKind::Constant : format::ScheduleKind::Cosine;
  if (o.schedule == format::ScheduleKind::Constant) {
    o.warmup = o.steps = 0;
    o.minLr = 0;
    for (StringRef key : {"warmup", "steps", "min_lr"})
      if (r.find(key))
        diags.error(r.keyLoc(key), "'" + key + "' has no meaning with schedule = \"constant\"");
  } else {
    constexpr int64_t most = UINT32_MAX;
    o.warmup = static_cast<uint32_t>(r.integer("warmup", 0, most).value_or(o.warmup));
    o.steps = static_cast<uint32_t>(r.integer("steps", 1, most).value_or(o.steps));
    o.minLr = r.number("min_lr", 0, 1e3).value_or(std::min(o.minLr, o.lr));
    if (o.minLr > o.lr)
      diags.error(r.find("min_lr")->loc, "'min_lr' is above 'lr'");
    if (o.warmup >= o.steps)
      diags.error(r.find("warmup") ? r.find("warmup")->loc : r.loc(),
                  "'warmup' (" + Twine(o.warmup) + ") must be below 'steps' (" + Twine(o.steps) + ")");
  }
  r.finish();
}

} // namespace

std::optional<Job> readJob(int32_t source, Diagnostics &diags) {
  size_t before = diags.errors();
  std::optional<Value> root = parseToml(source, diags);
  if (!root)
    return std::nullopt;
  Job job;
  job.text = diags.text(source).str();
  TableReader top(*root, "the job file", diags);
  top.format();
  if (auto model = top.string("model")) {
    SmallString<256> path(*model);
    if (!sys::path::is_absolute(path)) {
      path = sys::path::parent_path(diags.name(source));
      sys::path::append(path, *model);
    }
    job.model = path.str().str();
    job.modelLoc = top.find("model")->loc;
  }
  if (const Value *v = top.subtable("train")) {
    TableReader r(*v, "'train'", diags);
    job.sequence = r.integer("sequence", 1, kMaxSequence).value_or(0);
    job.globalBatch = r.integer("global_batch", 1, kMaxBatch).value_or(0);
    if (const Value *s = r.find("sequence"))
      job.sequenceLoc = s->loc;
    if (const Value *s = r.find("global_batch"))
      job.globalBatchLoc = s->loc;
    job.tokens = r.number("tokens", 1, 1e18).value_or(0);
    r.finish();
  }
  top.unsupported("serve", "only training is");
  readDType(top, job, diags);
  readOptimizer(top, job, diags);
  if (const Value *v = top.subtable("target")) {
    TableReader r(*v, "'target'", diags);
    if (auto runtime = r.string("runtime"); runtime && *runtime != "hocket")
      diags.error(r.find("runtime")->loc,
                  "target runtime '" + *runtime + "' does not exist in this version: write 'hocket'");
    if (auto share = r.quantity("headroom", Unit::Fraction))
      job.headroom = *share, job.headroomGiven = true;
    r.finish();
  }
  if (const Value *v = top.subtable("goal")) {
    TableReader r(*v, "'goal'", diags);
    if (auto goal = r.string("minimize"); goal && *goal != "step_time")
      diags.error(r.find("minimize")->loc,
                  "goal '" + *goal + "' does not exist in this version: write 'step_time'");
    if (const Value *require = r.array("require"))
      for (const Value &v : require->items) {
        if (v.kind == Value::Kind::String)
          job.require.push_back({v.string, v.loc});
        else
          diags.error(v.loc, "a requirement must be a string, not " + kindName(v.kind));
      }
    r.finish();
  }
  top.finish();
  return diags.errors() == before ? std::optional(job) : std::nullopt;
}

} // namespace hocket
