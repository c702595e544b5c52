#include "compiler/input/diagnostics.h"

#include <gtest/gtest.h>

using namespace hocket;

TEST(Diagnostics, CaretUnderRange) {
  Diagnostics d;
  int32_t s = d.addSource("a.toml", "x = 1\nrate = nan\n");
  d.error(d.at(s, 13, 16), "not finite").note(d.at(s, 0, 1), "see here");
  EXPECT_EQ(d.str(),
            "a.toml:2:8: error: not finite\nrate = nan\n       ^~~\na.toml:1:1: note: see here\nx = 1\n^\n");
  EXPECT_EQ(d.exitCode(), kExitBadInput);
}

TEST(Diagnostics, CodePointColumnsBecomeBytes) {
  Diagnostics d;
  // 'é漢' has 4 code points and 7 bytes with its quotes; toml++ says columns 8 to 12.
  int32_t s = d.addSource("a.toml", "name = 'é漢' # x\n");
  Loc loc = d.fromCodePoints(s, 1, 8, 1, 12);
  EXPECT_EQ(loc.column, 8u);
  EXPECT_EQ(loc.endColumn, 15u);
  EXPECT_EQ(d.spelling(loc), "'é漢'");
  Loc behind = d.fromCodePoints(s, 1, 13, 1, 14);
  EXPECT_EQ(d.spelling(behind), "#");
  d.error(behind, "here");
  // The caret stands under '#': 7 + 1 + 1 + 2 (wide) + 1 + 1 columns in.
  EXPECT_EQ(d.str(), "a.toml:1:16: error: here\nname = 'é漢' # x\n" + std::string(13, ' ') + "^\n");
}

TEST(Diagnostics, LimitAndRest) {
  Diagnostics d;
  for (int i = 0; i < 25; ++i)
    d.error("e" + llvm::Twine(i)).note("n");
  EXPECT_EQ(d.errors(), 25u);
  EXPECT_EQ(d.diagnostics().size(), Diagnostics::kErrorLimit);
  std::string out = d.str();
  EXPECT_NE(out.find("error: e19\n"), std::string::npos);
  EXPECT_EQ(out.find("error: e20\n"), std::string::npos);
  EXPECT_NE(out.find("5 more errors not shown (limit 20)"), std::string::npos);
}

TEST(Diagnostics, FirstErrorDecidesTheExitCode) {
  Diagnostics d;
  EXPECT_EQ(d.exitCode(), kExitOk);
  d.warning({}, "w");
  EXPECT_EQ(d.exitCode(), kExitOk);
  d.error("no", kExitNo);
  d.error("bad");
  EXPECT_EQ(d.exitCode(), kExitNo);
}

TEST(Diagnostics, ShortAndJson) {
  Diagnostics d;
  int32_t s = d.addSource("a.toml", "x = 1\n");
  d.error(d.at(s, 0, 1), "bad \"x\"");
  EXPECT_EQ(d.str(MessageFormat::Short), "a.toml:1:1: error: bad \"x\"\n");
  Diagnostics j;
  s = j.addSource("a.toml", "x = 1\n");
  j.error(j.at(s, 0, 1), "bad \"x\"");
  EXPECT_EQ(j.str(MessageFormat::Json),
            "{\"column\":1,\"end_column\":2,\"end_line\":1,\"file\":\"a.toml\",\"format_version\":\"1.0\","
            "\"line\":1,"
            "\"message\":\"bad \\\"x\\\"\",\"notes\":[],\"severity\":\"error\"}\n");
}

TEST(Diagnostics, LongLinesAreCutAndControlCharactersShown) {
  Diagnostics d;
  std::string text(1 << 20, 'a');
  text[500000] = '\x1b';
  int32_t s = d.addSource("a", text);
  d.error(d.at(s, 500000, 900000), "here");
  std::string out = d.str();
  EXPECT_LT(out.size(), 600u);
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_NE(out.find("a:1:500001: error"), std::string::npos);
}

TEST(Diagnostics, Nearest) {
  llvm::StringRef words[] = {"pipeline", "data", "tensor"};
  EXPECT_EQ(nearest("tensr", words), "tensor");
  EXPECT_EQ(nearest("pipelines", words), "pipeline");
  EXPECT_EQ(nearest("expert", words), "");
  EXPECT_EQ(didYouMean("dta", words), "; did you mean 'data'?");
}
