//===- slice.cpp - Of every op and letter one size, drawn by a fixed seed -----===//
#include "programs.h"

#include "runtime/data/random.h"

std::vector<hocket::test::ops::Sharded> hocket::test::ops::cases() {
  std::vector<Sharded> result, all = everything();
  for (size_t i = 0; i < all.size(); i += 3)
    result.push_back(all[i + data::counterRandom(1, 0, i) % 3]);
  return result;
}
