#include <natten_sim/report/default_text.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/study/search.hpp>
#include <natten_sim/study/time.hpp>

#include "answer_pictures.hpp"
#include "setting_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

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
    const auto put = [&](const char* name, const Extents& shape) {
      if (!shape.empty()) out[name] = report::to_json(shape);
    };
    put("q_tile", choice.tiles.q_tile);
    put("kv_tile", choice.tiles.kv_tile);
    put("backward_q_tile", choice.backward_tiles.q_tile);
    put("backward_kv_tile", choice.backward_tiles.kv_tile);
    out["backend"] = choice.backend.empty() ? Json() : Json(choice.backend);
    if (!choice.kernel.empty()) out["kernel"] = choice.kernel;
    return true;
  }
};

namespace {

struct DeviceNames {
  std::vector<std::string> names;
};

}  // namespace

/// A text if it is one device.
template <>
struct PythonValue<DeviceNames> {
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

/// What is asked, and of which devices; none: of the backend.
struct AskedSearch {
  SearchQuestion question;
  DeviceNames devices;
};

/// One answer a device.
struct SearchAnswers {
  AskedSearch asked;
  std::vector<study::SearchAnswer> answers;
};

SearchAnswers search_devices(const AskedSearch& asked, const study::Context& context) {
  return {asked, study::search_on(asked.question, asked.devices.names, context)};
}

void add_shapes(Keywords<SearchQuestion>& rows) {
  using Q = SearchQuestion;
  rows.add("window", &Q::window, "Fixed window, one size an axis [window_range]", Echo::kNever);
  rows.add("window_range", &Q::window_range,
           "Windows to try, (lo, hi) for all axes or one pair an axis [1..length/dilation]");
  rows.add("stride", &Q::stride, "Fixed stride, one an axis [stride_range]", Echo::kNever);
  rows.add("stride_max", &Q::stride_max, "Largest stride, for all axes or one an axis [the window]",
           Echo::kNever);
  rows.add("stride_range", &Q::stride_range, "Strides to try, as window_range [1..window]");
  rows.add("dilation", &Q::dilation, "Dilation, one an axis " + report::axis_default(&AxisMask::dilation));
  rows.add("causal", &Q::causal, "One an axis [False]");
  rows.add("cyclic", &Q::cyclic, "One an axis: whether its last token is next to its first [False]",
           Echo::kWhenSet);
  rows.add("kv_tiling", &Q::kv_tiling,
           "static or dynamic " + report::default_text("the chosen backend's", study::kDefaultKvTiling));
  rows.add("q_tile", &Q::q_tile, "Q tile in tokens [all of the backend's]", Echo::kNever);
  rows.add("kv_tile", &Q::kv_tile, "KV tile in tokens [all of the backend's]", Echo::kNever);
  rows.add(
      "phase", &Q::phase,
      "Passes to search; both: one window and stride for the two, work weighted 2 to 5 for equal head dims "
      "[default]");
  rows.add("backward_q_tile", &Q::backward_q_tile, "Q tile of the backward pass [all of the backend's]",
           Echo::kNever);
  rows.add("backward_kv_tile", &Q::backward_kv_tile, "KV tile of the backward pass [all of the backend's]",
           Echo::kNever);
  rows.add("tiles", &Q::tiles,
           "Tile pairs to try, as `input` of an answer lists them [those that the shapes leave]");
}

void add_constraints(Keywords<SearchQuestion>& rows) {
  const auto constraint = [](auto member) { return within(&SearchQuestion::constraints, member); };
  using C = SearchConstraints;
  rows.add("sparsity", constraint(&C::sparsity), "(lo, hi), fractions 0..1, both included, or hi alone [any]");
  rows.add("window_multiple_of_kv_tile", constraint(&C::window_multiple_of_kv_tile),
           "Windows that are multiples of the KV tile on every axis [default]");
  rows.add(
      "max_imbalance", constraint(&C::max_imbalance),
      "Largest over smallest length/window among the axes, 1 or more [2.5 with a preset and free windows, "
      "else any]",
      Echo::kAlways, {.least = 1, .most = 1e12});
  rows.add("fully_block_sparse", constraint(&C::fully_block_sparse),
           "Only configurations without partially masked tiles [default]");
  rows.add("natten_fast_path", constraint(&C::natten_fast_path),
           "Only configurations that NATTEN runs without masking [default]");
  rows.add("min_speedup", constraint(&C::min_speedup),
           "Smallest speedup, of the kind that objective names [any]", Echo::kAlways,
           {.least = 1e-6, .most = 1e12});
  rows.add("no_padding", constraint(&C::no_padding), "Only tiles that divide every axis [default]");
  rows.add("dense_axes", &SearchQuestion::dense_axes, "Axes, from 0, whose window is the whole axis [none]",
           Echo::kAlways, {.lo = 0});
  rows.add("any", &SearchQuestion::any, "Keep configurations that NATTEN refuses [default]");
}

Keywords<SearchQuestion> space_keywords() {
  using Q = SearchQuestion;
  Keywords<Q> rows;
  rows.include(input_keywords(), &Q::setting);
  add_shapes(rows);
  rows.include(backend_keywords(Echo::kNever), &Q::setting);
  add_constraints(rows);
  rows.add(
      "objective", &Q::objective,
      "What to rank by: predicted time, or a speedup; worst is the published one, and e2e ranks by it [time "
      "where the device has one; else work, or worst for one tile pair]");
  rows.add("kernel", &Q::kernels, "Kernels whose tiles and times are compared on the device [the backend's]",
           Echo::kNever);
  rows.add(
      "kernel_schedule", &Q::kernel_schedule,
      "Launch of hopper-fna: cooperative or pingpong " + report::default_text(study::TimeQuestion{}.schedule),
      Echo::kWhenSet);
  rows.add("rest_ms", &Q::rest_ms,
           "Milliseconds of rest, or of lighter work, between one launch and the next; without it, longer "
           "than the "
           "GPU's power limit remembers",
           Echo::kWhenSet, {.least = 0, .most = 1e9});
  rows.choose(
      "ladder", &Q::kind, SearchKind::kLadder,
      "Stride ladder of a fixed window: the front over stride product and worst-case speedup [default]",
      Echo::kNever);
  rows.choose("pareto", &Q::kind, SearchKind::kPareto,
              "Whole Pareto front over lower sparsity, smaller stride product, higher speedup [default]",
              Echo::kNever);
  rows.add("answer", &Q::kind, "The same as one of three names [best]");
  rows.add("distinct", &Q::distinct,
           "Rows differ in their window, their window and stride, or the tiles that are visited; none: every "
           "configuration is a row [window; tiles for a fixed window]",
           Echo::kWhenSet);
  rows.add("top", &Q::top, "How many candidates " + report::default_text(study::kDefaultTop), Echo::kWhenSet,
           {.lo = 1, .hi = 100'000});
  return rows.include(workload_keywords(), &Q::setting);
}

Keywords<AskedSearch> search_keywords() {
  Keywords<AskedSearch> rows;
  rows.include(preset_keywords(), within(&AskedSearch::question, &SearchQuestion::setting));
  rows.add("device", &AskedSearch::devices,
           "Take the backend that suits a GPU, see devices(); several stand side by side [none]",
           Echo::kWhenSet);
  return rows.include(space_keywords(), &AskedSearch::question);
}

/// What was asked with every default filled in, as far as it is one for all devices.
Json search_input(const Keywords<AskedSearch>& rows, const SearchAnswers& found) {
  AskedSearch full = found.asked;
  full.question = found.answers.front().question;
  if (found.answers.size() > 1) {
    full.question.tiles = found.asked.question.tiles;
    full.question.kv_tiling = found.asked.question.kv_tiling;
  }
  return rows.echo(full);
}

std::string search_text(const SearchAnswers& found, const study::Context&) {
  std::string text = report::search_text(found.answers);
  for (const study::SearchAnswer& answer : found.answers) {
    if (answer.candidates.empty()) text += report::nothing_found(answer) + "\n";
  }
  return text;
}

void bind_search(nb::module_& module) {
  bind(
      module,
      Study<AskedSearch, SearchAnswers>{
          .function = "search",
          .type = "Search",
          .schema = "search",
          .doc = "Find the best windows, strides and tile shapes, exactly.\n\n"
                 "`candidates` of the result are the best ones, best first; of several devices, "
                 "each in `devices`.",
          .returns = "`candidates`, each with its configuration, the members of count() and "
                     "milliseconds (`time_ms`), best first;\n    `space_size` combinations, of which "
                     "`evaluated` were looked at.",
          .source = "docs/search.md derives the bounds that make it exact.",
          .duration = Duration::kLong,
          .threads = true,
          .keywords = search_keywords(),
          .answer = search_devices,
          .input = search_input,
          .result = [](const SearchAnswers& found,
                       const study::Context&) { return report::search_result(found.answers); },
          .text = search_text,
          .csv = [](const SearchAnswers& found, const study::Context&,
                    const Json&) { return report::search_csv(found.answers); },
          .pictures =
              [](const SearchAnswers&) {
                return std::vector<Picture<SearchAnswers>>{
                    {"candidates", [](const SearchAnswers& found, const study::Context&) {
                       return candidates_svg(report::search_result(found.answers));
                     }}};
              },
          .closing = [](const SearchAnswers& found, const study::Context&) -> std::optional<report::Closing> {
            return report::closing_of(found.answers);
          }});
}

}  // namespace

StudyBinder search_study();
StudyBinder search_study() { return bind_search; }

}  // namespace natten_sim::python
