//===- memory_tables.h - What accuracy prints of memory ---------------------===//
#pragma once

#include "compiler/calibrate/memory_fit.h"

namespace hocket::calibrate {

/// Errors of stated peaks and verdicts on rows that ran or ran out of memory, means over `draws` draws.
void printMemory(const std::vector<Published> &rows, int draws);

/// Rows of one family that state a peak or ran out of memory, term by term; constants of all rows.
void listMemory(const std::vector<Published> &rows, const std::string &family);

/// Records of stacks as TOML, for the end of library/constants.toml.
void printMemoryConstants(const std::vector<Published> &rows);

} // namespace hocket::calibrate
