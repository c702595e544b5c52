#include "runtime/data/tokens.h"

#include "runtime/data/file.h"
#include "runtime/data/random.h"
#include "runtime/error.h"

#include <algorithm>

namespace hocket::data {

TokenType tokenTypeOf(const std::string &path) {
  if (path.ends_with(".u16"))
    return TokenType::U16;
  if (path.ends_with(".u32"))
    return TokenType::U32;
  return TokenType::U8;
}

static uint64_t width(TokenType t) { return t == TokenType::U8 ? 1 : t == TokenType::U16 ? 2 : 4; }

uint32_t Tokens::at(uint64_t i) const {
  const uint8_t *p = raw.data() + i * width(type);
  switch (type) {
  case TokenType::U8:
    return p[0];
  case TokenType::U16:
    return p[0] | uint32_t(p[1]) << 8;
  case TokenType::U32:
    return p[0] | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24;
  }
  return 0;
}

Tokens::Tokens(const std::string &path, TokenType t, const Shape &s) : type(t), shape(s) {
  InputFile file(path);
  auto bad = [&](const std::string &what) { throw Error(kExitBadInput, path + ": " + what); };
  if (file.size() == 0)
    bad("is empty");
  uint64_t w = width(type);
  if (file.size() % w)
    bad(std::to_string(file.size()) + " bytes are no whole number of " + std::to_string(w) + "-byte tokens");
  count = file.size() / w;
  train = count / 10 * 9 + count % 10 * 9 / 10;
  uint64_t least = uint64_t(shape.batch) * shape.sequence + 1;
  if (count < least)
    bad("holds " + std::to_string(count) + " tokens; one batch of " + std::to_string(shape.batch) + " x " +
        std::to_string(shape.sequence) + " needs " + std::to_string(least));
  if (train < uint64_t(shape.sequence) + 1)
    bad("its first nine tenths are " + std::to_string(train) + " tokens; one training window needs " +
        std::to_string(uint64_t(shape.sequence) + 1));
  raw.resize(file.size());
  file.read(0, raw.data(), raw.size());
  for (uint64_t i = 0; i < count; ++i)
    if (at(i) >= shape.vocabulary)
      bad("token " + std::to_string(i) + " (byte " + std::to_string(i * w) + ") is " + std::to_string(at(i)) +
          ", the vocabulary ends at " + std::to_string(shape.vocabulary - 1));
}

void Tokens::trainRow(Order order, uint64_t seed, uint64_t step, uint32_t row, std::span<int32_t> out) const {
  uint64_t s = shape.sequence, start;
  if (order == Order::Random) {
    start = train - s == 0 ? 0 : counterRandom(seed, step, row) % (train - s);
  } else {
    uint64_t windows = (train - 1) / s;
    start = (step % windows * (shape.batch % windows) + row) % windows * s;
  }
  for (uint64_t i = 0; i <= s; ++i)
    out[i] = static_cast<int32_t>(at(start + i));
}

uint64_t Tokens::validationWindows() const {
  return (validationTokens() + shape.sequence - 1) / shape.sequence;
}

void Tokens::validationRow(uint64_t window, std::span<int32_t> tokens, std::span<int32_t> labels) const {
  uint64_t s = shape.sequence, start = train + window * s;
  for (uint64_t i = 0; i < s; ++i) {
    bool inside = start + i + 1 < count;
    tokens[i] = inside ? static_cast<int32_t>(at(start + i)) : 0;
    labels[i] = inside ? static_cast<int32_t>(at(start + i + 1)) : -1;
  }
}

} // namespace hocket::data
