//===- say.h - Words for people on standard error ---------------------------===//
#pragma once

#include <cstdio>
#include <fmt/format.h>

namespace hocket::run {

/// Prints on standard error.  Nobody may be there to read it (a closed pipe, a
/// full disk): that never ends a run, so failures are not looked at.
template <typename... T>
void say(fmt::format_string<T...> format, T &&...arguments) {
  std::string text = fmt::format(format, std::forward<T>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace hocket::run
