#include "compiler/schedule/tables.h"
#include "compiler/pipeline/tables.h"

namespace hocket::schedule {

std::optional<std::vector<Table>> orderTables(const std::string &schedule, int64_t stages, int64_t micro) {
  std::optional<pipeline::Schedule> kind = pipeline::scheduleOf(schedule);
  if (kind != pipeline::Schedule::GPipe && kind != pipeline::Schedule::OneFOneB)
    return std::nullopt;
  std::vector<Table> tables;
  for (const std::vector<pipeline::Pass> &passes : pipeline::tables({*kind, stages, 1, micro})) {
    Table table;
    for (const pipeline::Pass &p : passes)
      table.push_back({p.kind == pipeline::PassKind::Forward ? 'F' : 'B', p.micro});
    tables.push_back(std::move(table));
  }
  return tables;
}

} // namespace hocket::schedule
