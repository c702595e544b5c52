#include "compiler/input/value.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

struct Parsed {
  Diagnostics diags;
  std::optional<Value> value;
};

Parsed toml(std::string text) {
  Parsed p;
  p.value = parseToml(p.diags.addSource("t", std::move(text)), p.diags);
  return p;
}
Parsed json(std::string text) {
  Parsed p;
  p.value = parseJson(p.diags.addSource("j", std::move(text)), p.diags);
  return p;
}

std::string repeat(const char *s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += s;
  return out;
}

} // namespace

TEST(Toml, MembersInTextOrderWithLocations) {
  Parsed p = toml("z = 1\na = { q = [true, \"s\"] }\n");
  ASSERT_TRUE(p.value);
  ASSERT_EQ(p.value->members.size(), 2u);
  EXPECT_EQ(p.value->members[0].key, "z");
  const Value &q = p.value->members[1].value.members[0].value;
  EXPECT_EQ(p.diags.spelling(q.items[1].loc), "\"s\"");
  EXPECT_EQ(p.diags.describe(q.items[1].loc), "t:2:18");
}

TEST(Toml, Malformed) {
  for (const char *text : {"a = ", "a = 1\na = 2\n", "[t\n", "a = \"\xff\"\n", "\xff\xff = 1",
                           "p0\xef\xb0\xbfs", "a = 1 b = 2\n", "\"", "[[", "a = 0x", "\xef\xbb"}) {
    Parsed p = toml(text);
    EXPECT_FALSE(p.value) << text;
    std::string out = p.diags.str();
    EXPECT_TRUE(llvm::StringRef(out).starts_with("t:1:") || llvm::StringRef(out).starts_with("t:2:")) << out;
    EXPECT_NE(out.find("not valid TOML: "), std::string::npos) << out;
    EXPECT_EQ(p.diags.errors(), 1u) << text;
  }
}

TEST(Toml, NestingIsLimited) {
  EXPECT_FALSE(toml("a = " + repeat("[", 100000)).value);
  EXPECT_FALSE(toml("a = " + repeat("{a=", 100000)).value);
  EXPECT_FALSE(toml(repeat("a.", 100000) + "a = 1").value);
  EXPECT_FALSE(toml("[" + repeat("a . ", 100000) + "a]").value);
  // Dots and brackets multiply: 100 x 100.
  EXPECT_FALSE(toml("a = " + repeat(("{" + repeat("a.", 100) + "a = ").c_str(), 100)).value);
  // Brackets and dots in strings and comments do not count; nor do the dots of numbers side by side.
  EXPECT_TRUE(toml("a = \"" + repeat("[", 1000) + "\" # " + repeat("{", 1000)).value);
  EXPECT_TRUE(toml("a = '''\n" + repeat("[\n", 1000) + "'''").value);
  EXPECT_TRUE(toml("a = [" + repeat("1.5, ", 1000) + "]").value);
  EXPECT_TRUE(toml("a = \"\"\"x\\\"\"\"\"\nb = 1.0").value);
}

TEST(Json, LocationsOfEveryKind) {
  Parsed p = json("{\"a\": [1, -2.5e3 , \"x\\\"y\", null,true],\n \"bé\":{}}");
  ASSERT_TRUE(p.value) << p.diags.str();
  const Value &a = p.value->members[0].value;
  const char *spelled[] = {"1", "-2.5e3", "\"x\\\"y\"", "null", "true"};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(p.diags.spelling(a.items[i].loc), spelled[i]);
  EXPECT_EQ(p.diags.spelling(a.loc), "[1, -2.5e3 , \"x\\\"y\", null,true]");
  EXPECT_EQ(p.diags.spelling(p.value->members[1].keyLoc), "\"bé\"");
  EXPECT_EQ(p.diags.describe(p.value->members[1].value.loc), "j:2:8");
}

TEST(Json, Malformed) {
  for (const char *text : {"", "{", "{\"a\":}", "[1,]", "{\"a\":1 \"b\":2}", "nul", "1e999", "\"\xff\"",
                           "[1] x", "{\"a\":1,\"a\":2}"}) {
    Parsed p = json(text);
    EXPECT_FALSE(p.value) << text;
    EXPECT_EQ(p.diags.errors(), 1u) << text;
    EXPECT_NE(p.diags.str().find("j:1:"), std::string::npos) << p.diags.str();
  }
}

TEST(Json, NestingIsLimited) {
  Parsed p = json(repeat("[", 100000));
  EXPECT_FALSE(p.value);
  EXPECT_NE(p.diags.str().find("j:1:257: error: nested too deep"), std::string::npos) << p.diags.str();
  EXPECT_FALSE(json(repeat("{\"a\":", 100000)).value);
  EXPECT_TRUE(json(repeat("[", 256) + repeat("]", 256)).value);
}
