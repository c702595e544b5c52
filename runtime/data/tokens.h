//===- tokens.h - A text as tokens, and the windows of it that a step reads -===//
//
// A file is one token a byte, or raw little-endian u16 or u32.  The first
// floor(9 N / 10) tokens are for training, the rest for validation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket::data {

enum class TokenType { U8, U16, U32 };

/// By the file's suffix: .u16, .u32, else bytes.
TokenType tokenTypeOf(const std::string &path);

enum class Order { Random, Sequential };

/// What a batch looks like; all from the plan.
struct Shape {
  uint32_t batch = 0, sequence = 0, vocabulary = 0;
};

class Tokens {
public:
  /// Reads and checks the whole file.  Error(2) with the path when it is
  /// missing, no regular file, empty, not a whole number of tokens, shorter than
  /// batch * sequence + 1 tokens, too short for one training window, or holds a
  /// token >= vocabulary (its position and value are named).
  Tokens(const std::string &path, TokenType type, const Shape &shape);

  uint64_t size() const { return count; }
  uint64_t trainSize() const { return train; }
  uint64_t bytes() const { return raw.size(); }

  /// Row `row` of step `step` (from 0): sequence + 1 tokens.
  ///   Random      start = counterRandom(seed, step, row) mod (train - sequence)
  ///   Sequential  window (step * batch + row) mod floor((train - 1) / sequence), stride sequence
  void trainRow(Order order, uint64_t seed, uint64_t step, uint32_t row, std::span<int32_t> out) const;

  /// Validation: windows of stride `sequence` that predict every token of the
  /// tail but its first.
  uint64_t validationWindows() const;
  /// Predicted tokens in all windows: tail - 1.
  uint64_t validationTokens() const { return count - train < 2 ? 0 : count - train - 1; }
  /// Window `window`: `tokens` and `labels` of `sequence` each; positions past the
  /// tail are token 0 with label -1 (ignored), so are whole windows past the end.
  void validationRow(uint64_t window, std::span<int32_t> tokens, std::span<int32_t> labels) const;

private:
  uint32_t at(uint64_t index) const;
  std::vector<uint8_t> raw;
  TokenType type;
  Shape shape;
  uint64_t count = 0, train = 0;
};

} // namespace hocket::data
