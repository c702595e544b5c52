// REQUIRES: hocket-opt
// RUN: not hocket-opt %s --hocket-import="config=%examples/gpt2-tiny batch=0 sequence=8" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not hocket-opt %s --hocket-import="config=%examples/gpt2-tiny batch=1 sequence=8 dtype=f16" 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not hocket-opt %s --hocket-import="config=%examples/gpt2-tiny batch=1 sequence=129" 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not hocket-opt %s --hocket-import="config=%t.none batch=1 sequence=8" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: echo "func.func private @f()" | not hocket-opt --hocket-import="config=%examples/gpt2-tiny" 2>&1 | FileCheck %s --check-prefix=FULL

// BATCH: error: batch and sequence must be in [1, 2^24]
// DTYPE: error: dtype must be f32 or f64, not 'f16'
// LONG: error: {{.*}}sequence 129 is longer than the model's 128 learned positions
// NONE: error: {{.*}}none
// FULL: error: hocket-import needs an empty module
