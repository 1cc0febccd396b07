#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim {
class StrictObject;
}

namespace natten_sim::validate {

/// The kernels that suites may name, and the suites.
///
/// A kernel of this project is one file, src/cases/<kernel>.cpp, that defines
///
///     CaseKind cases::<kernel>() { return {"<kernel>", {"tokens", ..}, read}; }
///
/// and its suites are files data/suites/<suite>.json: the build finds both. Code outside adds its own when it
/// is initialised, before any of them is asked for:
///
///     const RegisteredCase kernel({"mine", {"tokens", ..}, read});
///     const RegisteredSuite suite(R"({"schema": "natten-sim.suite/1", "name": "mine", ..})",
///     "mine_case.cpp");

struct CaseKind {
  std::string kernel;                   ///< the "kernel" of its points in JSON
  std::vector<std::string> parameters;  ///< keys of its points besides "kernel"
  /// Reads the parameters of one point; unknown keys have been refused already. It refuses sizes that no
  /// kernel can have. Case::require_built tells whether such a kernel is built. @throws Error.
  std::function<Point(const StrictObject&)> read;
};

/// By name.
[[nodiscard]] const std::vector<CaseKind>& case_kinds();

struct RegisteredCase {
  /// @throws std::logic_error when the name is taken.
  explicit RegisteredCase(CaseKind kind);
};

/// The text of a suite, and the name of its file for errors.
struct SuiteText {
  std::string_view json;
  std::string where;
};
/// In no particular order.
[[nodiscard]] const std::vector<SuiteText>& suite_texts();

struct RegisteredSuite {
  /// `json` must live as long as the program.
  RegisteredSuite(std::string_view json, std::string where);
};

inline constexpr const char* kDefaultKernel = "attention";
/// The profile of the GPU that ran a kernel of others, unless another one is named.
inline constexpr const char* kProfiledDevice = "h200";

/// A point from words of the form `name=value`, with the names of the suites' files. The kernel is
/// kDefaultKernel unless a word names another. Meant for kernels of others, so the tiles need not be ones
/// that are built.
/// @throws InvalidParameter, MalformedData naming the word.
[[nodiscard]] Point parse_point_words(const std::vector<std::string>& words);

}  // namespace natten_sim::validate
