//===- compile.h - A program around one op, compiled or interpreted -----------===//
#pragma once

#include "programs.h"
#include "train.h"

#include "compiler/driver/compile.h"

namespace hocket::test::ops {

/// `letter` over `size` devices: b over data, l over pipeline, others over tensor.
/// Two or three micro-batches; one rank takes the batch whole.
Strategy strategyOf(const Program &program, const Extents &extents, char letter, int64_t size);

/// The plan in f64; nothing with errors in `diags`, which name the place in the module's text.
std::optional<format::Plan> compile(const Program &program, const Extents &extents, const Strategy &strategy,
                                    Diagnostics &diags);

/// The differentiated program evaluated on whole tensors from the initial values
/// of `run`: losses, norms and weights.
Trained interpret(const Program &program, const Extents &extents, const Rows &rows, const Trained &run);

} // namespace hocket::test::ops
