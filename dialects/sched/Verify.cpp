//===- Verify.cpp - Invariants of sched's ops -------------------------------===//
#include "dialects/sched/Sched.h"

using namespace mlir;
using namespace hocket::sched;

LogicalResult CommOp::verify() { return success(); }
LogicalResult TaskOp::verify() { return success(); }
LogicalResult LaunchOp::verify() { return success(); }
LogicalResult GemmOp::verify() { return success(); }
LogicalResult CollectiveOp::verify() { return success(); }
LogicalResult RepeatOp::verify() { return success(); }
LogicalResult OrderOp::verify() { return success(); }
