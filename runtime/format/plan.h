//===- plan.h - The executable plan as plain structs ------------------------===//
//
// Takes nothing, gives the one description of a plan that the compiler fills
// (`compiler/emit`), the writer serialises, the reader returns, the verifier
// proves and the executor runs.  No LLVM, no FlatBuffers in this header.
//
// A plan describes *rank classes*, never single ranks: ranks with the same
// program are one class; what differs between them is an affine function of
// the mesh coordinates.  All integers are little-endian in the file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hocket::format {

enum class DType : uint8_t { F32 = 0, F64 = 1, I32 = 2, I64 = 3, U8 = 4 };

/// Bytes of one element.
constexpr uint64_t sizeOf(DType t) {
  switch (t) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::U8:
    return 1;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Operands and instructions: fixed-size records
//===----------------------------------------------------------------------===//

enum class OperandKind : uint8_t {
  Region = 0, ///< address: region[slot, l, mb] + offset
  Constant,   ///< 64-bit integer `offset`, passed by address to kernels
  Affine,     ///< affine expression number `index`, evaluated to an i64
  Scalar,     ///< step scalar number `index` (learning rate, …), by address
};

/// Which of the list entry's four slot numbers selects the slot of a region,
/// and whether the address moves with the layer loop and the micro-batch.
enum OperandFlags : uint8_t {
  kSlotMask = 0x07, ///< 0: no slot; 1..4: slot[flag - 1] of the list entry
  kLayered = 0x08,  ///< + l * region.layerStride
  kMicro = 0x10,    ///< + mb * region.microStride
};

/// 16 bytes.  `index` names a region, affine expression or scalar.
struct Operand {
  OperandKind kind = OperandKind::Region;
  uint8_t flags = 0;
  uint16_t index = 0;
  uint32_t reserved = 0;
  int64_t offset = 0; ///< bytes for Region, the value for Constant
};
static_assert(sizeof(Operand) == 16);

/// The closed list of instructions.  `operands` lists them in order.
enum class Op : uint16_t {
  Launch = 0, ///< index = kernel entry; operands as the entry declares them
  Gemm,       ///< index = gemm entry; operands a, b, c, scratch (scratch only if entry.scratchBytes > 0)
  Collective, ///< index = communicator, arg = CollectiveKind; operand: buffer, in place; bytes; dtype in
              ///< flags
  Send,       ///< index = communicator, arg = peer delta along its axis; operand: buffer; bytes
  Recv,       ///< as Send
  Group,      ///< the next `arg` instructions (Send/Recv of one stream) start together and end together
  Copy,       ///< operands: source, destination; bytes
  Fill,       ///< operand: destination, zeroed; bytes
  Record,     ///< event number index (+ slot[flags-1] if flags != 0) on `stream`
  Wait,       ///< `stream` waits for the last earlier Record, in issue order, of that event
  Repeat, ///< the next `arg` instructions run for l = from, from+step, … (|to-from| / |step| times); never
          ///< nested
  Mark,   ///< begin (flags = 0) or end (flags = 1) of a named span on `stream`, for traces
  Metric, ///< index = metric; operand: one scalar of the metric's dtype, read when the stream arrives
};

enum class CollectiveKind : uint16_t { AllReduceSum = 0, AllReduceMax, AllGather, ReduceScatter };

/// 48 bytes.  Fields that an instruction does not use are 0 (`stream` too, for
/// Repeat).  Outside of a Repeat l = 0.
struct Instr {
  Op op = Op::Mark;
  uint16_t flags = 0;
  uint16_t stream = 0;
  uint16_t operandCount = 0;
  uint32_t firstOperand = 0; ///< into ClassProgram::operands
  uint32_t index = 0;
  int32_t arg = 0;
  uint32_t name = 0;                  ///< into Plan::strings: the model-level name, for reports
  uint64_t bytes = 0;                 ///< payload of Collective, Send, Recv, Copy, Fill
  int32_t from = 0, to = 0, step = 0; ///< Repeat only
  uint32_t reserved = 0;
};
static_assert(sizeof(Instr) == 48);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

enum class Access : uint8_t {
  Read = 0,
  Write = 1,
  ReadWrite = 2,
  Value = 3 /* Constant, Affine or Scalar */
};

struct KernelArg {
  Access access = Access::Read;
  uint64_t bytes = 0; ///< extent touched from the operand's address; 8 or element size for Value
};

/// A generated kernel: symbol `void symbol(void **args, int64_t begin, int64_t end)`
/// in the code section.  args[i] is the address of operand i (Value operands:
/// the address of the value).  The executor may split [0, work) over threads.
struct Kernel {
  std::string symbol;
  std::vector<KernelArg> args;
  int64_t work = 1;
  double flops = 0, memoryBytes = 0; ///< what the cost model was told, for reports
};

/// c[m,n] = op(a) op(b) (+ c if accumulate), row-major; ld in elements.
/// `symbol` empty: the library (oneDNN); else a generated kernel with the
/// arguments a, b, c and the same signature as Kernel (f64).
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false, accumulate = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  DType dtype = DType::F32;
  uint64_t scratchBytes = 0; ///< declared bound; exit 3 if the library needs more
  std::string symbol;
  int64_t work = 1;
};

//===----------------------------------------------------------------------===//
// Mesh, classes, communicators
//===----------------------------------------------------------------------===//

/// rank = sum over axes of coordinate * stride (axes in the file's order).
struct Axis {
  std::string name;
  uint32_t size = 1, stride = 1;
};

/// A group communicator joins the ranks that agree on all axes not in `axes`
/// (members ordered by rank).  A pair communicator (`pair`) serves Send/Recv
/// between ranks whose coordinate on axes[0] differs by `arg`.
struct Communicator {
  std::string name;
  std::vector<uint32_t> axes;
  bool pair = false;
  uint32_t order = 0;
};

/// Sum of coefficient * coordinate[axis] + layer * l + micro * mb + constant.
struct Affine {
  std::vector<int64_t> coordinate; ///< one per axis
  int64_t layer = 0, micro = 0, constant = 0;
};

enum class RegionKind : uint8_t { Parameter = 0, State, Gradient, Stash, Transfer, Input, Buffer, Scratch };

/// A range of the rank's one arena.  Address of an operand:
/// arena + offset + slot*slotStride + l*layerStride + mb*microStride + operand.offset.
struct Region {
  std::string name;
  RegionKind kind = RegionKind::Scratch;
  uint64_t offset = 0, bytes = 0;
  uint32_t slots = 1;
  uint64_t slotStride = 0;
  uint32_t layers = 1;
  uint64_t layerStride = 0;
  uint32_t micros = 1;
  uint64_t microStride = 0;
};

/// A template: instructions [first, first + count) of the class.  Templates
/// follow each other without gaps and cover all instructions.
struct Template {
  std::string name;
  uint32_t first = 0, count = 0;
};

/// One entry of an order list: run a template with a micro-batch and slots. 16 bytes.
struct ListEntry {
  uint16_t templateIndex = 0;
  uint16_t reserved = 0;
  uint32_t micro = 0;
  std::array<uint16_t, 4> slot{};
};
static_assert(sizeof(ListEntry) == 16);

/// Ranks of a class: first[a] <= coordinate[a] <= last[a] for every axis a.
struct ClassProgram {
  std::string name;
  std::vector<uint32_t> first, last;
  std::vector<std::string> streams;
  std::vector<Region> regions;
  std::vector<Template> templates;
  std::vector<Instr> instrs;
  std::vector<Operand> operands;
  std::vector<ListEntry> init, step, eval;
  uint32_t events = 0;
  std::vector<uint32_t> firstUse; ///< events that count as done before their first Record
  uint64_t arenaBytes = 0;
};

//===----------------------------------------------------------------------===//
// Meaning of data: parameters, inputs, scalars, metrics
//===----------------------------------------------------------------------===//

/// One letter of a parameter held by a class: local extent and where it lies.
/// Global index = (sum over `axes`, major to minor, of coordinates) * local + i.
struct ParamDim {
  char letter = 0;
  uint64_t local = 0;
  uint64_t global = 0; ///< true extent; indices >= global are padding (zero)
  std::vector<uint32_t> axes;
};

/// A parameter (or its gradient, moments) of a class, and its place in the
/// checkpoint.  `name` contains "{l}" for stacked layers; layers [layerBegin,
/// layerEnd) live here, layer l at region[l - layerBegin].
/// `layout` is the checkpoint tensor's dimensions in letters, grouped: "(grd)h";
/// `part`: this parameter is part `partIndex` of `partCount` equal parts along
/// checkpoint dimension partDim (GPT-2's c_attn), partCount = 1 if whole.
struct Param {
  std::string name, id; ///< id: the model-level name, "layer.wq"
  DType dtype = DType::F32;
  std::vector<ParamDim> dims; ///< local row-major order, without l
  bool stacked = false;
  uint32_t layerBegin = 0, layerEnd = 1;
  std::string layout;
  uint32_t partDim = 0, partIndex = 0, partCount = 1;
  uint32_t classIndex = 0;
  bool owner = true;                         ///< false: a tied copy; the owner's value is the one saved
  Operand value, gradient, moment1, moment2; ///< addresses at layer layerBegin (kLayered set if stacked)
};

enum class InputKind : uint8_t { Tokens = 0, Labels };

/// int32 [rows, sequence] for each micro-batch, at region[mb] of the class.
/// Global row of local row i = dataCoordinate * (micros * rows) + mb * rows + i,
/// dataCoordinate from `axes` (major to minor).
struct Input {
  InputKind kind = InputKind::Tokens;
  uint32_t classIndex = 0;
  Operand at;
  uint32_t rows = 0;
  std::vector<uint32_t> axes;
};

enum class ScalarKind : uint8_t { LearningRate = 0, BiasCorrection1, BiasCorrection2, Seed };

/// Value in step t = 1, 2, …: learning rate of the schedule; 1 - beta^t; the
/// run's seed as i64 (init only).
struct Scalar {
  ScalarKind kind = ScalarKind::LearningRate;
  DType dtype = DType::F32;
};

/// A value that a class reports: summed already, read on the class's first rank.
struct Metric {
  std::string name; ///< "loss", "grad_norm"
  uint32_t classIndex = 0;
  DType dtype = DType::F32;
};

enum class ScheduleKind : uint8_t { Constant = 0, Cosine };

struct Optimizer {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, decay = 0.1, clip = 1.0, minLr = 0;
  ScheduleKind schedule = ScheduleKind::Constant;
  uint32_t warmup = 0, steps = 0;
};

/// A named line of the memory verdict of a class, in bytes; the lines of a
/// class add up to its arena.
struct MemoryTerm {
  std::string name;
  uint64_t bytes = 0;
};

struct ClassSummary {
  std::vector<MemoryTerm> memory;
  double predictedStepSeconds = 0;
};

struct Plan {
  // Identity
  std::string producer;               ///< "hocket 0.1.0"
  std::string modelName, modelFamily; ///< "gpt2-tiny", "gpt2"
  std::string modelConfig;            ///< config.json as read, saved beside weights
  std::string strategy;               ///< strategy.toml text
  std::array<uint8_t, 32> modelHash{}, clusterHash{}, jobHash{}; ///< BLAKE3
  uint64_t parameters = 0;

  // Job
  uint32_t globalBatch = 0, sequence = 0, vocabulary = 0, microBatches = 1;
  DType dtype = DType::F32;
  Optimizer optimizer;
  double predictedStepSeconds = 0;
  double flopsPerStep = 0; ///< model FLOPs of one step over all ranks

  // Target
  std::string isa; ///< "x86-64-v3": the code section needs it
  uint32_t threadsPerRank = 1;
  std::vector<uint8_t> code; ///< x86-64 ELF shared object

  // Program
  std::vector<Axis> axes;
  std::vector<Communicator> communicators;
  std::vector<Affine> affines;
  std::vector<Kernel> kernels;
  std::vector<Gemm> gemms;
  std::vector<ClassProgram> classes;
  std::vector<ClassSummary> summaries; ///< one per class
  std::vector<Param> params;
  std::vector<Input> inputs;
  std::vector<Scalar> scalars;
  std::vector<Metric> metrics;
  std::vector<std::string> strings;

  uint32_t ranks() const {
    uint32_t n = 1;
    for (const Axis &a : axes)
      n *= a.size;
    return n;
  }
};

/// Read by every build; written as `kFormatMajor.kFormatMinor`.
inline constexpr uint16_t kFormatMajor = 1, kFormatMinor = 0;

} // namespace hocket::format
