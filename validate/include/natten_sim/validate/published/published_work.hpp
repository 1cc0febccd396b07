#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/study/context.hpp>
#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::validate {

/// A publication whose figures are recomputed: one file in validate/src/published/works/, which defines
/// `PublishedWork NAME()` for the file NAME.cpp, and needs no other edit.
struct PublishedWork {
  std::string name;   ///< as `reproduce NAME` takes it
  std::string title;  ///< for help
  int position = 0;   ///< place in lists, ascending; the first one is the default
  /// The figures in the order in which they are shown. May take seconds; reports to the context's progress.
  /// @throws MalformedData when the figures in data/ do not follow their format.
  std::vector<PublishedRow> (*reproduce)(const study::Context& context) = nullptr;
};

/// In the order of their positions.
[[nodiscard]] const std::vector<PublishedWork>& published_works();

/// @throws UnknownName with the closest name.
[[nodiscard]] const PublishedWork& published_work(std::string_view name);

}  // namespace natten_sim::validate
