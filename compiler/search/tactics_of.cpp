#include "compiler/search/tactics_of.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace hocket {

namespace {
struct AxisName {
  cost::Axis axis;
  StringRef name;
};
/// Those that a strategy can name.
constexpr AxisName kAxes[] = {
    {cost::Axis::Pipeline, "pipeline"}, {cost::Axis::Data, "data"}, {cost::Axis::Tensor, "tensor"}};
} // namespace

cost::Tactics tacticsOf(const Strategy &s, const Job &job, int64_t layers) {
  cost::Tactics t;
  t.pipeline = s.pipeline, t.data = s.data, t.tensor = s.tensor;
  t.microBatch = s.microBatch;
  t.precision = cost::Precision(job.compute);
  t.gradientsF32 = job.gradientsF32;
  t.schedule =
      s.schedule == PipelineSchedule::GPipe ? cost::ScheduleKind::GPipe : cost::ScheduleKind::OneFOneB;
  t.stageLayers = stageLayers(s, layers);
  // Context, which a strategy does not name, has one device: anywhere.
  size_t next = 0;
  for (const std::string &name : s.order)
    for (const AxisName &axis : kAxes)
      if (axis.name == name)
        t.order[next++] = axis.axis;
  t.order[3] = t.order[2], t.order[2] = cost::Axis::Context;
  return t;
}

Strategy strategyOf(const cost::Tactics &t) {
  Strategy s;
  s.pipeline = t.pipeline, s.data = t.data, s.tensor = t.tensor;
  s.dataGiven = true;
  s.microBatch = t.microBatch;
  s.schedule = t.schedule == cost::ScheduleKind::GPipe ? PipelineSchedule::GPipe : PipelineSchedule::OneFOneB;
  s.layers = t.stageLayers;
  s.order.clear();
  for (cost::Axis axis : t.order)
    for (const AxisName &name : kAxes)
      if (name.axis == axis)
        s.order.push_back(name.name.str());
  return s;
}

} // namespace hocket
