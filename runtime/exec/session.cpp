#include "runtime/exec/session.h"

#include "runtime/comm/communicator.h"
#include "runtime/device/allocations.h"
#include "runtime/error.h"
#include "runtime/exec/issue.h"
#include "runtime/exec/schedule.h"
#include "runtime/ranks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <system_error>
#include <thread>

namespace hocket::exec {

using device::Fault;
using device::Gate;
using List = std::vector<format::ListEntry> format::ClassProgram::*;

/// One rank: its device, communicator and issue thread.
struct Rank {
  uint32_t rank = 0, classIndex = 0;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<comm::Communicator> communicator;
  std::vector<uint64_t *> metrics;
  std::unique_ptr<Issuer> issuer;
  std::thread thread;
};

struct Session::Impl final : checkpoint::Arenas {
  Impl(format::Plan p, Options o);
  ~Impl();
  void read(uint32_t rank, uint64_t offset, std::span<std::byte> to) const override {
    ranks[rank].device->read(offset, to);
  }
  void write(uint32_t rank, uint64_t offset, std::span<const std::byte> from) override {
    ranks[rank].device->write(offset, from);
  }
  void makeRank(Rank &rank);
  void findRows();
  void serve(Rank &rank) noexcept;
  void run(List list, const char *what);
  void stop();
  std::string report(double seconds, const char *what) const;
  void setScalars(uint64_t t);

  format::Plan plan;
  Options options;
  double deadline = 0;
  Fault fault;
  std::unique_ptr<device::Backend> backend;
  std::unique_ptr<comm::World> world;
  std::vector<uint64_t> scalars;
  std::vector<uint64_t> metrics; ///< bits of their last values, each in its own type
  std::vector<Rank> ranks;

  // Hand-over of a list from the caller to the issue threads and back.
  List current = nullptr;
  std::atomic<uint32_t> generation{0}, finished{0};
  std::atomic<bool> closing{false};
  Gate go, done;

  /// Where each global row is read.
  struct Place {
    format::InputKind kind;
    device::Device *device;
    uint64_t offset;
  };
  std::vector<std::vector<Place>> rows;
  std::vector<int32_t> window, labels; ///< one row on its way
  uint64_t steps = 0;

  /// The last list that was run: "step", 5.  `end` is 0 while it runs, and when it failed.
  struct {
    const char *what = "";
    uint64_t number = 0;
    int64_t begin = 0, end = 0;
  } last;
};

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Session::Impl::Impl(format::Plan p, Options o) : plan(std::move(p)), options(std::move(o)) {
  deadline =
      options.deadlineSeconds > 0 ? options.deadlineSeconds : std::max(30.0, 20 * plan.predictedStepSeconds);
  backend = device::openBackend(plan, fault, options);
  world = comm::openWorld(plan, fault);
  scalars.assign(plan.scalars.size(), 0);
  metrics.assign(plan.metrics.size(), UINT64_MAX); // a NaN of both types
  ranks.resize(plan.ranks());
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    ranks[r].rank = r;
    makeRank(ranks[r]);
  }
  findRows();
  window.resize(plan.sequence + size_t(1));
  labels.resize(plan.sequence);
  try {
    for (Rank &rank : ranks)
      rank.thread = std::thread([this, &rank] {
        device::allocations::ourThread = true;
        serve(rank);
      });
  } catch (const std::system_error &e) {
    stop();
    throw Error(kExitRunTime, std::string("cannot start the ranks' threads: ") + e.what());
  }
}

void Session::Impl::makeRank(Rank &rank) {
  rank.classIndex = classOf(plan, rank.rank);
  const format::ClassProgram &program = plan.classes[rank.classIndex];
  rank.device = backend->make(rank.rank);
  rank.communicator = world->join(rank.rank);
  // A class reports through its first rank.
  bool first = true;
  std::vector<uint32_t> at = coordinates(plan, rank.rank);
  for (size_t a = 0; a < at.size(); ++a)
    first &= at[a] == program.first[a];
  for (size_t m = 0; m < plan.metrics.size(); ++m)
    rank.metrics.push_back(first && plan.metrics[m].classIndex == rank.classIndex ? &metrics[m] : nullptr);
  rank.issuer = std::make_unique<Issuer>(plan, rank.rank, *rank.device, *rank.communicator, fault,
                                         scalars.data(), rank.metrics.data());
}

void Session::Impl::findRows() {
  rows.resize(plan.globalBatch);
  for (const format::Input &input : plan.inputs)
    for (Rank &rank : ranks) {
      if (rank.classIndex != input.classIndex)
        continue;
      const format::Region &region = plan.classes[rank.classIndex].regions[input.at.index];
      uint64_t first =
          combined(plan, coordinates(plan, rank.rank), input.axes) * plan.microBatches * input.rows;
      for (uint64_t mb = 0; mb < plan.microBatches; ++mb)
        for (uint64_t i = 0; i < input.rows; ++i) {
          uint64_t row = first + mb * input.rows + i;
          uint64_t offset = region.offset + static_cast<uint64_t>(input.at.offset) +
                            (input.at.flags & format::kMicro ? mb * region.microStride : 0) +
                            i * plan.sequence * sizeof(int32_t);
          if (row >= rows.size() ||
              offset + plan.sequence * sizeof(int32_t) > plan.classes[rank.classIndex].arenaBytes)
            throw Error(kExitNo, "an input of class '" + plan.classes[rank.classIndex].name +
                                     "' lies outside the batch or the arena");
          rows[row].push_back({input.kind, rank.device.get(), offset});
        }
    }
}

Session::Impl::~Impl() { stop(); }

void Session::Impl::stop() {
  closing.store(true, std::memory_order_release);
  go.notify();
  for (Rank &rank : ranks)
    if (rank.thread.joinable())
      rank.thread.join();
  for (Rank &rank : ranks)
    if (rank.device)
      rank.device->stop();
}

//===----------------------------------------------------------------------===//
// Running a list
//===----------------------------------------------------------------------===//

void Session::Impl::serve(Rank &rank) noexcept {
  for (uint32_t seen = 0;;) {
    auto ready = [&] {
      return generation.load(std::memory_order_acquire) != seen || closing.load(std::memory_order_acquire);
    };
    if (!go.wait(ready, fault) || generation.load(std::memory_order_acquire) == seen)
      return;
    ++seen;
    const format::ClassProgram &program = plan.classes[rank.classIndex];
    rank.issuer->run(program.*current);
    if (!rank.device->finish())
      return;
    if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks.size())
      done.notify();
  }
}

void Session::Impl::run(List list, const char *what) {
  fault.check();
  if (options.trace)
    for (Rank &rank : ranks)
      rank.device->clearSpans();
  last = {what, steps + 1, trace::now(), 0};
  current = list;
  finished.store(0, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  go.notify();
  uint64_t before = 0;
  int64_t since = trace::now();
  auto ready = [&] { return finished.load(std::memory_order_acquire) == ranks.size(); };
  while (!done.wait(ready, fault, 200'000'000) && !fault.raised()) {
    uint64_t progress = 0;
    for (Rank &rank : ranks)
      progress += rank.device->progress();
    if (progress != before) {
      before = progress;
      since = trace::now();
    } else if (double idle = static_cast<double>(trace::now() - since) * 1e-9; idle > deadline) {
      fault.raise(kExitRunTime, report(idle, what));
    }
  }
  if (fault.raised()) {
    stop();
    fault.check();
  }
  last.end = trace::now();
}

std::string Session::Impl::report(double seconds, const char *what) const {
  std::string text = std::string(what) + " " + std::to_string(steps + 1) + ": no operation finished for " +
                     std::to_string(static_cast<int64_t>(seconds)) + " s; waiting are";
  int lines = 0;
  for (const Rank &rank : ranks) {
    const format::ClassProgram &program = plan.classes[rank.classIndex];
    std::string peers = rank.communicator->waitsFor();
    for (uint32_t s = 0; s < program.streams.size(); ++s) {
      device::Waiting w = rank.device->waiting(s);
      if (w.idle)
        continue;
      if (++lines > 24)
        return text + "\n  and more";
      text += "\n  rank " + std::to_string(rank.rank) + ", stream " + program.streams[s] + ": " + w.what;
      if (w.name < plan.strings.size() && !plan.strings[w.name].empty())
        text += " '" + plan.strings[w.name] + "'";
      // Events are waited for inside the rank; the rest waits for peers.
      if (w.name != UINT32_MAX && !peers.empty())
        text += ", for " + peers;
    }
  }
  return text;
}

void Session::Impl::setScalars(uint64_t t) {
  for (size_t i = 0; i < scalars.size(); ++i)
    scalars[i] = scalarBits(plan.scalars[i], plan.optimizer, t, options.seed);
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

Session::Session(format::Plan plan, Options options)
    : impl(std::make_unique<Impl>(std::move(plan), std::move(options))) {}
Session::~Session() = default;

const format::Plan &Session::plan() const { return impl->plan; }
uint64_t Session::stepsDone() const { return impl->steps; }
bool Session::failed() const { return impl->fault.raised(); }

void Session::read(uint32_t rank, uint64_t offset, std::span<std::byte> to) const {
  impl->read(rank, offset, to);
}

uint64_t Session::residentArenaBytes() const {
  uint64_t sum = 0;
  for (const Rank &rank : impl->ranks)
    sum += rank.device->residentBytes();
  return sum;
}

uint64_t Session::arenaBytes() const {
  uint64_t sum = 0;
  for (const Rank &rank : impl->ranks)
    sum += impl->plan.classes[rank.classIndex].arenaBytes;
  return sum;
}

void Session::initialize() {
  impl->setScalars(1);
  impl->run(&format::ClassProgram::init, "init before step");
}

checkpoint::LoadReport Session::load(const std::string &directory) {
  return checkpoint::load(impl->plan, directory, *impl);
}

void Session::setRow(uint32_t row, std::span<const int32_t> tokens, std::span<const int32_t> labels) {
  for (const Impl::Place &to : impl->rows[row]) {
    std::span<const int32_t> from = to.kind == format::InputKind::Tokens ? tokens : labels;
    to.device->write(to.offset, std::as_bytes(from.first(impl->plan.sequence)));
  }
}

StepResult Session::step() {
  StepResult result;
  result.step = impl->steps + 1;
  result.learningRate = learningRate(impl->plan.optimizer, result.step);
  impl->setScalars(result.step);
  impl->run(&format::ClassProgram::step, "step");
  result.seconds = static_cast<double>(impl->last.end - impl->last.begin) * 1e-9;
  ++impl->steps;
  result.loss = metric("loss");
  result.gradNorm = metric("grad_norm");
  return result;
}

StepResult Session::step(const data::Tokens &text, data::Order order) {
  std::span<const int32_t> window = impl->window;
  size_t s = impl->plan.sequence;
  for (uint32_t row = 0; row < impl->plan.globalBatch; ++row) {
    text.trainRow(order, impl->options.seed, impl->steps, row, impl->window);
    setRow(row, window.first(s), window.subspan(1, s));
  }
  return step();
}

double Session::evaluateRows() {
  impl->setScalars(impl->steps + 1);
  impl->run(&format::ClassProgram::eval, "evaluation before step");
  return metric("loss");
}

bool Session::hasEvaluation() const {
  return std::any_of(impl->plan.classes.begin(), impl->plan.classes.end(),
                     [](const format::ClassProgram &c) { return !c.eval.empty(); });
}

double Session::evaluate(const data::Tokens &text, const std::function<bool()> &goOn) {
  uint64_t windows = text.validationWindows(), batch = impl->plan.globalBatch;
  size_t s = impl->plan.sequence;
  double sum = 0;
  for (uint64_t first = 0; first < windows; first += batch) {
    if (goOn && !goOn())
      return std::numeric_limits<double>::quiet_NaN();
    for (uint32_t row = 0; row < batch; ++row) {
      text.validationRow(first + row, std::span(impl->window).first(s), impl->labels);
      setRow(row, std::span(impl->window).first(s), impl->labels);
    }
    sum += evaluateRows() * static_cast<double>(batch) * static_cast<double>(s);
  }
  return sum / static_cast<double>(text.validationTokens());
}

double Session::metric(const std::string &name) const {
  for (size_t m = 0; m < impl->plan.metrics.size(); ++m)
    if (impl->plan.metrics[m].name == name) {
      uint64_t bits = impl->metrics[m];
      return impl->plan.metrics[m].dtype == format::DType::F64
                 ? std::bit_cast<double>(bits)
                 : double(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
  return std::numeric_limits<double>::quiet_NaN();
}

void Session::save(const std::string &directory) { checkpoint::save(impl->plan, directory, *impl); }

void Session::saveTensors(const std::string &path, checkpoint::What what) {
  checkpoint::saveTensors(impl->plan, path, what, *impl);
}

std::map<std::string, std::vector<double>> Session::tensors(checkpoint::What what) {
  std::map<std::string, std::vector<double>> result;
  std::vector<uint8_t> bytes;
  for (const checkpoint::Tensor &t : checkpoint::tensorsOf(impl->plan)) {
    bytes.assign(t.elements() * format::sizeOf(t.dtype), 0);
    checkpoint::gather(impl->plan, t, what, *impl, bytes);
    std::vector<double> &values = result[t.name];
    for (uint64_t i = 0; i < t.elements(); ++i)
      if (t.dtype == format::DType::F64) {
        double v;
        std::memcpy(&v, bytes.data() + i * 8, 8);
        values.push_back(v);
      } else {
        float v;
        std::memcpy(&v, bytes.data() + i * 4, 4);
        values.push_back(v);
      }
  }
  return result;
}

void Session::nameTracks(trace::TraceFile &file) const {
  for (const Rank &rank : impl->ranks) {
    const format::ClassProgram &program = impl->plan.classes[rank.classIndex];
    for (uint32_t s = 0; s < program.streams.size(); ++s)
      file.track(rank.rank, s, "rank " + std::to_string(rank.rank) + " (" + program.name + ")",
                 program.streams[s]);
  }
  file.listTrack(impl->plan.ranks());
}

void Session::writeTrace(trace::TraceFile &file) const {
  auto forSpans = [&](auto visit) {
    for (const Rank &rank : impl->ranks)
      for (uint32_t s = 0; s < impl->plan.classes[rank.classIndex].streams.size(); ++s)
        visit(rank.rank, s, rank.device->spans(s));
  };
  const auto &last = impl->last;
  int64_t end = std::max(last.begin, last.end);
  if (!last.end)
    forSpans([&](uint32_t, uint32_t, const std::vector<trace::Span> &spans) {
      if (!spans.empty())
        end = std::max(end, spans.back().end);
    });
  file.list(std::string(last.what) + " " + std::to_string(last.number) + (last.end ? "" : ", which failed"),
            last.begin, end);
  forSpans([&](uint32_t rank, uint32_t stream, const std::vector<trace::Span> &spans) {
    file.add(rank, stream, spans);
  });
}

} // namespace hocket::exec
