#include "compiler/schedule/tables.h"
#include <algorithm>

namespace hocket::schedule {

std::optional<std::vector<Table>> orderTables(const std::string &schedule, int64_t stages, int64_t micro) {
  if (schedule != "gpipe" && schedule != "1f1b")
    return std::nullopt;
  std::vector<Table> tables;
  for (int64_t i = 0; i < stages; ++i) {
    int64_t ahead = schedule == "gpipe" ? micro : std::min(micro, stages - 1 - i);
    Table table;
    for (int64_t m = 0; m < ahead; ++m)
      table.push_back({'F', m});
    for (int64_t m = ahead; m < micro; ++m) {
      table.push_back({'F', m});
      table.push_back({'B', m - ahead});
    }
    for (int64_t m = micro - ahead; m < micro; ++m)
      table.push_back({'B', m});
    tables.push_back(std::move(table));
  }
  return tables;
}

} // namespace hocket::schedule
