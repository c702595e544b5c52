//===- compile.cpp - From kernel functions to a shared object ---------------===//
#include "compiler/kernels/kernels.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace hocket::kernels {

namespace {

constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

/// fma without the instruction would be a call of libm for each element.
struct SplitFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    Value product = arith::MulFOp::create(rewriter, op.getLoc(), op.getA(), op.getB());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getC());
    return success();
  }
};

LogicalResult approximate(ModuleOp module, bool hasFma) {
  RewritePatternSet patterns(module.getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({"math.exp", "math.expm1", "math.log", "math.log1p", "math.log2", "math.tanh",
                               "math.erf", "math.sin", "math.cos"},
                              name);
  });
  math::populateExpansionPatterns(patterns, {"rsqrt"});
  if (failed(applyPatternsGreedily(module, std::move(patterns))))
    return failure();
  if (hasFma)
    return success();
  RewritePatternSet split(module.getContext());
  split.add<SplitFma>(module.getContext());
  return applyPatternsGreedily(module, std::move(split));
}

LogicalResult lower(ModuleOp module, bool hasFma) {
  MLIRContext *context = module.getContext();
  {
    PassManager pm(context);
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
    if (failed(pm.run(module)))
      return failure();
  }
  if (failed(approximate(module, hasFma)))
    return failure();
  PassManager pm(context);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createSCFToControlFlowPass());
  // Intrinsics first (rounding, square roots are instructions); libm for what has none.
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.reassociateFPReductions = true;
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCSEPass());
  return pm.run(module);
}

/// @symbol(ptr.., i64, i64) becomes internal; the exported @symbol takes (ptr args, i64, i64).
void addEntries(ModuleOp module) {
  OpBuilder b(module.getContext());
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  SmallVector<LLVM::LLVMFuncOp> bodies;
  for (auto fn : module.getOps<LLVM::LLVMFuncOp>())
    if (!fn.isExternal())
      bodies.push_back(fn);
  for (LLVM::LLVMFuncOp body : bodies) {
    std::string symbol = body.getSymName().str();
    body.setSymName(symbol + ".body");
    body.setLinkage(LLVM::Linkage::Internal);
    body.setAlwaysInline(true);
    b.setInsertionPointAfter(body);
    Location loc = body.getLoc();
    auto entry = LLVM::LLVMFuncOp::create(
        b, loc, symbol,
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {ptr, i64, i64}));
    Block *block = entry.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> operands;
    int32_t count = int32_t(body.getNumArguments()) - 2;
    for (int32_t i = 0; i < count; ++i) {
      Value at = LLVM::GEPOp::create(b, loc, ptr, ptr, block->getArgument(0), ArrayRef<LLVM::GEPArg>{i});
      operands.push_back(LLVM::LoadOp::create(b, loc, ptr, at));
    }
    operands.push_back(block->getArgument(1));
    operands.push_back(block->getArgument(2));
    LLVM::CallOp::create(b, loc, body, operands);
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }
}

struct Compiled {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

LogicalResult optimize(ModuleOp kernels, StringRef isa, Compiled &out) {
  if (isa != "x86-64-v2" && isa != "x86-64-v3" && isa != "x86-64-v4")
    return kernels.emitError("no code for isa \"")
           << isa << "\"; there are x86-64-v2, x86-64-v3 and x86-64-v4";
  loadDialects(*kernels.getContext());
  kernels.getContext()->loadDialect<LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  if (failed(mlir::verify(kernels)))
    return kernels.emitError("internal: a kernel is malformed");
  OwningOpRef<ModuleOp> module(kernels.clone());
  if (failed(lower(*module, isa != "x86-64-v2")))
    return kernels.emitError("internal: a kernel does not lower to LLVM");
  addEntries(*module);
  out.module = translateModuleToLLVMIR(*module, out.context, "kernels");
  if (!out.module)
    return kernels.emitError("internal: a kernel does not translate to LLVM IR");

  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(kTriple);
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return kernels.emitError(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  out.machine.reset(target->createTargetMachine(triple, isa, "", options, llvm::Reloc::PIC_, std::nullopt,
                                                llvm::CodeGenOptLevel::Aggressive));
  out.module->setTargetTriple(triple);
  out.module->setDataLayout(out.machine->createDataLayout());
  for (llvm::Function &fn : *out.module) {
    if (fn.isDeclaration())
      continue;
    fn.addFnAttr("target-cpu", isa);
    // v4's tuning prefers 256 bits, which would halve the explicit vectors.
    fn.addFnAttr("prefer-vector-width", isa == "x86-64-v4" ? "512" : "256");
    fn.addFnAttr(llvm::Attribute::NoUnwind);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(out.machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(*out.module, modules);
  return success();
}

/// ld.lld beside the LLVM that is loaded, else of the PATH.
std::string findLinker() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&LLVMInitializeX86Target), &info) && info.dli_fname) {
    llvm::SmallString<256> real;
    if (!llvm::sys::fs::real_path(info.dli_fname, real)) {
      StringRef lib = llvm::sys::path::parent_path(real);
      llvm::SmallString<256> beside(llvm::sys::path::parent_path(lib));
      llvm::sys::path::append(beside, "bin");
      // Debian keeps the library in lib/<multiarch> and the tools in lib/llvm-22/bin.
      llvm::SmallString<256> up(llvm::sys::path::parent_path(lib));
      llvm::sys::path::append(up, "llvm-" + std::to_string(LLVM_VERSION_MAJOR), "bin");
      if (auto found = llvm::sys::findProgramByName("ld.lld", {beside, up}))
        return *found;
    }
  }
  for (std::string name : {"ld.lld-" + std::to_string(LLVM_VERSION_MAJOR), std::string("ld.lld")})
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  return "";
}

/// A file without a name: nothing is left of it, however this process ends. A child has it open too.
class Memory {
public:
  explicit Memory(const char *label) : fd(::memfd_create(label, 0)) {}
  ~Memory() {
    if (fd >= 0)
      ::close(fd);
  }
  Memory(const Memory &) = delete;
  /// Opens it in a child of this process.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }
  /// 0 or errno.
  int write(ArrayRef<char> bytes) {
    if (fd < 0)
      return errno;
    for (ssize_t n; !bytes.empty(); bytes = bytes.drop_front(size_t(n)))
      if ((n = ::write(fd, bytes.data(), bytes.size())) < 0 && (n = 0, errno != EINTR))
        return errno;
    return 0;
  }
  std::vector<uint8_t> read() const {
    std::vector<uint8_t> bytes(std::max<off_t>(::lseek(fd, 0, SEEK_END), 0));
    size_t got = 0;
    for (ssize_t n;
         got < bytes.size() && (n = ::pread(fd, bytes.data() + got, bytes.size() - got, got)) != 0;)
      if (n > 0)
        got += size_t(n);
      else if (errno != EINTR)
        break;
    bytes.resize(got);
    return bytes;
  }

private:
  int fd;
};

FailureOr<std::vector<uint8_t>> link(ArrayRef<char> object, std::string &outside) {
  auto fail = [&](const Twine &text) -> LogicalResult {
    outside = text.str();
    return failure();
  };
  std::string linker = findLinker();
  if (linker.empty())
    return fail("ld.lld of LLVM " + Twine(LLVM_VERSION_MAJOR) + " was not found (package lld-" +
                Twine(LLVM_VERSION_MAJOR) + ")");
  Memory input("kernels.o"), output("kernels.so"), log("log");
  for (auto [file, bytes] : {std::pair(&input, object), {&output, ArrayRef<char>()}, {&log, {}}})
    if (int error = file->write(bytes))
      return fail("cannot keep kernels in memory for ld.lld: " + Twine(std::strerror(error)));
  std::string from = input.path(), to = output.path(), said = log.path();
  // By the name of a file ld.lld would write another beside it and rename that.
  StringRef args[] = {linker,
                      "-shared",
                      "--build-id=none",
                      "--strip-all",
                      "--hash-style=gnu",
                      "-z",
                      "noexecstack",
                      "-z",
                      "now",
                      "-soname",
                      "hocket-kernels",
                      "-o",
                      "-",
                      from};
  std::string error;
  int rc = llvm::sys::ExecuteAndWait(linker, args, std::nullopt,
                                     {StringRef(), StringRef(to), StringRef(said)}, 0, 0, &error);
  std::vector<uint8_t> bytes = output.read();
  if (rc == 0 && !bytes.empty())
    return bytes;
  std::vector<uint8_t> text = log.read();
  return fail("ld.lld failed: " + error +
              StringRef(reinterpret_cast<const char *>(text.data()), text.size()));
}

} // namespace

FailureOr<std::string> compileToText(ModuleOp kernels, StringRef isa) {
  Compiled compiled;
  if (failed(optimize(kernels, isa, compiled)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  compiled.module->print(os, nullptr);
  return text;
}

FailureOr<std::vector<uint8_t>> compile(ModuleOp kernels, StringRef isa, std::string *outside) {
  Compiled compiled;
  if (failed(optimize(kernels, isa, compiled)))
    return failure();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager codegen;
  if (compiled.machine->addPassesToEmitFile(codegen, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return kernels.emitError("internal: no object file for ") << isa;
  codegen.run(*compiled.module);
  std::string reason;
  FailureOr<std::vector<uint8_t>> linked = link(object, reason);
  if (failed(linked) && outside)
    *outside = reason;
  else if (failed(linked))
    kernels.emitError(reason);
  return linked;
}

} // namespace hocket::kernels
