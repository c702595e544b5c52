//===- bench.cpp - Rates of the generated kernels on one core ---------------===//
//
// kernels_bench [ISA] [FILTER]: compile time, time, GB/s and GFLOP/s of each kernel at the
// shapes of an 875k-parameter GPT (16 x 128 tokens) and of one of 25M (8 x 256).
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/kernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace hocket;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {
struct Model {
  const char *name;
  std::map<char, int64_t> extents;
};
struct Spec {
  std::string name, dims, attributes, region;
};
} // namespace

/// i32 for tokens, labels and positions: operands whose letters are in `ints`.
static std::string text(const Spec &s, const std::map<char, int64_t> &extents, const std::string &ints) {
  std::string params, names, types, outs;
  auto tensor = [&](const std::string &letters, bool integer) {
    std::string t = "tensor<";
    for (char l : letters)
      t += std::to_string(extents.at(l)) + "x";
    return t + (integer ? "i32>" : "f32>");
  };
  model::Dims dims = model::Dims::parse(s.dims);
  for (size_t i = 0; i < dims.operands.size(); ++i) {
    std::string t = tensor(dims.operands[i], ints.find(char('0' + i)) != std::string::npos);
    std::string comma = i ? ", " : "", n = "%a" + std::to_string(i);
    params += comma + n + ": " + t;
    names += comma + n;
    types += comma + t;
  }
  for (size_t i = 0; i < dims.results.size(); ++i)
    outs += (i ? ", " : "") + tensor(dims.results[i], false);
  return "func.func @f(" + params + ") {\n%r:" + std::to_string(dims.results.size()) + " = model." + s.name +
         "(" + names + ") " + s.region + " {dims = \"" + s.dims + "\"" + s.attributes + "} : (" + types +
         ") -> (" + outs + ")\nreturn\n}";
}

static const char *kGelu = R"({ ^bb0(%x: f32):
  %h = arith.constant 0.5 : f32 %o = arith.constant 1.0 : f32 %k = arith.constant 0.79788456 : f32 %c = arith.constant 0.044715 : f32
  %x2 = arith.mulf %x, %x : f32 %x3 = arith.mulf %x2, %x : f32 %cx = arith.mulf %c, %x3 : f32 %s = arith.addf %x, %cx : f32
  %ks = arith.mulf %k, %s : f32 %t = math.tanh %ks : f32 %t1 = arith.addf %o, %t : f32 %hx = arith.mulf %h, %x : f32
  %y = arith.mulf %hx, %t1 : f32 model.yield %y : f32 })";
static const char *kGeluGrad = R"({ ^bb0(%x: f32, %d: f32):
  %h = arith.constant 0.5 : f32 %o = arith.constant 1.0 : f32 %k = arith.constant 0.79788456 : f32 %c = arith.constant 0.044715 : f32
  %c3 = arith.constant 0.134145 : f32
  %x2 = arith.mulf %x, %x : f32 %x3 = arith.mulf %x2, %x : f32 %cx = arith.mulf %c, %x3 : f32 %s = arith.addf %x, %cx : f32
  %ks = arith.mulf %k, %s : f32 %t = math.tanh %ks : f32 %t1 = arith.addf %o, %t : f32 %tt = arith.mulf %t, %t : f32
  %q = arith.subf %o, %tt : f32 %cc = arith.mulf %c3, %x2 : f32 %c1 = arith.addf %o, %cc : f32 %kc = arith.mulf %k, %c1 : f32
  %hx = arith.mulf %h, %x : f32 %a = arith.mulf %hx, %q : f32 %b = arith.mulf %a, %kc : f32 %e = arith.mulf %h, %t1 : f32
  %g = arith.addf %b, %e : f32 %y = arith.mulf %g, %d : f32 model.yield %y : f32 })";
static const char *kAdd = R"({ ^bb0(%x: f32, %y: f32): %z = arith.addf %x, %y : f32 model.yield %z : f32 })";
static const char *kAdamW = R"({ ^bb0(%p: f32, %g0: f32, %m0: f32, %v0: f32, %f: f32, %lr: f32):
  %b1 = arith.constant 0.9 : f32 %n1 = arith.constant 0.1 : f32 %b2 = arith.constant 0.95 : f32 %n2 = arith.constant 0.05 : f32
  %eps = arith.constant 1.0e-8 : f32 %wd = arith.constant 0.1 : f32 %g = arith.mulf %g0, %f : f32
  %m1 = arith.mulf %b1, %m0 : f32 %m2 = arith.mulf %n1, %g : f32 %m = arith.addf %m1, %m2 : f32
  %gg = arith.mulf %g, %g : f32 %v1 = arith.mulf %b2, %v0 : f32 %v2 = arith.mulf %n2, %gg : f32 %v = arith.addf %v1, %v2 : f32
  %r = math.sqrt %v : f32 %d = arith.addf %r, %eps : f32 %u = arith.divf %m, %d : f32 %w = arith.mulf %wd, %p : f32
  %s = arith.addf %u, %w : f32 %l = arith.mulf %lr, %s : f32 %q = arith.subf %p, %l : f32 model.yield %q, %m, %v : f32, f32, f32 })";

int main(int argc, char **argv) {
  std::string isa = argc > 1 ? argv[1] : "x86-64-v4", filter = argc > 2 ? argv[2] : "";
  const Model models[] = {{"875k",
                           {{'b', 16},
                            {'s', 128},
                            {'t', 128},
                            {'g', 4},
                            {'r', 1},
                            {'d', 32},
                            {'h', 128},
                            {'f', 512},
                            {'v', 256},
                            {'x', 875264}}},
                          {"25M",
                           {{'b', 8},
                            {'s', 256},
                            {'t', 256},
                            {'g', 8},
                            {'r', 1},
                            {'d', 64},
                            {'h', 512},
                            {'f', 2048},
                            {'v', 256},
                            {'x', 25000000}}}};
  const std::pair<Spec, const char *> specs[] = {
      {{"map", "bsh,bsh->bsh", "", kAdd}, ""},
      {{"map", "bsf->bsf", "", kGelu}, ""},
      {{"map", "bsf,bsf->bsf", "", kGeluGrad}, ""},
      {{"map", "bsf,f->bsf", "", kAdd}, ""},
      {{"map", "x,x,x,x,,->x,x,x", "", kAdamW}, ""},
      {{"dot", "x,x->", "", ""}, ""},
      {{"reduce", "bsf->f", ", kind = \"sum\"", ""}, ""},
      {{"layernorm", "bsh,h,h->bsh,bs,bs", ", eps = 1.0e-5 : f64", ""}, ""},
      {{"layernorm_grad", "bsh,bsh,bs,bs,h->bsh,h,h", "", ""}, ""},
      {{"rmsnorm", "bsh,h->bsh,bs", ", eps = 1.0e-5 : f64", ""}, ""},
      {{"rmsnorm_grad", "bsh,bsh,bs,h->bsh,h", "", ""}, ""},
      {{"rope", "bsgrd,s->bsgrd", ", theta = 10000.0 : f64", ""}, "1"},
      {{"gather", "vh,bs->bsh", "", ""}, "1"},
      {{"scatter_add", "bsh,bs->vh", "", ""}, "1"},
      {{"xent", "bsv,bs->,bs", ", scale = 0.001 : f64", ""}, "1"},
      {{"xent_grad", "bsv,bs,bs->bsv", ", scale = 0.001 : f64", ""}, "1"},
      {{"attention", "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", ", mask = \"causal\", scale = 0.1 : f64", ""}, "34"},
      {{"attention_grad", "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd",
        ", mask = \"causal\", scale = 0.1 : f64", ""},
       "67"}};
  mlir::MLIRContext context;
  context.loadDialect<model::ModelDialect, mlir::func::FuncDialect>();
  {
    std::vector<char> a(64 << 20, 1), b(64 << 20, 2);
    double best = 1e9;
    for (int i = 0; i < 10; ++i) {
      double start = now();
      std::memcpy(a.data(), b.data(), a.size());
      asm volatile("" ::"r"(a.data()) : "memory");
      best = std::min(best, now() - start);
    }
    llvm::outs() << llvm::formatv("{0,-44} {1,9:f1} us {2,7:f1} GB/s\n", "memcpy 64 MiB", best * 1e6,
                                  2 * double(a.size()) / best * 1e-9);
  }
  for (const Model &model : models)
    for (const auto &[spec, ints] : specs) {
      if (spec.name.find(filter) == std::string::npos)
        continue;
      auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text(spec, model.extents, ints), &context);
      if (!parsed)
        return 1;
      auto *op = &(*parsed->getOps<mlir::func::FuncOp>().begin()).getBody().front().front();
      auto desc = kernels::describe(op);
      mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
      double start = now();
      if (mlir::failed(desc) || mlir::failed(kernels::generate(op, *module)))
        return 1;
      auto bytes = kernels::compile(*module, isa);
      if (mlir::failed(bytes))
        return 1;
      double compile = now() - start;
      // Equal from every build of the compiler.
      std::string digest = llvm::toHex(llvm::BLAKE3::hash<6>(*bytes), true);
      int fd = memfd_create("kernels", 0);
      if (write(fd, bytes->data(), bytes->size()) != ssize_t(bytes->size()))
        return 1;
      void *handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW);
      close(fd);
      if (!handle)
        return 1;
      auto fn = reinterpret_cast<void (*)(void **, int64_t, int64_t)>(dlsym(handle, desc->symbol.c_str()));
      std::vector<std::vector<float>> buffers;
      std::vector<void *> args;
      uint32_t state = 1;
      for (size_t i = 0; i < desc->args.size(); ++i) {
        std::vector<float> data(desc->args[i].bytes / 4);
        bool integer = std::string(ints).find(char('0' + i)) != std::string::npos;
        for (size_t j = 0; j < data.size(); ++j) {
          state = state * 1664525 + 1013904223;
          int32_t index =
              spec.name.starts_with("attention") || spec.name == "rope" ? int32_t(j) : int32_t(state >> 24);
          if (integer)
            std::memcpy(&data[j], &index, 4);
          else
            data[j] = float(state >> 8) * 0x1p-24f;
        }
        buffers.push_back(std::move(data));
      }
      for (auto &b : buffers)
        args.push_back(b.data());
      double best = 1e9, spent = 0;
      for (int i = 0; i < 200 && (i < 5 || spent < 0.3); ++i) {
        double t = now();
        fn(args.data(), 0, desc->work);
        t = now() - t;
        best = std::min(best, t);
        spent += t;
      }
      // Attention: the products of the causal half (2 forward, 5 backward).
      double flops = desc->flops;
      if (spec.name.starts_with("attention")) {
        auto e = model.extents;
        flops =
            (spec.name == "attention" ? 2 : 5) * double(e['b'] * e['g'] * e['r'] * e['s'] * e['t'] * e['d']);
      }
      llvm::outs() << llvm::formatv(
          "{0,-5} {1,-38} {2,9:f1} us {3,7:f1} GB/s {4,7:f1} GFLOP/s  compiled in {5:f2} s, {6} B, {7}\n",
          model.name, spec.name + " " + spec.dims.substr(0, 22), best * 1e6, desc->memoryBytes / best * 1e-9,
          flops / best * 1e-9, compile, bytes->size(), digest);
      llvm::outs().flush();
      dlclose(handle); // the next object comes under the same name
    }
}
