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
  std::string source;  ///< the publication, to cite
  int position = 0;   ///< place in lists, ascending; the first one is the default
  /// The figures in the order in which they are shown. May take seconds; reports to the context's progress.
  /// @throws MalformedData when the figures in data/ do not follow their format.
  std::vector<PublishedRow> (*reproduce)(const study::Context& context) = nullptr;
  /// Their names in that order, so that one is found without computing the others.
  std::vector<std::string> figures = {};
  /// Why that takes over a second on two cores: what is simulated, and how much of it. Empty: it does not.
  std::string effort = {};
};

/// In the order of their positions.
[[nodiscard]] const std::vector<PublishedWork>& published_works();

/// The work's rows with its name, their source and what this project measured for them
/// (data/measured-beside.json). What was measured for no row comes after the rows of its figure.
[[nodiscard]] std::vector<PublishedRow> reproduce_work(const PublishedWork& work,
                                                       const study::Context& context);

/// The figures of `rows`, in their order.
[[nodiscard]] std::vector<std::string> figures_of(const std::vector<PublishedRow>& rows);

/// The one of `figures` that `name` means: "table 4.2", or "4.2" if that ends one name only, in any case.
/// @throws UnknownName with the closest name.
[[nodiscard]] std::string figure_named(const std::string& name, const std::vector<std::string>& figures);
/// The rows of the figure that `name` means. @throws as figure_named
[[nodiscard]] std::vector<PublishedRow> rows_of_figure(const std::vector<PublishedRow>& rows,
                                                       const std::string& name);

/// The work of this name, in any case.
/// @throws UnknownName with the closest name, or that of the work in whose title or source the name stands.
[[nodiscard]] const PublishedWork& published_work(std::string_view name);

}  // namespace natten_sim::validate
