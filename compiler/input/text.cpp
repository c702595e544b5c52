#include "compiler/input/value.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace hocket {

StringRef kindName(Value::Kind kind) {
  switch (kind) {
  case Value::Kind::Null:
    return "null";
  case Value::Kind::Bool:
    return "a boolean";
  case Value::Kind::Int:
    return "an integer";
  case Value::Kind::Float:
    return "a number";
  case Value::Kind::String:
    return "a string";
  case Value::Kind::Array:
    return "a list";
  case Value::Kind::Table:
    return "a table";
  case Value::Kind::Date:
    return "a date";
  }
  return "";
}

std::optional<int32_t> loadText(const std::string &path, Diagnostics &diags, Loc askedBy) {
  auto fail = [&](const Twine &why) -> std::optional<int32_t> {
    diags.error(askedBy, "cannot read '" + path + "': " + why);
    return std::nullopt;
  };
  int fd = 0;
  if (path != "-") {
    // O_NONBLOCK: opening a FIFO must not wait for its writer.
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      return fail(std::strerror(errno));
    struct stat st{};
    if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
      ::close(fd);
      return fail(S_ISDIR(st.st_mode) ? "it is a directory" : "not a regular file");
    }
    if (static_cast<uint64_t>(st.st_size) > kMaxTextBytes) {
      ::close(fd);
      return fail("it has " + Twine(st.st_size) + " bytes; the limit for text is " + Twine(kMaxTextBytes));
    }
  }
  std::string text;
  std::vector<char> buffer(1 << 16);
  int error = 0;
  while (text.size() <= kMaxTextBytes) {
    ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      error = errno;
    if (n <= 0)
      break;
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  if (fd != 0)
    ::close(fd);
  if (error)
    return fail(std::strerror(error));
  if (text.size() > kMaxTextBytes)
    return fail("more than " + Twine(kMaxTextBytes) + " bytes");
  if (size_t nul = text.find('\0'); nul != std::string::npos)
    return fail("not a text file (a zero byte at offset " + Twine(nul) + ")");
  return diags.addSource(path == "-" ? "<stdin>" : path, std::move(text), path != "-");
}

} // namespace hocket
