#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/index_distribution.hpp>

namespace natten_sim {

/// What the hardware executes for an atomic addition.
enum class InstructionPath {
  kRed,   ///< a reduction at the L2 that returns nothing
  kAtom,  ///< a native atomic addition that returns the old value
  kCas    ///< a loop around a 32-bit compare-and-swap
};

template <>
struct NamesOf<InstructionPath> {
  static constexpr const char* kConcept = "path";
  static constexpr Name<InstructionPath> kTable[] = {
      {InstructionPath::kRed, "red"}, {InstructionPath::kAtom, "atom"}, {InstructionPath::kCas, "cas"}};
};

/// Which of a device's costs of issuing an update a construct pays.
enum class IssueCost {
  kOperator,  ///< the fitted cost of a framework's scatter_add
  kBare       ///< the cost of the instructions of a user's kernel
};

template <>
struct NamesOf<IssueCost> {
  static constexpr const char* kConcept = "issue";
  static constexpr Name<IssueCost> kTable[] = {{IssueCost::kOperator, "operator"},
                                               {IssueCost::kBare, "bare"}};
};

/// One row of data/lowering.json: what a source construct becomes on one architecture. A row without
/// `measured` rests on documentation or on a published statement; `evidence` says which.
struct Lowering {
  std::string construct;
  std::string architecture;  ///< sm80, sm90
  std::string toolkit;
  Dtype type = Dtype::kFp32;
  InstructionPath path = InstructionPath::kRed;
  std::int64_t vector_width = 1;  ///< elements that one lane adds at once
  IndexLayout index = IndexLayout::kRow;
  IssueCost issue = IssueCost::kBare;
  std::optional<double> issue_cycles;  ///< of an SM for a warp-wide update; none: the device's cost
  std::string instruction;
  std::string evidence;
  bool measured = false;
};

/// One row of data/operators.json: by which construct an operator of a framework adds, in one release.
struct OperatorRelease {
  std::string operator_name;             ///< torch.scatter_add
  std::string release;                   ///< of the framework: 2.11, main
  std::optional<std::string> construct;  ///< of the lowering table; none: it sorts, and adds without atomics
  std::string source;
  std::string condition;  ///< where the row holds; empty: always
};

/// Names of all constructs, each once, in the table's order.
[[nodiscard]] std::vector<std::string> construct_names(const std::vector<Lowering>& table);

/// The row of a construct for an architecture and an element type.
/// @throws UnknownName for a name that no row has; InvalidParameter when the construct has no row for this
/// architecture and type, naming those it has.
[[nodiscard]] const Lowering& find_lowering(const std::vector<Lowering>& table, std::string_view construct,
                                            std::string_view architecture, Dtype type);

}  // namespace natten_sim
