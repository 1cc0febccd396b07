#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/element_type.hpp>

namespace natten_sim {

/// What the hardware executes for an atomic addition.
enum class InstructionPath {
  kRed,   ///< a reduction at the L2 that returns nothing
  kAtom,  ///< a native atomic addition that returns the old value
  kCas    ///< a loop around a 32-bit compare-and-swap
};

[[nodiscard]] std::string to_string(InstructionPath path);
/// `red`, `atom` or `cas`. @throws UnknownName.
[[nodiscard]] InstructionPath instruction_path(std::string_view name);

/// One row of data/lowering.json: what a source construct becomes on one architecture. A row without
/// `measured` rests on documentation or on a published statement; `evidence` says which.
struct Lowering {
  std::string construct;
  std::string architecture;  ///< sm80, sm90
  std::string toolkit;
  ElementType type = ElementType::kFp32;
  InstructionPath path = InstructionPath::kRed;
  std::int64_t vector_width = 1;  ///< elements that one lane adds at once
  std::string instruction;
  std::string evidence;
  bool measured = false;
};

/// Every row, operators (torch-scatter-add first), then source constructs.
[[nodiscard]] std::vector<Lowering> builtin_lowerings();

/// Names of all constructs, each once, in the table's order.
[[nodiscard]] std::vector<std::string> construct_names(const std::vector<Lowering>& table);

/// The row of a construct for an architecture and an element type.
/// @throws UnknownName for a name that no row has; InvalidParameter when the construct has no row for this
/// architecture and type, naming those it has.
[[nodiscard]] const Lowering& find_lowering(const std::vector<Lowering>& table, std::string_view construct,
                                            std::string_view architecture, ElementType type);

}  // namespace natten_sim
