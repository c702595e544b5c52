//===- answer.h - What a search found, for people and programs --------------===//
#pragma once

#include "compiler/driver/driver.h"
#include "compiler/search/choose.h"
#include "llvm/Support/JSON.h"

namespace hocket {

/// Bytes in the unit that leaves three digits or fewer before the point: "12.3 MiB".
std::string bytesText(double bytes);
/// "12.3 ms", "4.56 s".
std::string secondsText(double seconds);

/// "step", its interval and its throughput; "binds", "next best", "proof" and "run": the lines around a
/// plan's own.
void printStep(llvm::raw_ostream &os, const Choice &choice, const planner::Priced &of);
void printComparison(llvm::raw_ostream &os, const Choice &choice, const PlanInputs &inputs);

/// All of an answer of which no plan is written.
void printAnswer(llvm::raw_ostream &os, const Choice &choice, const PlanInputs &inputs);
/// The members of the JSON document that an answer has, with a plan or without.
void answerJson(llvm::json::OStream &j, const Choice &choice);
void printAnswerJson(llvm::raw_ostream &os, const Choice &choice, const PlanInputs &inputs);

/// A strategy over unlike devices; false, with an error, where there is none.
bool printMixed(llvm::raw_ostream &os, const MixedChoice &choice, const PlanInputs &inputs, bool json,
                Diagnostics &diags);

/// Why there is no strategy: the closest, what it lacks by term, what cannot hold together; `hosts` that
/// would do, 0 if not known.
void explainInfeasible(Diagnostics &diags, const Choice &choice, const PlanInputs &inputs,
                       llvm::ArrayRef<planner::Requirement> requirements, int64_t hosts);

/// "tensor 2 x data 4 · 1f1b · 8 micro-batches of 1".
std::string strategyText(const cost::Tactics &tactics, const cost::Workload &work);

} // namespace hocket
