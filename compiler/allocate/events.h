//===- events.h - Waits between streams, from happens-before ----------------===//
//
// Takes a class's templates and lists without events, gives them with the
// records and waits that order every conflicting pair of accesses, and no more.
//
// The class's lists are run twice in a row on vector clocks (one component per
// stream).  Where an access meets an earlier one that is not ordered before it,
// an edge (instruction that made it → this instruction) is added; from then on
// it orders.  Then every edge that is implied by the others is removed again.
// An edge between accesses of a slotted transfer region gets one event per slot.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket::allocate {

void deriveEvents(format::ClassProgram &program, const format::Plan &plan);

} // namespace hocket::allocate
