#include "checkpoint.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>
#include <sstream>

using namespace hocket::model;

namespace hocket::test {

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    llvm::report_fatal_error("cannot read " + llvm::Twine(path));
  return (*buffer)->getBuffer().str();
}

std::vector<double> readNumbers(const std::string &path) {
  std::istringstream in(readFile(path));
  in.imbue(std::locale::classic());
  std::vector<double> numbers;
  for (double x; in >> x;)
    numbers.push_back(x);
  return numbers;
}

Checkpoint readSafetensors(const std::string &path) {
  std::string bytes = readFile(path);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  auto json = llvm::json::parse(llvm::StringRef(bytes).substr(8, header));
  if (!json)
    llvm::report_fatal_error("no header in " + llvm::Twine(path));
  Checkpoint checkpoint;
  for (auto &[key, value] : *json->getAsObject()) {
    if (key == "__metadata__")
      continue;
    const llvm::json::Object &entry = *value.getAsObject();
    if (*entry.getString("dtype") != "F64")
      llvm::report_fatal_error("not F64: " + llvm::Twine(path));
    std::vector<int64_t> shape;
    for (const llvm::json::Value &d : *entry.getArray("shape"))
      shape.push_back(*d.getAsInteger());
    Tensor tensor(shape);
    int64_t offset = *(*entry.getArray("data_offsets"))[0].getAsInteger();
    std::memcpy(tensor.data.data(), bytes.data() + 8 + header + offset, tensor.data.size() * 8);
    checkpoint.emplace(key.str(), std::move(tensor));
  }
  return checkpoint;
}

Tensor fromCheckpoint(const Checkpoint &checkpoint, const Param &param, llvm::StringRef dims,
                      const std::vector<int64_t> &shape) {
  Tensor result(shape);
  std::map<char, int64_t> extents;
  for (auto [c, n] : llvm::zip(dims, shape))
    extents[c] = n;
  auto layout = *splitLayout(param.layout);
  Ref to(result, dims);
  Index index{};
  each(dims, extents, index, [&] {
    std::string name = param.name;
    if (size_t at = name.find("{l}"); at != std::string::npos)
      name.replace(at, 3, std::to_string(index['l']));
    auto found = checkpoint.find(name);
    if (found == checkpoint.end())
      llvm::report_fatal_error("no tensor " + llvm::Twine(name));
    const Tensor &from = found->second;
    if (from.shape.size() != layout.size())
      llvm::report_fatal_error("another rank than " + llvm::Twine(param.layout) + ": " + name);
    int64_t offset = 0;
    for (auto [d, letters] : llvm::enumerate(layout)) {
      int64_t position = 0, extent = 1;
      for (char c : letters) {
        position = position * extents[c] + index[size_t(c)];
        extent *= extents[c];
      }
      if (int64_t(d) == param.dim)
        position += param.index * extent;
      if (from.shape[d] != extent * (int64_t(d) == param.dim ? param.count : 1))
        llvm::report_fatal_error("another shape than " + llvm::Twine(param.layout) + ": " + name);
      offset = offset * from.shape[d] + position;
    }
    to.at(index) = from.data[size_t(offset)];
  });
  return result;
}

} // namespace hocket::test
