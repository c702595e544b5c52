//===- mutation_fields.h - One field of a plan gets another value -----------===//
#pragma once

#include "runtime/format/plan.h"

#include <random>
#include <string>
#include <vector>

namespace hocket::test {

/// Names of the fields that can be changed, "instr.bytes"; each carries meaning that the plan states twice.
const std::vector<std::string> &mutableFields();

/// Changes one field of a plan to another value; says what, or nothing when the plan has no such field
/// or the value happened to stay.
std::string mutateField(format::Plan &plan, size_t field, std::mt19937_64 &random);

} // namespace hocket::test
