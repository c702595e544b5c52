#include "compiler/input/output_file.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace hocket {

namespace {

/// 0 or errno.
int writeAll(int fd, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno;
    bytes = bytes.drop_front(static_cast<size_t>(n));
  }
  return 0;
}

} // namespace

bool writeOutput(const std::string &path, StringRef bytes, Diagnostics &diags) {
  auto fail = [&](int error) {
    diags.error("cannot write " + (path == "-" ? Twine("standard output") : "'" + Twine(path) + "'") + " (" +
                    Twine(bytes.size()) + " bytes): " + std::strerror(error),
                kExitRuntime);
    return false;
  };
  if (path == "-") {
    int error = writeAll(STDOUT_FILENO, bytes);
    return error ? fail(error) : true;
  }
  struct stat st{};
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode)) {
    if (S_ISDIR(st.st_mode))
      return fail(EISDIR);
    int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return fail(errno);
    int error = writeAll(fd, bytes);
    if (::close(fd) != 0 && !error)
      error = errno;
    return error ? fail(error) : true;
  }
  std::string temporary = path + ".XXXXXX";
  int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0)
    return fail(errno);
  sys::RemoveFileOnSignal(temporary);
  // mkostemp gives 0600; an output has the mode that the umask allows.
  mode_t mask = ::umask(0);
  ::umask(mask);
  int error = ::fchmod(fd, 0666 & ~mask) ? errno : writeAll(fd, bytes);
  if (!error && ::fsync(fd) != 0)
    error = errno;
  if (::close(fd) != 0 && !error)
    error = errno;
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0)
    error = errno;
  if (error)
    ::unlink(temporary.c_str());
  sys::DontRemoveFileOnSignal(temporary);
  return error ? fail(error) : true;
}

bool writeDepfile(const std::string &path, StringRef target, ArrayRef<std::string> files,
                  Diagnostics &diags) {
  auto escape = [](StringRef s) {
    std::string out;
    for (char c : s) {
      if (c == ' ' || c == '#')
        out += '\\';
      if (c == '$')
        out += '$';
      out += c;
    }
    return out;
  };
  std::string text = escape(target) + ":";
  for (const std::string &f : files)
    text += " \\\n  " + escape(f);
  text += '\n';
  if (auto old = MemoryBuffer::getFile(path); old && (*old)->getBuffer() == text)
    return true;
  return writeOutput(path, text, diags);
}

} // namespace hocket
