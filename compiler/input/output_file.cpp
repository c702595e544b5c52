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

/// An output on its way: `temporary` beside its path, empty once nothing is left to rename.
struct Staged {
  const Output *output;
  std::string temporary;
};

/// Writes a new file beside `path`; errno, or 0 and its name in `temporary`.
int stage(const Output &output, std::string &temporary) {
  std::string name = output.path + ".XXXXXX";
  int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0)
    return errno;
  sys::RemoveFileOnSignal(name);
  temporary = name;
  // mkostemp gives 0600; an output has the mode that the umask allows.
  mode_t mask = ::umask(0);
  ::umask(mask);
  int error = ::fchmod(fd, 0666 & ~mask) ? errno : writeAll(fd, output.bytes);
  if (!error && ::fsync(fd) != 0)
    error = errno;
  if (::close(fd) != 0 && !error)
    error = errno;
  return error;
}

/// What is no regular file already (a device, a pipe), or standard output.
int writeDirectly(const Output &output) {
  if (output.path == "-") {
    outs() << output.bytes;
    outs().flush();
    std::error_code error = outs().error();
    // A closed pipe is no failure to report: outs() keeps it, and main ends the program quietly.
    if (error == std::errc::broken_pipe)
      return 0;
    outs().clear_error();
    return error.value();
  }
  int fd = ::open(output.path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return errno;
  int error = writeAll(fd, output.bytes);
  if (::close(fd) != 0 && !error)
    error = errno;
  return error;
}

} // namespace

bool writeOutputs(ArrayRef<Output> outputs, Diagnostics &diags) {
  std::vector<Staged> staged;
  std::vector<const Output *> direct;
  int error = 0;
  auto failed = [&](const Output &output) {
    if (error)
      diags.error("cannot write " +
                      (output.path == "-" ? Twine("standard output") : "'" + Twine(output.path) + "'") +
                      " (" + Twine(output.bytes.size()) + " bytes): " + std::strerror(error),
                  kExitRuntime);
    return error != 0;
  };
  for (const Output &output : outputs) {
    struct stat st{};
    if (output.path == "-" || (::stat(output.path.c_str(), &st) == 0 && !S_ISREG(st.st_mode))) {
      direct.push_back(&output);
      error = output.path != "-" && S_ISDIR(st.st_mode) ? EISDIR : 0;
    } else {
      staged.push_back({&output, ""});
      error = stage(output, staged.back().temporary);
    }
    if (failed(output))
      break;
  }
  for (const Output *output : direct)
    if (!error && (error = writeDirectly(*output), failed(*output)))
      break;
  for (Staged &s : staged) {
    if (!error &&
        (error = ::rename(s.temporary.c_str(), s.output->path.c_str()) ? errno : 0, !failed(*s.output))) {
      sys::DontRemoveFileOnSignal(s.temporary);
      continue;
    }
    if (!s.temporary.empty()) {
      ::unlink(s.temporary.c_str());
      sys::DontRemoveFileOnSignal(s.temporary);
    }
  }
  return error == 0;
}

bool writeOutput(const std::string &path, StringRef bytes, Diagnostics &diags) {
  return writeOutputs(Output{path, bytes}, diags);
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
