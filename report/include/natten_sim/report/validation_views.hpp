#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/validate/record/recording.hpp>
#include <natten_sim/validate/record/sdpa_recording.hpp>

namespace natten_sim::report {

/// Views of recordings besides the comparison with predictions. Each is a table: as objects with the same
/// keys, as text and, for some, as a picture.

/// The recordings of a folder.
struct RecordedData {
  std::vector<validate::Recording> recordings;
  std::vector<std::string> suites;  ///< suites that views of any suite show
  std::vector<validate::SdpaRecording> sdpa;
  std::vector<Device> devices;  ///< profiles, for predictions

  [[nodiscard]] bool shows(const validate::Recording& recording) const {
    return std::find(suites.begin(), suites.end(), recording.head.suite) != suites.end();
  }
};

struct ValidationView {
  std::vector<Json> rows;
  std::string text;
  std::optional<draw::Picture> picture;  ///< none: this view is a table only
};

/// A view is one file: report/src/validate/views/heat_map.cpp defines `ViewKind views::heat_map_view()`.
/// Help, completion, the page and the tests of every view read the list. Code outside adds its own before
/// main:
///
///     const report::ViewKind& kMine = report::add_view_kind({.name = "mine", ..});
struct ViewKind {
  std::string name;             ///< as `--view` takes it
  int position = 0;             ///< place in lists, ascending; ties by name
  bool drawn = false;           ///< whether there is a picture
  const char* needs = nullptr;  ///< which recordings it shows
  Json (*row_schema)() = nullptr;  ///< JSON Schema of a row
  /// Empty when `data` lacks them. @throws InvalidParameter when they contradict each other.
  std::optional<ValidationView> (*make)(const RecordedData& data) = nullptr;
};

/// The `result` of a view.
[[nodiscard]] Json view_json(const std::string& name, const ValidationView& view);
[[nodiscard]] Json view_schema();
[[nodiscard]] Rows view_rows(const ViewKind& kind, const ValidationView& view);

/// In the order of their positions. The pointers stay valid; the list grows with add_view_kind.
[[nodiscard]] const std::vector<const ViewKind*>& view_kinds();
/// @throws UnknownName with the closest name.
[[nodiscard]] const ViewKind& view_kind(const std::string& name);
/// For the rest of the process; call it before main. @throws InvalidParameter on a name that is taken or is
/// no name.
const ViewKind& add_view_kind(ViewKind kind);

}  // namespace natten_sim::report
