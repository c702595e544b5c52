#include "runtime/checkpoint/checkpoint.h"

#include "runtime/checkpoint/safetensors.h"
#include "runtime/error.h"

namespace hocket::checkpoint {

static std::string text(const std::vector<uint64_t> &shape) {
  std::string result;
  for (uint64_t d : shape)
    result += (result.empty() ? "[" : ", ") + std::to_string(d);
  return result.empty() ? "[]" : result + "]";
}

LoadReport load(const format::Plan &plan, const std::string &directory, Arenas &arenas) {
  SafetensorsReader reader(directory + "/model.safetensors");
  std::vector<Tensor> tensors = tensorsOf(plan);
  LoadReport report;
  auto bad = [&](const std::string &what) { throw Error(kExitBadInput, reader.path() + ": " + what); };
  for (const Tensor &t : tensors) {
    const TensorInfo *info = reader.find(t.name);
    if (!info)
      bad("lacks tensor '" + t.name + "', which the plan's model has");
    if (info->shape != t.shape)
      bad("tensor '" + t.name + "' is " + text(info->shape) + ", the plan's model has " + text(t.shape));
  }
  for (const auto &[name, info] : reader.tensors()) {
    bool known = false;
    for (const Tensor &t : tensors)
      known |= t.name == name;
    if (!known)
      report.ignored.push_back(name);
  }
  std::vector<double> values;
  for (const Tensor &t : tensors) {
    values.resize(t.elements());
    reader.read(t.name, 0, values);
    scatter(plan, t, What::Value, arenas, values);
    ++report.loaded;
  }
  return report;
}

void saveTensors(const format::Plan &plan, const std::string &path, What what, const Arenas &arenas) {
  std::vector<Tensor> tensors = tensorsOf(plan);
  std::vector<OutputTensor> outputs;
  for (const Tensor &t : tensors)
    outputs.push_back({t.name, t.dtype == format::DType::F64 ? "F64" : "F32", t.shape});
  // tensorsOf and the writer both order by name.
  size_t next = 0;
  writeSafetensors(path, outputs, [&](const OutputTensor &, std::vector<uint8_t> &bytes) {
    gather(plan, tensors[next++], what, arenas, bytes);
  });
}

void save(const format::Plan &plan, const std::string &directory, const Arenas &arenas) {
  data::makeDirectories(directory);
  saveTensors(plan, directory + "/model.safetensors", What::Value, arenas);
  data::OutputFile config(directory + "/config.json");
  config.write(plan.modelConfig);
  config.commit();
}

} // namespace hocket::checkpoint
