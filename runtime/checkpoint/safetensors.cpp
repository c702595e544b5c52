#include "runtime/checkpoint/safetensors.h"

#include "runtime/error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

namespace hocket::checkpoint {

using nlohmann::json;

[[noreturn]] static void bad(const std::string &file, const std::string &what) {
  throw Error(kExitBadInput, file + ": " + what);
}

/// Bytes of one element, 0 when unknown.
static uint64_t widthOf(std::string_view dtype) {
  static constexpr std::pair<std::string_view, uint64_t> kTypes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};
  for (auto [name, width] : kTypes)
    if (name == dtype)
      return width;
  return 0;
}

/// Nesting is bounded before the parser sees the text: a header has depth 3.
static void checkDepth(std::string_view text, const std::string &file) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 8)
        bad(file, "the header nests deeper than 8");
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

/// Control characters would break a terminal; long names would flood it.
static std::string shown(const std::string &name) {
  std::string text;
  for (char c : name.substr(0, 120))
    text += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return "'" + text + (name.size() > 120 ? "...'" : "'");
}

static uint64_t number(const json &value, const std::string &file, const std::string &what) {
  if (!value.is_number_unsigned())
    bad(file, what + " is not a whole number >= 0");
  return value.get<uint64_t>();
}

static TensorInfo parseTensor(const std::string &name, const json &value, uint64_t dataBytes,
                              const std::string &file) {
  const std::string tensor = "tensor " + shown(name);
  if (!value.is_object())
    bad(file, tensor + " is not an object");
  for (const auto &[key, unused] : value.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      bad(file, tensor + " has the unknown key " + shown(key));
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!value.contains(key))
      bad(file, tensor + " lacks '" + key + "'");
  TensorInfo info;
  const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  if (!dtype.is_string() || widthOf(dtype.get_ref<const std::string &>()) == 0)
    bad(file,
        tensor + " has an unknown dtype" + (dtype.is_string() ? " " + shown(dtype.get<std::string>()) : ""));
  info.dtype = dtype.get<std::string>();
  if (!shape.is_array() || shape.size() > 16)
    bad(file, tensor + ": the shape is not an array of at most 16 numbers");
  uint64_t bytes = widthOf(info.dtype);
  for (const json &d : shape) {
    info.shape.push_back(number(d, file, tensor + ": an extent"));
    if (__builtin_mul_overflow(bytes, info.shape.back(), &bytes))
      bad(file, tensor + ": shape times dtype overflows 64 bits");
  }
  if (!offsets.is_array() || offsets.size() != 2)
    bad(file, tensor + ": data_offsets are not two numbers");
  info.begin = number(offsets[0], file, tensor + ": an offset");
  info.end = number(offsets[1], file, tensor + ": an offset");
  if (info.begin > info.end || info.end > dataBytes)
    bad(file, tensor + ": data_offsets [" + std::to_string(info.begin) + ", " + std::to_string(info.end) +
                  "] are outside the " + std::to_string(dataBytes) + " bytes of data (truncated file?)");
  if (info.end - info.begin != bytes)
    bad(file, tensor + ": shape and dtype make " + std::to_string(bytes) + " bytes, data_offsets span " +
                  std::to_string(info.end - info.begin));
  return info;
}

Header parseHeader(std::string_view text, uint64_t dataBytes, const std::string &file) {
  if (text.empty() || text.front() != '{')
    bad(file, "the header does not begin with '{'");
  checkDepth(text, file);
  // The parser keeps the last of two equal keys: find them on the way, per object.
  std::vector<std::vector<std::string>> keys;
  auto watch = [&](int depth, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end) {
      std::vector<std::string> &own = keys.back();
      std::sort(own.begin(), own.end());
      auto twice = std::adjacent_find(own.begin(), own.end());
      if (twice != own.end())
        bad(file, "the header names " + shown(*twice) + " twice");
      keys.pop_back();
    } else if (event == json::parse_event_t::key)
      keys.back().push_back(parsed.get<std::string>());
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception &) {
    bad(file, "the header is not JSON");
  }
  if (!parsed.is_object())
    bad(file, "the header is not an object");
  Header header;
  for (const auto &[name, value] : parsed.items()) {
    if (name == "__metadata__") {
      if (!value.is_object() ||
          !std::all_of(value.begin(), value.end(), [](const json &v) { return v.is_string(); }))
        bad(file, "__metadata__ is not an object of strings");
      continue;
    }
    header[name] = parseTensor(name, value, dataBytes, file);
  }
  // In order of their offsets the tensors must tile the data.
  std::vector<std::pair<const TensorInfo *, const std::string *>> order;
  for (const auto &[name, info] : header)
    order.push_back({&info, &name});
  std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return std::tuple(a.first->begin, a.first->end, *a.second) <
           std::tuple(b.first->begin, b.first->end, *b.second);
  });
  uint64_t at = 0;
  for (const auto &[info, name] : order) {
    if (info->begin != at)
      bad(file, "tensor " + shown(*name) + " begins at " + std::to_string(info->begin) + ", expected " +
                    std::to_string(at) + (info->begin < at ? " (overlap)" : " (hole)"));
    at = info->end;
  }
  if (at != dataBytes)
    bad(file,
        "the tensors end at byte " + std::to_string(at) + " of " + std::to_string(dataBytes) + " of data");
  return header;
}

static std::string readHeader(const data::InputFile &file) {
  uint8_t prefix[8];
  if (file.size() < sizeof prefix)
    bad(file.path(), "is shorter than a safetensors header (8 bytes)");
  file.read(0, prefix, sizeof prefix);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | prefix[i];
  if (length > kMaxHeader)
    bad(file.path(), "says that its header has " + std::to_string(length) + " bytes; the limit is " +
                         std::to_string(kMaxHeader));
  if (length > file.size() - sizeof prefix)
    bad(file.path(), "says that its header has " + std::to_string(length) + " bytes, but the file has " +
                         std::to_string(file.size()) + " in all (truncated?)");
  std::string text(length, '\0');
  file.read(sizeof prefix, text.data(), length);
  return text;
}

SafetensorsReader::SafetensorsReader(const std::string &path) : file(path) {
  std::string text = readHeader(file);
  dataStart = 8 + text.size();
  header = parseHeader(text, file.size() - dataStart, path);
}

const TensorInfo *SafetensorsReader::find(const std::string &name) const {
  auto it = header.find(name);
  return it == header.end() ? nullptr : &it->second;
}

/// IEEE half to double, subnormals included.
static double fromHalf(uint16_t h) {
  uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
  double value;
  if (exponent == 31)
    value = fraction ? __builtin_nan("") : __builtin_inf();
  else if (exponent == 0)
    value = fraction * 0x1p-24;
  else
    value = __builtin_ldexp(1024 + fraction, int(exponent) - 25);
  return h >> 15 ? -value : value;
}

void SafetensorsReader::read(const std::string &name, uint64_t first, std::span<double> out) const {
  const TensorInfo &info = header.at(name);
  uint64_t width = widthOf(info.dtype);
  if (info.dtype != "F32" && info.dtype != "F64" && info.dtype != "F16" && info.dtype != "BF16")
    bad(path(), "tensor " + shown(name) + " is " + info.dtype + "; F64, F32, F16 and BF16 can be loaded");
  std::vector<uint8_t> raw(out.size() * width);
  file.read(dataStart + info.begin + first * width, raw.data(), raw.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const uint8_t *p = raw.data() + i * width;
    if (info.dtype == "F64") {
      std::memcpy(&out[i], p, 8);
    } else if (info.dtype == "F32") {
      float f;
      std::memcpy(&f, p, 4);
      out[i] = f;
    } else {
      uint16_t h;
      std::memcpy(&h, p, 2);
      out[i] = info.dtype == "F16" ? fromHalf(h) : std::bit_cast<float>(uint32_t(h) << 16);
    }
  }
}

void writeSafetensors(const std::string &path, std::vector<OutputTensor> tensors,
                      const std::function<void(const OutputTensor &, std::vector<uint8_t> &)> &fill) {
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  uint64_t at = 0;
  std::vector<uint64_t> sizes;
  for (const OutputTensor &t : tensors) {
    uint64_t bytes = widthOf(t.dtype);
    std::string shape;
    for (uint64_t d : t.shape) {
      bytes *= d;
      shape += (shape.empty() ? "" : ",") + std::to_string(d);
    }
    header += "," + json(t.name).dump(-1, ' ', false, json::error_handler_t::replace) + ":{\"dtype\":\"" +
              t.dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(at) + "," +
              std::to_string(at + bytes) + "]}";
    at += bytes;
    sizes.push_back(bytes);
  }
  header += "}";
  // Data begins on a multiple of 8; the format pads with spaces.
  header.resize((header.size() + 7) / 8 * 8, ' ');
  data::OutputFile file(path);
  uint8_t prefix[8];
  for (int i = 0; i < 8; ++i)
    prefix[i] = static_cast<uint8_t>(header.size() >> (8 * i));
  file.write(prefix, sizeof prefix);
  file.write(header);
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bytes.assign(sizes[i], 0);
    fill(tensors[i], bytes);
    file.write(bytes.data(), bytes.size());
  }
  file.commit();
}

} // namespace hocket::checkpoint
