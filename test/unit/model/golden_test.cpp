//===- golden_test.cpp - Ten steps against an independent implementation ----===//
//
// test/golden/: losses, norms, gradients and weights of PyTorch in f64.
//
//===----------------------------------------------------------------------===//
#include "checkpoint.h"
#include "steps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::test;

namespace {

constexpr int64_t kSequence = 32, kBatch = 4;

class Golden {
public:
  explicit Golden(const std::string &name) : folder(std::string(HOCKET_SOURCE_DIR) + "/test/golden/" + name) {
    Diagnostics diags;
    std::optional<ModelConfig> read = openConfig(folder + "/config.json", false, diags);
    EXPECT_TRUE(read) << diags.str();
    if (read)
      config = *read;
    data = readFile(folder + "/data.bin");
    data.resize(data.size() * 9 / 10);
  }

  func::FuncOp make(const DifferentiatePassOptions &options) {
    module = build(context, config, {kBatch, kSequence, true}, &options);
    auto step = module->lookupSymbol<func::FuncOp>("step");
    roles = rolesOf(step);
    return step;
  }

  /// Windows of sequence + 1 bytes in file order, kBatch a step.
  void fill(Tensors &inputs, int64_t number) {
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t s = 0; s < kSequence; ++s) {
        size_t at = size_t(((number * kBatch + b) * kSequence) + s);
        inputs[0].data[size_t(b * kSequence + s)] = static_cast<unsigned char>(data[at]);
        inputs[1].data[size_t(b * kSequence + s)] = static_cast<unsigned char>(data[at + 1]);
      }
  }

  Tensors start(func::FuncOp step, const Checkpoint &checkpoint) {
    Tensors inputs;
    for (Type type : step.getArgumentTypes())
      inputs.emplace_back(type);
    for (unsigned i : roles.parameters)
      inputs[i] = parameter(step, i, checkpoint);
    return inputs;
  }

  Tensor parameter(func::FuncOp step, unsigned i, const Checkpoint &checkpoint) {
    return fromCheckpoint(checkpoint, *model::Param::of(step, i), model::argDims(step, i),
                          Tensor(step.getArgumentTypes()[i]).shape);
  }

  std::string folder;
  ModelConfig config;
  std::string data;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Roles roles;
};

double largest(const Checkpoint &gradients) {
  double g = 0;
  for (auto &[name, tensor] : gradients)
    for (double x : tensor.data)
      g = std::max(g, std::fabs(x));
  return g;
}

/// max|a - b| / max(max|b|, floor)
double relative(const Tensor &a, const Tensor &b, double floor) {
  double worst = 0, scale = floor;
  for (size_t i = 0; i < a.data.size(); ++i) {
    worst = std::max(worst, std::fabs(a.data[i] - b.data[i]));
    scale = std::max(scale, std::fabs(b.data[i]));
  }
  return worst / scale;
}

void gradients(const std::string &name) {
  Golden golden(name);
  func::FuncOp step = golden.make(bareGradients());
  Tensors inputs = golden.start(step, readSafetensors(golden.folder + "/init/model.safetensors"));
  golden.fill(inputs, 0);
  for (unsigned i : {2u, 3u, 4u})
    inputs[i] = number(1);
  Tensors results = evaluate(step, inputs);
  Checkpoint expected = readSafetensors(golden.folder + "/gradients.safetensors");
  double floor = 1e-6 * largest(expected);
  size_t count = golden.roles.parameters.size();
  for (size_t k = 0; k < count; ++k) {
    unsigned i = golden.roles.parameters[k];
    EXPECT_LE(relative(results[2 + count + k], golden.parameter(step, i, expected), floor), 1e-10)
        << name << " " << model::argName(step, i).str();
  }
}

/// `clip`, and the rate of step t from 1.
void train(const std::string &name, double clip, double (*rate)(int)) {
  Golden golden(name);
  DifferentiatePassOptions options;
  options.clip = clip;
  func::FuncOp step = golden.make(options);
  Tensors inputs = golden.start(step, readSafetensors(golden.folder + "/init/model.safetensors"));
  std::vector<double> losses = readNumbers(golden.folder + "/losses.txt"),
                      norms = readNumbers(golden.folder + "/norms.txt");
  double floor = 1e-6 * largest(readSafetensors(golden.folder + "/gradients.safetensors"));
  ASSERT_EQ(losses.size(), 10u);
  ASSERT_EQ(norms.size(), 10u);
  for (int t = 1; t <= 10; ++t) {
    golden.fill(inputs, t - 1);
    inputs[2] = number(rate(t));
    inputs[3] = number(1 - std::pow(0.9, t));
    inputs[4] = number(1 - std::pow(0.95, t));
    Tensors results = evaluate(step, inputs);
    EXPECT_LE(std::fabs(results[0].data[0] - losses[size_t(t - 1)]) / losses[size_t(t - 1)], 1e-10)
        << name << " step " << t;
    EXPECT_LE(std::fabs(results[1].data[0] - norms[size_t(t - 1)]) / norms[size_t(t - 1)], 1e-10)
        << name << " step " << t;
    std::move(results.begin() + 2, results.end(), inputs.begin() + golden.roles.parameters.front());
    if (t != 1 && t != 2 && t != 10)
      continue;
    Checkpoint expected = readSafetensors(golden.folder + "/step" + std::to_string(t) + ".safetensors");
    for (unsigned i : golden.roles.parameters)
      EXPECT_LE(relative(inputs[i], golden.parameter(step, i, expected), floor), 1e-10)
          << name << " step " << t << " " << model::argName(step, i).str();
  }
}

double cosine(int t) {
  if (t <= 2)
    return 1e-3 * t / 2;
  return 1e-4 + 0.5 * (1e-3 - 1e-4) * (1 + std::cos(M_PI * (t - 2) / 8));
}
double constant(int) { return 1e-3; }

TEST(Golden, Gpt2Gradients) { gradients("gpt2"); }
TEST(Golden, LlamaGradients) { gradients("llama"); }
TEST(Golden, LlamaRopeGradients) { gradients("llama-rope"); }
TEST(Golden, Gpt2Training) { train("gpt2", 1.0, cosine); }
TEST(Golden, LlamaTraining) { train("llama", 1.0, constant); }
TEST(Golden, LlamaRopeTraining) { train("llama-rope", 2.3, constant); }

} // namespace
