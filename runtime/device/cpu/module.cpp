#include "runtime/device/cpu/module.h"

#include "runtime/error.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <tuple>
#include <unistd.h>

namespace hocket::device::cpu {

std::string hostIsa() {
  if (__builtin_cpu_supports("x86-64-v4"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3"))
    return "x86-64-v3";
  if (__builtin_cpu_supports("x86-64-v2"))
    return "x86-64-v2";
  return "x86-64";
}

static int level(const std::string &isa) {
  if (isa == "x86-64")
    return 1;
  if (isa.size() == 9 && isa.starts_with("x86-64-v") && isa[8] >= '1' && isa[8] <= '4')
    return isa[8] - '0';
  return 0;
}

void checkIsa(const std::string &isa) {
  std::string host = hostIsa();
  if (level(isa) == 0 || level(isa) > level(host))
    throw Error(kExitIncompatible, "the plan is for " + isa + ", this CPU has " + host +
                                       "; plan again with a cluster file that says isa = \"" + host + "\"");
}

/// What dlopen takes for granted of an object: reject others before it looks.
static void checkElf(const std::vector<uint8_t> &code) {
  auto bad = [](const char *what) {
    throw Error(kExitBadInput,
                std::string("the plan's code section is not an x86-64 shared object: ") + what);
  };
  Elf64_Ehdr header;
  if (code.size() < sizeof header)
    bad("too short");
  std::memcpy(&header, code.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    bad("no ELF magic");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64 || header.e_type != ET_DYN)
    bad("wrong class, byte order, machine or type");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > code.size() ||
      uint64_t(header.e_phnum) * sizeof(Elf64_Phdr) > code.size() - header.e_phoff)
    bad("program headers outside the file");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, code.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC)
      continue;
    if (segment.p_offset > code.size() || segment.p_filesz > code.size() - segment.p_offset)
      bad("a segment outside the file");
  }
}

static std::pair<void *, int> load(const std::vector<uint8_t> &code) {
  checkElf(code);
  int fd = memfd_create("hocket-plan-code", MFD_CLOEXEC);
  if (fd < 0)
    throw Error(kExitRunTime,
                std::string("cannot create memory for the plan's code: ") + std::strerror(errno));
  for (size_t done = 0; done < code.size();) {
    ssize_t n = write(fd, code.data() + done, code.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      int reason = errno;
      close(fd);
      throw Error(kExitRunTime, std::string("cannot store the plan's code: ") + std::strerror(reason));
    }
    done += static_cast<size_t>(n);
  }
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = handle ? "" : dlerror();
  if (!handle) {
    close(fd);
    throw Error(kExitBadInput, "cannot load the plan's code: " + reason);
  }
  return {handle, fd};
}

Module::Code::~Code() {
  if (handle)
    dlclose(handle);
  if (fd >= 0)
    close(fd);
}

Module::Module(const format::Plan &plan, const KernelResolver &resolve) {
  auto find = [&](const std::string &symbol) {
    KernelFunction f = nullptr;
    if (resolve)
      f = resolve(symbol);
    else if (code.handle)
      f = reinterpret_cast<KernelFunction>(dlsym(code.handle, symbol.c_str()));
    if (!f)
      throw Error(kExitNo, "the plan's code has no kernel '" + symbol + "'");
    return f;
  };
  bool needed = !plan.kernels.empty();
  for (const format::Gemm &g : plan.gemms)
    needed |= !g.symbol.empty();
  if (!resolve && needed) {
    checkIsa(plan.isa);
    std::tie(code.handle, code.fd) = load(plan.code);
  }
  for (const format::Kernel &k : plan.kernels)
    kernels.push_back(find(k.symbol));
  for (const format::Gemm &g : plan.gemms)
    gemms.push_back(g.symbol.empty() ? nullptr : find(g.symbol));
}

} // namespace hocket::device::cpu
