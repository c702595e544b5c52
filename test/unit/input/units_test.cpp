#include "compiler/input/units.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {
double value(const char *text, Unit unit) {
  std::string why;
  auto v = parseQuantity(text, unit, why);
  EXPECT_TRUE(v) << text << ": " << why;
  return v.value_or(-1);
}
std::string why(const char *text, Unit unit) {
  std::string why;
  EXPECT_FALSE(parseQuantity(text, unit, why)) << text;
  return why;
}
} // namespace

TEST(Units, Values) {
  EXPECT_EQ(value("3 GiB", Unit::Bytes), 3221225472.0);
  EXPECT_EQ(value("2 TiB", Unit::Bytes), 2199023255552.0);
  EXPECT_EQ(value("1.5GB", Unit::Bytes), 1.5e9);
  EXPECT_EQ(value("10 GB/s", Unit::ByteRate), 1e10);
  EXPECT_EQ(value("400 Gbit/s", Unit::ByteRate), 5e10);
  EXPECT_EQ(value("60 GFLOP/s", Unit::FlopRate), 6e10);
  EXPECT_EQ(value("10 us", Unit::Seconds), 1e-5);
  EXPECT_EQ(value("3 µs", Unit::Seconds), 3e-6);
  EXPECT_EQ(value("0 us", Unit::Seconds), 0);
  EXPECT_EQ(value("6 %", Unit::Fraction), 0.06);
}

TEST(Units, Rejected) {
  EXPECT_NE(why("10", Unit::ByteRate).find("the unit is missing"), std::string::npos);
  EXPECT_NE(why("nan GB/s", Unit::ByteRate).find("must be finite"), std::string::npos);
  EXPECT_NE(why("inf GB/s", Unit::ByteRate).find("must be finite"), std::string::npos);
  EXPECT_NE(why("1e999 GB/s", Unit::ByteRate).find("must be finite"), std::string::npos);
  EXPECT_EQ(why("0 GB/s", Unit::ByteRate), "must be above zero");
  EXPECT_EQ(why("-1 GB/s", Unit::ByteRate), "must be above zero");
  EXPECT_EQ(why("-1 us", Unit::Seconds), "must not be negative");
  EXPECT_EQ(why("1e300 GB/s", Unit::ByteRate), "must be at most 1000 TB/s");
  EXPECT_EQ(why("101 %", Unit::Fraction), "must be at most 100 %");
  EXPECT_NE(why("10 Gb/s", Unit::ByteRate).find("write 'Gbit/s' for bits, 'GB/s' for bytes"),
            std::string::npos);
  EXPECT_NE(why("10 GiBs", Unit::Bytes).find("did you mean 'GiB'?"), std::string::npos);
  EXPECT_NE(why("GiB", Unit::Bytes).find("expected a size"), std::string::npos);
  EXPECT_NE(why("", Unit::Bytes).find("expected a size"), std::string::npos);
  EXPECT_NE(why("10 GB/s", Unit::FlopRate).find("expected a compute rate"), std::string::npos);
}

TEST(Units, Commas) {
  EXPECT_EQ(withCommas(0), "0");
  EXPECT_EQ(withCommas(999), "999");
  EXPECT_EQ(withCommas(1000), "1,000");
  EXPECT_EQ(withCommas(405853388800), "405,853,388,800");
}
