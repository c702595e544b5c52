//===- constants.h - What was measured, in four kinds of record -------------===//
//
// A device's rates hold for every model and user of it, an attention kernel's
// for every device of its family, a stack's habits for every cluster that runs
// it, a fabric's for every stack on it.  So a record fitted on one source helps
// another.  Plain doubles: the fit varies them, a file holds them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace hocket::cost {

/// Of one device architecture; fractions are of the nominal figure.
struct DeviceConstants {
  double f16 = 0.78, fp8 = 0.65, mxfp8 = 0.62, nvfp4 = 0.5; ///< long matrix products
  double memory = 0.85;                                     ///< streaming rate
  double operands = 1;     ///< share of a product's operand traffic that arithmetic does not hide
  double kernel = 2.5e-6;  ///< seconds of a kernel that does nothing
  double misaligned = 2.4; ///< time of products with extents that are no multiple of 8, over aligned ones
  double wave = 0.5;       ///< share of the last wave's idle units that is lost
};

/// Of one attention kernel; fractions are of the device's 16-bit peak.
struct AttentionConstants {
  double forward = 0.5, backward = 0.45;
  double misaligned = 2; ///< time of heads that are no multiple of 8, over aligned ones
  double scoreBytes = 0; ///< memory traffic per score, forward; 0: scores stay on the chip
};

/// Of one software stack.
struct StackConstants {
  double launch = 6e-6;         ///< host seconds per kernel
  double traffic = 1;           ///< bytes of memory-bound operations over the fused minimum
  double tensorExposed = 1;     ///< share of tensor (and context, expert) collectives not hidden
  double gradientExposed = 0.6; ///< share of gradient reduction not hidden
  double gatherExposed = 0.15;  ///< share of parameter gathers not hidden, where work is long enough
  double stageExposed = 0.15;   ///< share of stage transfers not hidden
  double step = 0.02;           ///< seconds a step outside of everything else
  double micro = 1e-4;          ///< host seconds per micro-batch and stage
};

/// Of one cluster.
struct ClusterConstants {
  double site = 1;                           ///< all of a step's time, over what the records say
  double inner = 0.75, innerLatency = 12e-6; ///< inside the first level: fraction of the rate, seconds
  double outer = 0.6, outerLatency = 30e-6;  ///< between islands
  double transfer = 0.7;                     ///< stage to stage between islands
};

/// One of each, as a prediction needs them.
struct Constants {
  DeviceConstants device;
  AttentionConstants attention;
  StackConstants stack;
  ClusterConstants cluster;
};

} // namespace hocket::cost
