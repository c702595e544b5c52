//===- table_reader.h - Typed keys out of a table, with located errors ------===//
#pragma once

#include "compiler/input/units.h"
#include "compiler/input/value.h"

#include "llvm/ADT/SmallVector.h"

namespace hocket {

/// Reads the keys of one table; `finish` reports every key that no call named,
/// with the nearest name that one did.  `x-…` keys are the user's own.
class TableReader {
public:
  /// `what` names the table in messages: "[host.laptop]".
  TableReader(const Value &table, std::string what, Diagnostics &diags)
      : table(table), what(std::move(what)), diags(diags) {}

  /// The value of a key, or null.
  const Value *find(llvm::StringRef key);
  /// As find; reports a missing key.
  const Value *need(llvm::StringRef key);

  std::optional<int64_t> integer(llvm::StringRef key, int64_t min, int64_t max);
  std::optional<double> number(llvm::StringRef key, double min, double max);
  std::optional<double> quantity(llvm::StringRef key, Unit unit);
  std::optional<std::string> string(llvm::StringRef key);
  std::optional<bool> boolean(llvm::StringRef key);
  const Value *subtable(llvm::StringRef key);
  const Value *array(llvm::StringRef key);
  /// One of a few words.
  std::optional<std::string> word(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> words);
  /// A key of the schema that this version cannot obey.
  void unsupported(llvm::StringRef key, const llvm::Twine &why);

  /// `format = 1`, which every file carries.
  void format();
  void missing(llvm::StringRef key);
  void finish();

  Loc keyLoc(llvm::StringRef key) const;
  Loc loc() const { return table.loc; }

private:
  const Value *typed(llvm::StringRef key, Value::Kind kind);

  const Value &table;
  std::string what;
  Diagnostics &diags;
  llvm::SmallVector<llvm::StringRef> known;
};

/// The policies of TableReader on a single value.
std::optional<int64_t> asInteger(const Value &v, llvm::StringRef name, int64_t min, int64_t max,
                                 Diagnostics &diags);
std::optional<double> asNumber(const Value &v, llvm::StringRef name, double min, double max,
                               Diagnostics &diags);
std::optional<double> asQuantity(const Value &v, llvm::StringRef name, Unit unit, Diagnostics &diags);
std::optional<std::string> asWord(const Value &v, llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> words,
                                  Diagnostics &diags);

/// "'a', 'b' or 'c'".
std::string alternatives(llvm::ArrayRef<llvm::StringRef> words);
/// Shortest decimal that reads back as the same double, locale-free.
std::string numberText(double d);

} // namespace hocket
