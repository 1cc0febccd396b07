#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/study/search.hpp>
#include <natten_sim/study/time.hpp>

#include "described.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::report {

template <typename Members>
void describe(Members& m, Of<TileChoice>) {
  const auto shape = [](TilePair TileChoice::*pass, Extents TilePair::*tile) {
    return [=](const TileChoice& choice) { return (choice.*pass.*tile).empty() ? nullptr : &(choice.*pass.*tile); };
  };
  m.optional("q_tile", shape(&TileChoice::tiles, &TilePair::q_tile));
  m.optional("kv_tile", shape(&TileChoice::tiles, &TilePair::kv_tile));
  m.optional("backward_q_tile", shape(&TileChoice::backward_tiles, &TilePair::q_tile), "Q tile of the backward pass");
  m.optional("backward_kv_tile", shape(&TileChoice::backward_tiles, &TilePair::kv_tile), "KV tile of the backward pass");
  m.put("backend", unless_empty(&TileChoice::backend), "NATTEN's backend; null: none has the tiles");
  m.optional("kernel", unless_empty(&TileChoice::kernel), "The kernel that has them");
}

}  // namespace natten_sim::report

namespace natten_sim::python {

/// Tile pairs with their backends, as JSON has them.
template <>
struct PythonValue<TileChoice> {
  static std::string hint() { return "collections.abc.Mapping[str, typing.Any]"; }
  static TileChoice read(const std::string& name, nb::handle value, const Accepts&) {
    const char* accepted = "a dict of q_tile, kv_tile, backward_q_tile, backward_kv_tile, backend and kernel";
    const nb::dict members = nb::isinstance<nb::dict>(value) ? nb::borrow<nb::dict>(value) : nb::dict();
    TileChoice choice;
    for (const auto& [key, member] : members) {
      const std::string part = nb::borrow<nb::str>(key).c_str();
      const auto shape = [&, &member = member] { return PythonValue<Extents>::read(name, member, {}); };
      if (part == "q_tile") {
        choice.tiles.q_tile = shape();
      } else if (part == "kv_tile") {
        choice.tiles.kv_tile = shape();
      } else if (part == "backward_q_tile") {
        choice.backward_tiles.q_tile = shape();
      } else if (part == "backward_kv_tile") {
        choice.backward_tiles.kv_tile = shape();
      } else if (part == "backend" && !member.is_none()) {
        choice.backend = text_of(name, member, "the name of a backend");
      } else if (part == "kernel" && !member.is_none()) {
        choice.kernel = text_of(name, member, "the name of a kernel");
      } else if (part != "backend" && part != "kernel") {
        refuse(name, value, accepted);
      }
    }
    const auto half = [](const TilePair& tiles) { return tiles.q_tile.empty() != tiles.kv_tile.empty(); };
    const bool none = choice.tiles.q_tile.empty() && choice.backward_tiles.q_tile.empty();
    if (none || half(choice.tiles) || half(choice.backward_tiles)) refuse(name, value, accepted);
    return choice;
  }
  static bool write(const TileChoice& choice, Json& out) {
    out = report::json_of(choice);
    return true;
  }
};

using study::DeviceNames;

/// A text if it is one device.
template <>
struct PythonValue<DeviceNames> {
  using Echoed = AnyOf<std::string, std::vector<std::string>>;
  static std::string hint() { return PythonValue<std::vector<std::string>>::hint(); }
  static DeviceNames read(const std::string& name, nb::handle value, const Accepts& accepts) {
    return {PythonValue<std::vector<std::string>>::read(name, value, accepts)};
  }
  static bool write(const DeviceNames& devices, Json& out) {
    if (devices.names.empty()) return false;
    out = devices.names.size() == 1 ? Json(devices.names.front()) : Json(devices.names);
    return true;
  }
};

namespace {

using study::SearchKind;
using study::SearchQuestion;

using study::DevicesSearch;

/// One answer a device.
struct SearchAnswers {
  DevicesSearch asked;
  std::vector<study::SearchAnswer> answers;
};

SearchAnswers search_devices(const DevicesSearch& asked, const study::Context& context) {
  return {asked, study::search_on(asked.question, asked.devices.names, context)};
}

Json search_input(const Keywords<DevicesSearch>& rows, const SearchAnswers& found) {
  return rows.echo(study::filled_in(found.asked, found.answers));
}

std::string search_text(const SearchAnswers& found, const study::Context& context) {
  std::string text = report::search_text(found.answers, context);
  for (const study::SearchAnswer& answer : found.answers) {
    if (answer.candidates.empty()) text += report::nothing_found(answer) + "\n";
  }
  return text;
}

void bind_search(nb::module_& module) {
  bind(
      module,
      Study<DevicesSearch, SearchAnswers>{
          .function = "search",
          .type = "Search",
          .schema = "search",
          .doc = "Find the best windows, strides and tile shapes, exactly.\n\n"
                 "`candidates` of the result are the best ones, best first; of several devices, "
                 "each in `devices`.",
          .returns = "`candidates`, each with its configuration, the members of count() and "
                     "milliseconds (`time_ms`), best first;\n    `space_size` combinations, of which "
                     "`evaluated` were looked at.",
          .source = "docs/search-proof.md derives the bounds that make it exact.",
          .duration = Duration::kLong,
          .threads = true,
          .keywords = keywords_of<DevicesSearch>(),
          .may_be_null = {"kv_tiling", "sparsity", "max_imbalance", "min_speedup"},
          .answer = search_devices,
          .input = search_input,
          .result = [](const SearchAnswers& found,
                       const study::Context& context) { return report::search_result(found.answers, context); },
          .result_schema = report::search_schema,
          .text = search_text,
          .csv = [](const SearchAnswers& found, const study::Context&,
                    const Json&) { return report::csv_text(report::search_rows(found.answers)); },
          .pictures = [](const SearchAnswers& found) {
            return pictures_of(report::search_pictures(), found,
                               [](const SearchAnswers& part) -> const auto& { return part.answers; });
          },
          .closing = [](const SearchAnswers& found, const study::Context&) -> std::optional<report::Closing> {
            return report::closing_of(found.answers);
          }});
}

}  // namespace

StudyBinder search_study();
StudyBinder search_study() { return bind_search; }

}  // namespace natten_sim::python
