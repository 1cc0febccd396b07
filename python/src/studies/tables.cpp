#include <memory>

#include <nanobind/ndarray.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/schedule.hpp>

#include "count_keywords.hpp"
#include "schedule_values.hpp"
#include "studies.hpp"
#include "study.hpp"
#include "tile_tables.hpp"

namespace natten_sim::python {
namespace {

using study::CountQuestion;

template <typename T>
nb::object numpy_array(std::vector<T>&& given) {
  auto values = std::make_unique<std::vector<T>>(std::move(given));
  const T* data = values->data();
  const std::size_t size = values->size();
  nb::capsule owner(values.release(), [](void* kept) noexcept { delete static_cast<std::vector<T>*>(kept); });
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {size}, owner));
}

nb::dict side_of(TileSide&& side) {
  nb::dict arrays;
  arrays["offsets"] = numpy_array(std::move(side.offsets));
  arrays["columns"] = numpy_array(std::move(side.columns));
  arrays["full"] = numpy_array(std::move(side.full));
  return arrays;
}

nb::dict dict_of(TileTables&& tables) {
  nb::dict arrays;
  arrays["q_tiles"] = tables.q_tiles;
  arrays["kv_tiles"] = tables.kv_tiles;
  arrays["of_q"] = side_of(std::move(tables.of_q));
  arrays["of_kv"] = side_of(std::move(tables.of_kv));
  return arrays;
}

/// The forward problem that count() answers for the same keywords.
TilingProblem problem_of(const Keywords<CountQuestion>& rows, const nb::kwargs& given, const char* function) {
  CountQuestion question;
  SharedContext context = shipped_context();
  for (const auto& [key, value] : given) {
    if (PyUnicode_CompareWithASCIIString(key.ptr(), "catalog") == 0) {
      if (!value.is_none()) context = context_of(value);
    } else {
      rows.read(question, key, value, function);
    }
  }
  return study::count(question, *context).forward.problem;
}

nb::object tile_tables(const Keywords<CountQuestion>& rows, const nb::kwargs& given) {
  const TilingProblem problem = problem_of(rows, given, "tile_tables");
  TileTables tables;
  std::vector<std::int64_t> q_tokens, kv_tokens;
  std::vector<AxisPlaces> axes;
  {
    nb::gil_scoped_release released;
    tables = neighborhood_tables(problem);
    q_tokens = tokens_in_tiles(problem, problem.tiles.q_tile);
    kv_tokens = tokens_in_tiles(problem, problem.tiles.kv_tile);
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis)
      axes.push_back(axis_places(problem, axis, q_tokens, kv_tokens));
  }
  nb::dict arrays = dict_of(std::move(tables));
  arrays["q_tile"] = product(problem.tiles.q_tile, "q_tile");
  arrays["kv_tile"] = product(problem.tiles.kv_tile, "kv_tile");
  arrays["q_tokens"] = numpy_array(std::move(q_tokens));
  arrays["kv_tokens"] = numpy_array(std::move(kv_tokens));
  nb::list places, turns;
  for (AxisPlaces& axis : axes) {
    places.append(nb::make_tuple(numpy_array(std::move(axis.begin)), numpy_array(std::move(axis.end)),
                                 numpy_array(std::move(axis.key))));
    turns.append(axis.turn);
  }
  arrays["axes"] = places;
  arrays["turns"] = turns;
  return arrays;
}

/// Tables of a mask of schedule(): a rule over sequences, or a matrix of tiles.
nb::object sequence_tables(nb::handle mask, std::int64_t q_tokens, std::int64_t kv_tokens,
                           std::int64_t q_tile, std::int64_t kv_tile) {
  study::ScheduleQuestion question;
  question.mask = PythonValue<ScheduleMask>::read("mask", mask, {});
  if (!brings_sizes(question.mask)) question.sizes = study::TokenSizes{q_tokens, kv_tokens, q_tile, kv_tile};
  question.algorithms = {"ascending"};
  question.detail = {.plan = false};
  return dict_of(mask_tables(study::schedule(question, *shipped_context()).problem.mask));
}

void bind_tables(nb::module_& module) {
  auto* rows = new Keywords<CountQuestion>(tile_keywords());
  module.def(
      "tile_tables", [rows](const nb::kwargs& given) { return tile_tables(*rows, given); },
      nb::sig("def tile_tables(**keywords: typing.Any) -> natten_sim._tables.NeighborhoodTables"),
      "The visited tiles of a problem of count() as arrays, by Q tile and by KV tile, and where tokens lie "
      "in\ntiles. natten_sim.flex.plan() makes them into a BlockMask.\n\n"
      "Args:\n"
      "    keywords: Those of count_many() but arrays of rows; tilings are static.\n\n"
      "Returns:\n"
      "    Arrays; natten_sim._tables gives their shapes. Memory is of the visited tiles, not of all.\n\n"
      "Raises:\n"
      "    Error: A value is out of its range, KV tiles are not shared by Q tiles, or there are 2^31 tiles.\n\n"
      "Source:\n"
      "    As count(): docs/tile-counts.md.");
  module.def(
      "sequence_tables", &sequence_tables, nb::arg("mask"), nb::arg("q_tokens"), nb::arg("kv_tokens"),
      nb::arg("q_tile"), nb::arg("kv_tile"),
      nb::sig(
          "def sequence_tables(mask: typing.Any, q_tokens: int, kv_tokens: int, q_tile: int, kv_tile: int) "
          "-> natten_sim._tables.TileTables"),
      "The same for a mask of schedule().\n\n"
      "Args:\n"
      "    mask: full, causal, window:L,R, document:LEN,LEN,.. or a matrix (Q tiles, KV tiles) with 0 skipped, 1 "
      "partial, 2 full.\n"
      "    q_tokens: Queries, in tokens.\n"
      "    kv_tokens: Keys, in tokens.\n"
      "    q_tile: Tokens of a Q tile.\n"
      "    kv_tile: Tokens of a KV tile.\n\n"
      "Returns:\n"
      "    Arrays; natten_sim._tables gives their shapes.\n\n"
      "Raises:\n"
      "    Error: A value is out of its range.\n\n"
      "Source:\n"
      "    docs/schedules.md.");
}

}  // namespace

StudyBinder tables_study();
StudyBinder tables_study() { return bind_tables; }

}  // namespace natten_sim::python
