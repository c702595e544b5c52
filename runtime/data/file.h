//===- file.h - Reading and writing files with checks -----------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

/// A regular file opened for reading; directories, FIFOs and devices are refused.
/// All failures throw Error(2) with the path.
class InputFile {
public:
  explicit InputFile(const std::string &path);
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  uint64_t size() const { return length; }
  const std::string &path() const { return name; }
  /// Reads exactly [offset, offset + bytes).
  void read(uint64_t offset, void *destination, uint64_t bytes) const;

private:
  std::string name;
  int fd = -1;
  uint64_t length = 0;
};

/// A file that appears under its name only when it is complete: written beside
/// it, synced, renamed.  Without commit() nothing is left.  Failures throw Error(4).
/// What is no regular file already, a device or a pipe, is written to directly.
class OutputFile {
public:
  explicit OutputFile(const std::string &path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(const void *data, uint64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// What was written stands under the file's name from now on, followed by `end`, whatever happens later;
  /// what is written later takes the place of `end`.  A device or pipe only gets what was written.
  void publish(std::string_view end);
  void commit();

private:
  void flush();
  void rename();
  [[noreturn]] void fail(const char *what);
  std::string name, temporary; ///< temporary: empty once there is nothing to rename
  int fd = -1;
  bool regular = true;
  int64_t published = -1; ///< bytes under the final name before `ending`; negative: none yet
  std::string ending;
  std::vector<char> buffer;
};

/// A log that is read while it grows: every line is written at once, under the
/// final name; what stands there is kept whatever happens later.  A log without
/// a line leaves no file.  Failures throw Error(4).
class LogFile {
public:
  explicit LogFile(const std::string &path);
  ~LogFile();
  LogFile(const LogFile &) = delete;
  LogFile &operator=(const LogFile &) = delete;

  void write(std::string_view line);

private:
  std::string name;
  int fd = -1;
  bool regular = false, empty = true;
};

/// Creates a directory and its parents.  Throws Error(4).
void makeDirectories(const std::string &path);

/// A directory that stays only with what is kept in it: as makeDirectories, but
/// unless keep() is called, what was created and is empty goes again.
class OutputDirectory {
public:
  explicit OutputDirectory(const std::string &path);
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory &) = delete;
  OutputDirectory &operator=(const OutputDirectory &) = delete;
  void keep() { created.clear(); }

private:
  std::vector<std::string> created; ///< innermost first
};

/// Removes the temporary files of all open OutputFiles; safe in a signal handler.
void removeTemporaries() noexcept;

} // namespace hocket::data
