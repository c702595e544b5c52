#include "compiler/schedule/Passes.h"
#include "compiler/schedule/steps.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "compiler/schedule/Passes.h.inc"

namespace {

using namespace schedule;

/// The gradient norm's terms are added over stages at the end of N.
void addOverStages(sched::TaskOp task, place::TaskOp placed, StringRef axis) {
  for (auto [i, r] : llvm::enumerate(placed.getResults()))
    for (Operation *user : r.getUsers())
      if (isa<place::AllReduceOp>(user)) {
        Operation *yield = task.getBody().front().getTerminator();
        OpBuilder b(yield);
        Value v = yield->getOperand(i);
        auto reduce = par::AllReduceOp::create(b, task.getLoc(), TypeRange{v.getType()}, ValueRange{v},
                                               b.getStrArrayAttr({axis}), "sum", false);
        yield->setOperand(i, reduce.getResult(0));
        break;
      }
}

LogicalResult makeTask(place::TaskOp placed, Shared &shared) {
  auto fn = shared.module.lookupSymbol<func::FuncOp>(placed.getFn());
  if (!fn || fn.isExternal())
    return placed.emitOpError("runs unknown function @") << placed.getFn();
  if (!llvm::equal(placed->getResultTypes(), fn.getResultTypes()))
    return placed.emitOpError("results differ from those of @") << placed.getFn();
  std::string symbol = placed.getMesh().str() + "." + placed.getName().str();
  FailureOr<sched::TaskOp> task = inlineTask(fn, symbol, placed.getMesh(), shared.module);
  if (failed(task))
    return failure();
  addOverStages(*task, placed, shared.pipelineAxis);
  DenseSet<Value> stacked;
  for (BlockArgument a : task->getBody().front().getArguments())
    if (fn.getArgAttr(a.getArgNumber(), "place.stacked"))
      stacked.insert(a);
  if (failed(stackRepeats(*task, stacked)) || failed(accumulate(*task)))
    return failure();
  fuseMaps(*task);
  FailureOr<InPlace> inPlace = tieHomes(*task);
  if (failed(inPlace))
    return failure();
  insertCopies(*task, *inPlace);
  return emitKernels(*task, *inPlace, shared);
}

LogicalResult run(ModuleOp module) {
  auto steps = llvm::to_vector(module.getOps<place::StepOp>());
  if (steps.size() != 1)
    return module.emitError("schedule needs one place.step, there are ") << steps.size();
  place::StepOp step = steps.front();
  Shared shared;
  shared.module = module;
  // The one axis of the mesh that the stages' meshes lack.
  SmallVector<place::MeshOp> stages(module.getOps<place::MeshOp>());
  for (auto mesh : module.getOps<par::MeshOp>())
    for (Attribute axis : mesh.getAxes())
      if (!stages.empty() && !llvm::is_contained(stages[0].getAxes(), axis))
        shared.pipelineAxis = cast<StringAttr>(axis).str();
  if (stages.size() > 1 && shared.pipelineAxis.empty())
    return module.emitError("has several stages and no axis for them");
  SmallVector<place::TaskOp> placed;
  for (Region *region : {&step.getBody(), &step.getUpdate()})
    llvm::append_range(placed, region->front().getOps<place::TaskOp>());
  std::map<std::string, int64_t> number;
  for (place::MeshOp mesh : stages)
    number[mesh.getSymName().str()] = mesh.getStage();
  llvm::sort(placed, [&](place::TaskOp x, place::TaskOp y) {
    return std::pair(number[x.getMesh().str()], StringRef("FBLNU").find(x.getName())) <
           std::pair(number[y.getMesh().str()], StringRef("FBLNU").find(y.getName()));
  });
  for (place::TaskOp task : placed)
    if (failed(makeTask(task, shared)))
      return failure();
  if (failed(emitOrders(step, shared)))
    return failure();

  // Communicators; pair communicators last.
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  b.setInsertionPointAfter(stages.back());
  int64_t order = 0;
  for (auto &[name, axes] : shared.comms) {
    SmallVector<StringRef> names(axes.begin(), axes.end());
    sched::CommOp::create(b, step.getLoc(), name.getValue(), b.getStrArrayAttr(names), false, order++);
  }
  if (stages.size() > 1)
    sched::CommOp::create(b, step.getLoc(), shared.pipelineAxis, b.getStrArrayAttr({shared.pipelineAxis}),
                          true, order++);
  if (failed(shareStreams(module)))
    return failure();
  step.erase();
  for (auto fn : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    fn.erase();
  return success();
}

struct SchedulePass : impl::SchedulePassBase<SchedulePass> {
  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createSchedulePass() { return std::make_unique<SchedulePass>(); }

} // namespace hocket
