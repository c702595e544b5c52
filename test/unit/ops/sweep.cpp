//===- sweep.cpp - All sizes of every op and letter ---------------------------===//
#include "programs.h"

std::vector<hocket::test::ops::Sharded> hocket::test::ops::cases() { return everything(); }
