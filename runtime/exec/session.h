//===- session.h - A plan, loaded and running in this process ---------------===//
//
// Takes a plan that passed runtime/verify; gives steps, losses and tensors.
// Every rank is a thread that issues, with one thread per stream behind it.
// Between two lists all streams are empty: only then are arenas read or written
// from outside.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/data/tokens.h"
#include "runtime/device/device.h"
#include "runtime/trace/trace.h"

#include <map>
#include <memory>

namespace hocket::exec {

struct Options : device::Options {
  uint64_t seed = 0;
  /// Seconds without any finished operation on any rank before the run is ended
  /// with a report of who waits for whom; 0: max(30, 20 x predicted step).
  double deadlineSeconds = 0;
};

struct StepResult {
  uint64_t step = 0; ///< 1, 2, …
  double loss = 0, gradNorm = 0, learningRate = 0, seconds = 0;
};

class Session {
public:
  /// Throws Error: what device::openBackend throws, 1 or 2 for a plan that does not hold together, 4 when the
  /// system refuses memory or threads.
  Session(format::Plan plan, Options options);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const format::Plan &plan() const;
  /// Bytes that all ranks' arenas have together.
  uint64_t arenaBytes() const;
  /// Bytes of them that are in the host's memory now.
  uint64_t residentArenaBytes() const;

  /// Runs the init list.
  void initialize();
  /// Weights from DIR/model.safetensors over what initialize() left; moments stay zero.
  checkpoint::LoadReport load(const std::string &directory);

  /// Puts a global row of the batch into every rank that reads it; `sequence` each.
  void setRow(uint32_t row, std::span<const int32_t> tokens, std::span<const int32_t> labels);
  /// Runs the step list on the rows set; the next step's scalars.
  StepResult step();
  /// Reads the rows of step (steps done so far) from the text, then step().
  StepResult step(const data::Tokens &text, data::Order order);
  /// Runs the eval list on the rows set: the batch's loss, which is the sum over
  /// tokens that are not ignored, divided by globalBatch * sequence.
  double evaluateRows();
  /// The mean loss per token over the whole tail of the text; nan when it has no
  /// tail, or when `goOn`, asked before each batch, says no.
  double evaluate(const data::Tokens &text, const std::function<bool()> &goOn = {});
  /// Whether the plan can evaluate.
  bool hasEvaluation() const;

  uint64_t stepsDone() const;
  /// Whether a list threw; the session takes no more then.
  bool failed() const;
  /// A metric of the last list by name; nan when the plan has none.
  double metric(const std::string &name) const;

  void save(const std::string &directory);
  void saveTensors(const std::string &path, checkpoint::What what);
  /// Checkpoint name to values, gathered over the ranks.
  std::map<std::string, std::vector<double>> tensors(checkpoint::What what);
  /// A rank's arena from `offset` on; between lists.
  void read(uint32_t rank, uint64_t offset, std::span<std::byte> to) const;

  /// Appends the last list, a step or evaluation, to a file (Options::trace); also after it failed: then the
  /// tasks that were open have no end in it.
  void writeTrace(trace::TraceFile &file) const;
  /// Declares the tracks; once per file, before any spans.
  void nameTracks(trace::TraceFile &file) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace hocket::exec
