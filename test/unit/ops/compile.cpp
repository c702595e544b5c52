#include "compile.h"

#include "compiler/driver/Register.h"
#include "compiler/driver/record.h"
#include "compiler/input/mlir_bridge.h"
#include "test/unit/model/steps.h"

using namespace mlir;

namespace hocket::test::ops {

Strategy strategyOf(const Program &program, const Extents &extents, char letter, int64_t size) {
  Strategy s;
  s.dataGiven = s.tilesGiven = true;
  if (letter == 'b')
    s.data = size;
  else if (letter == 'l')
    s.pipeline = size;
  else
    s.tensor = size;
  if (s.tensor > 1)
    s.tiles.push_back({holders(program, letter), letter, "tensor", {}});
  int64_t replica = extents.at('b') / s.data;
  s.microBatch = size == 1 ? replica : replica % 2 == 0 ? replica / 2 : replica / 3;
  return s;
}

static PlanInputs inputsOf(const Program &program, const Extents &extents, const Strategy &strategy) {
  PlanInputs in;
  in.cluster.name = "ranks";
  in.cluster.device.name = "cpu";
  in.cluster.device.isa = "x86-64-v3";
  in.cluster.device.memory = int64_t(1) << 30;
  in.cluster.device.rateF32 = in.cluster.device.rateF64 = 1e9;
  in.cluster.devicesPerHost = 16;
  IslandLevel level;
  level.name = level.kind = "memory";
  level.count = 16;
  level.rate = 1e9;
  in.cluster.levels.push_back(level);
  in.job.sequence = extents.at('s');
  in.job.globalBatch = extents.at('b');
  in.job.compute = ComputeType::F64;
  in.job.optimizer.lr = 1e-2;
  in.job.optimizer.eps = 1e-3; // gradients of rounding errors only do not become steps
  in.job.optimizer.schedule = format::ScheduleKind::Constant;
  in.job.optimizer.warmup = 0;
  in.model.name = program.name;
  in.model.layers = program.layers;
  in.model.hidden = in.model.ffn = extents.at('h');
  in.model.heads = in.model.kvHeads = in.model.headDim = 1;
  in.model.vocab = extents.at('v');
  in.model.maxPositions = extents.at('s');
  in.strategy = strategy;
  return in;
}

std::optional<format::Plan> compile(const Program &program, const Extents &extents, const Strategy &strategy,
                                    Diagnostics &diags) {
  PlanInputs in = inputsOf(program, extents, strategy);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module =
      parseModule(diags.addSource(program.name + ".mlir", moduleText(program, extents)), &context, diags);
  if (!module)
    return std::nullopt;
  recordJob(*module, in);
  return compileModule(*module, in, /*seconds=*/1, diags);
}

//===----------------------------------------------------------------------===//
// The interpreter
//===----------------------------------------------------------------------===//

static std::string layerName(std::string name, int64_t l) {
  size_t at = name.find("{l}");
  return at == std::string::npos ? name : name.replace(at, 3, std::to_string(l));
}

Trained interpret(const Program &program, const Extents &extents, const Rows &rows, const Trained &run) {
  format::Optimizer o = inputsOf(program, extents, {}).job.optimizer;
  MLIRContext context;
  auto module = parse(context, moduleText(program, extents));
  DifferentiatePassOptions options;
  options.beta1 = o.beta1;
  options.beta2 = o.beta2;
  options.eps = o.eps;
  options.decay = o.decay;
  options.clip = o.clip;
  PassManager manager(&context);
  manager.addPass(createDifferentiatePass(options));
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
  auto step = module->lookupSymbol<func::FuncOp>("step");
  Roles roles = rolesOf(step);

  test::Tensors inputs;
  for (Type type : step.getArgumentTypes())
    inputs.emplace_back(type);
  auto fill = [&](unsigned i, const std::vector<std::vector<int32_t>> &values) {
    size_t at = 0;
    for (auto &row : values)
      for (int32_t v : row)
        inputs[i].data[at++] = v;
  };
  fill(0, rows.tokens);
  fill(1, rows.labels);
  auto stacked = [&](unsigned i) { return model::argDims(step, i).contains('l') ? program.layers : 1; };
  for (unsigned i : roles.parameters) {
    std::vector<double> values;
    for (int64_t l = 0; l < stacked(i); ++l) {
      const std::vector<double> &part = run.initial.at(layerName(model::Param::of(step, i)->name, l));
      values.insert(values.end(), part.begin(), part.end());
    }
    EXPECT_EQ(values.size(), inputs[i].data.size());
    inputs[i].data = values;
  }

  Trained result;
  result.initial = run.initial;
  for (int t = 1; t <= 2; ++t) {
    inputs[2].data[0] = o.lr;
    inputs[3].data[0] = 1 - std::pow(o.beta1, t);
    inputs[4].data[0] = 1 - std::pow(o.beta2, t);
    test::Tensors outputs = evaluate(step, inputs);
    result.losses.push_back(outputs[0].data[0]);
    result.norms.push_back(outputs[1].data[0]);
    std::copy(outputs.begin() + 2, outputs.end(), inputs.begin() + 5);
  }
  for (unsigned i : roles.parameters)
    for (int64_t l = 0, n = inputs[i].size() / stacked(i); l < stacked(i); ++l)
      result.weights[layerName(model::Param::of(step, i)->name, l)].assign(
          inputs[i].data.begin() + l * n, inputs[i].data.begin() + (l + 1) * n);
  result.evaluated = evaluate(step, inputs)[0].data[0];
  return result;
}

} // namespace hocket::test::ops
