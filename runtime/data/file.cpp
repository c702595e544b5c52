#include "runtime/data/file.h"

#include "runtime/error.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace hocket::data {

InputFile::InputFile(const std::string &path) : name(path) {
  auto bad = [&](const std::string &what) {
    if (fd >= 0)
      close(fd);
    throw Error(kExitBadInput, path + ": " + what);
  };
  // O_NONBLOCK: opening a FIFO must not hang.
  fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    bad(std::strerror(errno));
  struct stat s;
  if (fstat(fd, &s) != 0)
    bad(std::strerror(errno));
  if (S_ISDIR(s.st_mode))
    bad("is a directory, expected a file");
  if (!S_ISREG(s.st_mode))
    bad("is not a regular file");
  length = static_cast<uint64_t>(s.st_size);
}

InputFile::~InputFile() { close(fd); }

void InputFile::read(uint64_t offset, void *destination, uint64_t bytes) const {
  auto *to = static_cast<char *>(destination);
  while (bytes) {
    ssize_t n = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      throw Error(kExitBadInput, name + ": " + std::strerror(errno));
    if (n == 0)
      throw Error(kExitBadInput, name + ": ends at byte " + std::to_string(offset) + ", " +
                                     std::to_string(bytes) + " more were expected");
    to += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<uint64_t>(n);
  }
}

//===----------------------------------------------------------------------===//

namespace {
/// Names of open temporaries, for the signal handler: fixed storage, no locks.
struct TemporaryName {
  std::atomic<bool> used{false}, valid{false};
  char path[4096] = {};
};
std::array<TemporaryName, 8> temporaries;
} // namespace

void removeTemporaries() noexcept {
  for (TemporaryName &t : temporaries)
    if (t.valid.load(std::memory_order_acquire))
      unlink(t.path);
}

static void forget(const std::string &path) {
  for (TemporaryName &t : temporaries)
    if (t.valid.load() && path == t.path) {
      t.valid.store(false);
      t.used.store(false);
      return;
    }
}

static void remember(const std::string &path) {
  for (TemporaryName &t : temporaries)
    if (path.size() < sizeof t.path && !t.used.exchange(true)) {
      std::memcpy(t.path, path.c_str(), path.size() + 1);
      t.valid.store(true, std::memory_order_release);
      return;
    }
}

OutputFile::OutputFile(const std::string &path)
    : name(path), temporary(path + ".tmp." + std::to_string(getpid())) {
  struct stat s;
  bool exists = stat(path.c_str(), &s) == 0;
  if (exists && S_ISDIR(s.st_mode))
    throw Error(kExitRunTime, "cannot write " + name + ": " + std::strerror(EISDIR));
  if (exists && !S_ISREG(s.st_mode)) {
    // A device or pipe is written to: renaming a file over /dev/full would replace the device.
    temporary.clear();
    regular = false;
    fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      throw Error(kExitRunTime, "cannot write " + name + ": " + std::strerror(errno));
    fcntl(fd, F_SETFL, 0); // O_NONBLOCK was for opening a pipe that nobody reads
    buffer.reserve(1 << 16);
    return;
  }
  fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0 && errno == EEXIST) {
    // Left by a killed process that had our id.
    unlink(temporary.c_str());
    fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  }
  if (fd < 0)
    throw Error(kExitRunTime, "cannot write " + name + ": " + std::strerror(errno));
  remember(temporary);
  buffer.reserve(1 << 16);
}

OutputFile::~OutputFile() {
  if (fd < 0)
    return;
  // Written after the last publish() and not to its end: back to what stood.
  if (published >= 0 &&
      pwrite(fd, ending.data(), ending.size(), published) == static_cast<ssize_t>(ending.size()))
    (void)!ftruncate(fd, published + static_cast<int64_t>(ending.size()));
  close(fd);
  if (temporary.empty())
    return;
  unlink(temporary.c_str());
  forget(temporary);
}

void OutputFile::fail(const char *what) {
  throw Error(kExitRunTime, std::string("cannot ") + what + " " + name + ": " + std::strerror(errno));
}

static bool writeAll(int fd, const char *data, uint64_t bytes) {
  while (bytes) {
    ssize_t n = ::write(fd, data, bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    data += n;
    bytes -= static_cast<uint64_t>(n);
  }
  return true;
}

void OutputFile::write(const void *data, uint64_t bytes) {
  if (buffer.size() + bytes > buffer.capacity())
    flush();
  if (bytes > buffer.capacity()) {
    if (!writeAll(fd, static_cast<const char *>(data), bytes))
      fail("write");
    return;
  }
  auto *from = static_cast<const char *>(data);
  buffer.insert(buffer.end(), from, from + bytes);
}

void OutputFile::flush() {
  if (!writeAll(fd, buffer.data(), buffer.size()))
    fail("write");
  buffer.clear();
}

void OutputFile::publish(std::string_view end) {
  flush();
  if (!regular)
    return;
  off_t at = lseek(fd, 0, SEEK_CUR);
  if (at < 0 || !writeAll(fd, end.data(), end.size()) || ftruncate(fd, at + off_t(end.size())) != 0 ||
      lseek(fd, at, SEEK_SET) < 0)
    fail("write");
  if (!temporary.empty())
    rename();
  published = at;
  ending = end;
}

void OutputFile::commit() {
  flush();
  if (!temporary.empty())
    rename();
  int closed = close(fd);
  fd = -1;
  if (closed != 0)
    fail("finish");
}

/// From the temporary's name to the final one; without a temporary left behind when that fails.
void OutputFile::rename() {
  // Some file systems (pipes, FUSE) have no fsync; that is no failure to write.
  if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
    fail("sync");
  if (::rename(temporary.c_str(), name.c_str()) != 0)
    fail("finish"); // the destructor removes it
  forget(temporary);
  temporary.clear();
  // The new name must survive a power cut too.
  std::string directory = std::filesystem::path(name).parent_path().string();
  int d = open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (d >= 0) {
    fsync(d);
    close(d);
  }
}

void makeDirectories(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path, error))
    throw Error(kExitRunTime, "cannot make directory " + path + ": " +
                                  (error ? error.message() : std::string("a file has this name")));
}

LogFile::LogFile(const std::string &path) : name(path) {
  fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  struct stat s;
  if (fd < 0 || fstat(fd, &s) != 0)
    throw Error(kExitRunTime, "cannot write " + name + ": " + std::strerror(errno));
  regular = S_ISREG(s.st_mode);
  fcntl(fd, F_SETFL, 0); // O_NONBLOCK was for opening a pipe that nobody reads
}

LogFile::~LogFile() {
  if (fd < 0)
    return;
  close(fd);
  if (regular && empty)
    unlink(name.c_str());
}

void LogFile::write(std::string_view line) {
  if (!writeAll(fd, line.data(), line.size()))
    throw Error(kExitRunTime, "cannot write " + name + ": " + std::strerror(errno));
  empty = false;
}

OutputDirectory::OutputDirectory(const std::string &path) {
  std::error_code ignored;
  // "a/b/" names b: the empty last component is no directory of its own.
  std::filesystem::path at = std::filesystem::path(path).has_filename()
                                 ? std::filesystem::path(path)
                                 : std::filesystem::path(path).parent_path();
  for (; !at.empty() && !std::filesystem::exists(at, ignored); at = at.parent_path())
    created.push_back(at.string());
  makeDirectories(path);
}

OutputDirectory::~OutputDirectory() {
  std::error_code ignored;
  for (const std::string &path : created)
    std::filesystem::remove(path, ignored); // refuses what is not empty
}

} // namespace hocket::data
