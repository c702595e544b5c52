/* The kernels that test/unit/common/tiny_plan.h names, and products under names of their own.
   One copy is linked into the tests, one is a shared object that stands in for a plan's code section. */
#include <stdint.h>

#define ARG(type, i) ((type *)args[i])
#define UNUSED (void)begin, (void)end

void tiny_embed(void **args, int64_t begin, int64_t end) {
  UNUSED;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j)
      ARG(float, 1)[i * 4 + j] = (float)((ARG(const int32_t, 0)[i] * 7 + j * 3) % 11) / 11.0f - 0.4f;
}

void tiny_add(void **args, int64_t begin, int64_t end) {
  UNUSED;
  for (int i = 0; i < 32; ++i)
    ARG(float, 2)[i] = ARG(const float, 0)[i] + ARG(const float, 1)[i];
}

void tiny_sumsq(void **args, int64_t begin, int64_t end) {
  UNUSED;
  float sum = 0;
  for (int i = 0; i < 32; ++i)
    sum += ARG(const float, 0)[i] * ARG(const float, 0)[i];
  *ARG(float, 1) = sum;
}

void tiny_update(void **args, int64_t begin, int64_t end) {
  UNUSED;
  float scale = *ARG(const float, 5) / (1.0f + *ARG(const float, 4));
  for (int i = 0; i < 16; ++i) {
    float g = ARG(const float, 1)[i];
    ARG(float, 2)[i] = 0.5f * ARG(float, 2)[i] + 0.5f * g;
    ARG(float, 3)[i] = 0.5f * ARG(float, 3)[i] + 0.5f * g * g;
    ARG(float, 0)[i] -= scale * ARG(float, 2)[i];
  }
}

void tiny_init(void **args, int64_t begin, int64_t end) {
  UNUSED;
  for (int64_t i = 0; i < 16; ++i) {
    int64_t global = *ARG(const int64_t, 1) + i, seed = *ARG(const int64_t, 2);
    ARG(float, 0)[i] = (float)((global * 37 + seed * 11) % 29) / 29.0f - 0.5f;
  }
}

/* Rows with label -1 count for nothing. */
void tiny_loss(void **args, int64_t begin, int64_t end) {
  UNUSED;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) {
      int32_t label = ARG(const int32_t, 1)[i];
      float e = label < 0 ? 0 : ARG(const float, 0)[i * 4 + j] - (float)label / 16.0f;
      *ARG(float, 2) += e * e / 16.0f;
      ARG(float, 3)[i * 4 + j] = e / 8.0f;
    }
}

void tiny_gemm_forward(void **args, int64_t begin, int64_t end) {
  UNUSED;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k)
        sum += ARG(const float, 0)[i * 4 + k] * ARG(const float, 1)[k * 4 + j];
      ARG(float, 2)[i * 4 + j] = sum;
    }
}

void tiny_gemm_weight(void **args, int64_t begin, int64_t end) {
  UNUSED;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 8; ++k)
        ARG(float, 2)[i * 4 + j] += ARG(const float, 0)[k * 4 + i] * ARG(const float, 1)[k * 4 + j];
}

void tiny_gemm_input(void **args, int64_t begin, int64_t end) {
  UNUSED;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k)
        sum += ARG(const float, 0)[i * 4 + k] * ARG(const float, 1)[j * 4 + k];
      ARG(float, 2)[i * 4 + j] = sum;
    }
}
