//===- say.h - Words on standard error, results on standard output ----------===//
#pragma once

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>

namespace hocket::run {

inline int outputError = 0; ///< errno of the first failure on standard output

/// Prints on standard error.  Nobody may be there to read it (a closed pipe, a
/// full disk): that never ends a run, so failures are not looked at.
template <typename... T>
void say(fmt::format_string<T...> format, T &&...arguments) {
  std::string text = fmt::format(format, std::forward<T>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Prints a result on standard output; finishOutput() says how that went.
template <typename... T>
void out(fmt::format_string<T...> format, T &&...arguments) {
  std::string text = fmt::format(format, std::forward<T>(arguments)...);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && !outputError)
    outputError = errno;
}

/// Flushes standard output; 0, or the errno of its first failure.
inline int finishOutput() {
  if (std::fflush(stdout) != 0 && !outputError)
    outputError = errno;
  return outputError;
}

} // namespace hocket::run
