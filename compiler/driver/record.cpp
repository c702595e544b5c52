#include "compiler/driver/record.h"

#include "compiler/input/mlir_bridge.h"
#include "dialects/par/Sharding.h"
#include "dialects/plan/Plan.h"

#include "mlir/IR/Builders.h"

using namespace llvm;
using namespace mlir;

namespace hocket {

namespace {

constexpr StringLiteral kJob = "hocket.job", kStrategy = "hocket.strategy", kDevice = "hocket.device";

StringRef dtypeName(format::DType dtype) { return dtype == format::DType::F64 ? "f64" : "f32"; }

struct Number {
  StringRef name;
  double *value;
};

std::array<Number, 8> numbers(Job &job) {
  format::Optimizer &o = job.optimizer;
  return {{{"lr", &o.lr},
           {"beta1", &o.beta1},
           {"beta2", &o.beta2},
           {"eps", &o.eps},
           {"decay", &o.decay},
           {"clip", &o.clip},
           {"min_lr", &o.minLr},
           {"headroom", &job.headroom}}};
}

/// Reads typed entries of a dictionary; the first that is missing or of another type is an error.
class Reader {
public:
  Reader(ModuleOp module, StringRef name, Diagnostics &diags)
      : module(module), name(name), diags(diags), entries(module->getAttrOfType<DictionaryAttr>(name)) {
    if (!entries)
      fail("has no " + name + ", which --stop-after writes");
  }
  bool ok() const { return good; }
  std::string text(StringRef key) {
    auto a = get<StringAttr>(key);
    return a ? a.str() : "";
  }
  /// From 0 to 2^31 - 1.
  int64_t integer(StringRef key) {
    auto a = get<IntegerAttr>(key);
    if (!a)
      return 0;
    if (!a.getType().isInteger(64) || a.getInt() < 0 || a.getInt() > INT32_MAX)
      return fail(name + ": " + key + " is out of range"), 0;
    return a.getInt();
  }
  double number(StringRef key) {
    auto a = get<FloatAttr>(key);
    if (!a)
      return 0;
    double v = a.getValueAsDouble();
    if (!(v >= 0 && v < 1e300)) // none of the optimizer's numbers may be negative or NaN
      return fail(name + ": " + key + " is out of range"), 0;
    return v;
  }

private:
  template <typename A>
  A get(StringRef key) {
    A a = entries ? entries.getAs<A>(key) : A();
    if (!a && good)
      fail(name + " has no " + key + " of the right type");
    return a;
  }
  void fail(const Twine &what) {
    good = false;
    MlirDiagnosticBridge bridge(module.getContext(), diags, kExitBadInput);
    module.emitError() << what.str();
  }

  ModuleOp module;
  StringRef name;
  Diagnostics &diags;
  DictionaryAttr entries;
  bool good = true;
};

/// Sizes of the mesh that the strategy means; micro-batches come last.
bool sameMesh(ModuleOp module, const PlanInputs &in) {
  int64_t micros = in.job.globalBatch / (in.strategy->data * in.strategy->microBatch);
  if (par::MeshOp mesh = par::findMesh(module)) {
    for (StringRef axis : in.strategy->order)
      if (par::axisSize(mesh, axis) != in.strategy->size(axis))
        return false;
    return par::axisSize(mesh, "micro") == micros;
  }
  for (auto mesh : module.getOps<plan::MeshOp>()) {
    for (auto [axis, size] : zip(mesh.getAxes(), mesh.getSizes()))
      if (in.strategy->size(cast<StringAttr>(axis).getValue()) != size)
        return false;
    return int64_t(mesh.getMicroBatches()) == micros;
  }
  return false;
}

} // namespace

void recordJob(ModuleOp module, const PlanInputs &inputs) {
  Builder b(module.getContext());
  Job job = inputs.job;
  const format::Optimizer &o = job.optimizer;
  NamedAttrList list;
  list.set("model", b.getStringAttr(inputs.model.name));
  list.set("config", b.getStringAttr(inputs.model.text));
  list.set("sequence", b.getI64IntegerAttr(job.sequence));
  list.set("global_batch", b.getI64IntegerAttr(job.globalBatch));
  list.set("dtype", b.getStringAttr(dtypeName(job.dtype())));
  for (Number n : numbers(job))
    list.set(n.name, b.getF64FloatAttr(*n.value));
  list.set("schedule", b.getStringAttr(o.schedule == format::ScheduleKind::Cosine ? "cosine" : "constant"));
  list.set("warmup", b.getI64IntegerAttr(o.warmup));
  list.set("steps", b.getI64IntegerAttr(o.steps));
  module->setAttr(kJob, list.getDictionary(module.getContext()));
}

void recordStrategy(ModuleOp module, const Strategy &strategy) {
  module->setAttr(kStrategy, StringAttr::get(module.getContext(), toToml(strategy)));
}

void recordDevice(ModuleOp module, const DeviceKind &device) {
  Builder b(module.getContext());
  module->setAttr(kDevice,
                  b.getDictionaryAttr({b.getNamedAttr("isa", b.getStringAttr(device.isa)),
                                       b.getNamedAttr("threads", b.getI64IntegerAttr(device.threads))}));
}

bool resumeRequest(ModuleOp module, PlanRequest &request, PlanInputs &inputs, Diagnostics &diags) {
  Reader job(module, kJob, diags);
  int64_t sequence = job.integer("sequence"), batch = job.integer("global_batch");
  std::string dtype = job.text("dtype"), model = job.text("model"), config = job.text("config");
  if (!job.ok())
    return false;
  if (request.model.empty()) {
    // Its dropout was overridden when the module was made, or there is none.
    inputs.recorded = readConfig(diags.addSource("config.json in " + kJob.str(), config), true, diags);
    if (!inputs.recorded)
      return false;
    inputs.recorded->name = model;
  }
  auto agree = [&](StringRef flag, const Twine &given, const Twine &made) {
    std::string a = given.str(), b = made.str();
    if (a != b)
      diags.error(flag + "=" + a + ": the module was made with " + b);
  };
  agree("--sequence", Twine(request.sequence.value_or(sequence)), Twine(sequence));
  agree("--global-batch", Twine(request.globalBatch.value_or(batch)), Twine(batch));
  agree("--dtype", request.dtype.empty() ? dtype : request.dtype, dtype);
  request.job.clear(); // it named the module
  request.sequence = sequence;
  request.globalBatch = batch;
  request.dtype = dtype;
  if (request.startFrom > Phase::Search && request.strategy.empty()) {
    auto text = module->getAttrOfType<StringAttr>(kStrategy);
    if (!text)
      diags.error("the module has no " + kStrategy + ", which --stop-after writes");
    else
      inputs.strategy = readStrategy(diags.addSource(kStrategy.str(), text.str()), diags);
  }
  return !diags.failed();
}

bool resumeInputs(ModuleOp module, Phase startFrom, PlanInputs &inputs, Diagnostics &diags) {
  Reader job(module, kJob, diags);
  for (Number n : numbers(inputs.job))
    *n.value = job.number(n.name);
  format::Optimizer &o = inputs.job.optimizer;
  o.schedule =
      job.text("schedule") == "cosine" ? format::ScheduleKind::Cosine : format::ScheduleKind::Constant;
  o.warmup = uint32_t(job.integer("warmup"));
  o.steps = uint32_t(job.integer("steps"));
  if (o.beta1 >= 1 || o.beta2 >= 1 || inputs.job.headroom >= 1)
    diags.error(kJob + ": beta1, beta2 and headroom are below 1");
  if (job.text("config") != inputs.model.text)
    diags.error("the module was made from another model than " + inputs.model.name);
  if (startFrom > Phase::Allocate) {
    Reader device(module, kDevice, diags);
    const DeviceKind &now = inputs.cluster.device;
    if (device.ok() && (device.text("isa") != now.isa || device.integer("threads") != now.threads))
      diags.error("the module was allocated for " + device.text("isa") + " with " +
                  Twine(device.integer("threads")) + " threads, the cluster has " + now.isa + " with " +
                  Twine(now.threads));
  }
  return job.ok() && !diags.failed();
}

bool resumeStrategy(ModuleOp module, Phase startFrom, const PlanInputs &inputs, Diagnostics &diags) {
  if (startFrom > Phase::Search) {
    auto text = module->getAttrOfType<StringAttr>(kStrategy);
    std::string given = toToml(*inputs.strategy);
    if (!text || text.getValue() != given)
      diags.error("the module was made with another strategy than " + meshText(*inputs.strategy))
          .note("this one:\n" + given + "the module's:\n" + (text ? text.str() : "none"));
    else if (!sameMesh(module, inputs))
      diags.error("the module's mesh is not that of its " + kStrategy);
  }
  return !diags.failed();
}

} // namespace hocket
