#include "count_many.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>

#include <nanobind/ndarray.h>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>

#include "count_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::CountQuestion;

/// The keywords that may have a row a problem.
struct ManyColumn {
  const char* name;
  Column ManyProblems::*column;
};
constexpr ManyColumn kColumns[] = {{"input", &ManyProblems::input},    {"window", &ManyProblems::window},
                                   {"stride", &ManyProblems::stride},  {"dilation", &ManyProblems::dilation},
                                   {"causal", &ManyProblems::causal},  {"cyclic", &ManyProblems::cyclic},
                                   {"q_tile", &ManyProblems::q_tile},  {"kv_tile", &ManyProblems::kv_tile}};

using Matrix = nb::ndarray<nb::ro, const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// What a caller gave: a question of which some members have a row a problem, and the arrays of those.
struct AskedMany {
  CountQuestion question;
  SharedContext context = shipped_context();
  std::vector<Matrix> arrays;  ///< keeps the columns alive
  ManyProblems many;
  bool backward = false;
  bool skip = false;
  unsigned threads = 1;
};

/// A row of a column as a member of the question, so that defaults are found as for one problem.
void put_first_row(const ManyColumn& column, const Matrix& matrix, AskedMany& asked) {
  Extents first;
  for (std::size_t axis = 0; axis < matrix.shape(1) && axis < kMaxRank; ++axis)
    first.push_back(matrix(0, axis));
  const std::string name = column.name;
  CountQuestion& question = asked.question;
  if (name == "input") question.setting.input = first;
  if (name == "window") question.window = first;
  if (name == "stride") question.stride = first;
  if (name == "dilation") question.dilation = first;
  if (name == "q_tile") question.q_tile = first;
  if (name == "kv_tile") question.kv_tile = first;
  if (name != "causal" && name != "cyclic") return;
  PerAxis<bool>& axes = name == "causal" ? question.causal : question.cyclic;
  axes = {};
  for (const std::int64_t axis : first) axes.push_back(axis != 0);
}

/// False unless the value is a matrix (or what NumPy makes one of).
bool read_column(const ManyColumn& column, nb::handle value, AskedMany& asked) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (PyLong_Check(value.ptr()) || PyUnicode_Check(value.ptr())) return false;
  const nb::object array = numpy.attr("ascontiguousarray")(value);
  if (nb::cast<int>(array.attr("ndim")) != 2) return false;
  const char* kind = nb::borrow<nb::str>(array.attr("dtype").attr("kind")).c_str();
  if (std::string_view("iub").find(kind[0]) == std::string_view::npos) refuse(column.name, value, "integers");
  const auto matrix = nb::cast<Matrix>(array.attr("astype")("int64", nb::arg("copy") = false));
  if (matrix.shape(0) == 0) refuse(column.name, value, "one row or more");
  if (asked.many.rows != 0 && asked.many.rows != matrix.shape(0))
    throw InvalidParameter(column.name, std::to_string(matrix.shape(0)) + " rows",
                           std::to_string(asked.many.rows) + " rows, as the other arrays");
  asked.many.rows = matrix.shape(0);
  (asked.many.*column.column).values = matrix.data();
  put_first_row(column, matrix, asked);
  asked.arrays.push_back(matrix);
  return true;
}

void read_option(const Keywords<CountQuestion>& rows, nb::handle key, nb::handle value, AskedMany& asked) {
  const std::string name = nb::borrow<nb::str>(key).c_str();
  if (name == "catalog") {
    if (!value.is_none()) asked.context = context_of(value);
  } else if (name == "backprop") {
    asked.backward = !value.is_none() && boolean_of(name, value);
  } else if (name == "errors") {
    const std::string errors = value.is_none() ? "raise" : text_of(name, value, "raise or skip");
    if (errors != "raise" && errors != "skip") throw UnknownName(name, errors, "", "raise, skip");
    asked.skip = errors == "skip";
  } else if (name == "threads") {
    if (!value.is_none()) asked.threads = static_cast<unsigned>(integer_of(name, value, 1, 1024));
  } else {
    for (const ManyColumn& column : kColumns) {
      if (name == column.name && !value.is_none() && read_column(column, value, asked)) return;
    }
    rows.read(asked.question, key, value, "count_many");
  }
}

/// Rank, tiles and tiling of the first row; each row's own parameters are checked when it is counted.
void fill_in_base(AskedMany& asked) {
  const Catalog& catalog = asked.context->catalog;
  CountQuestion& question = asked.question;
  CountQuestion first = question;
  question.setting = study::resolved(question.setting, catalog);
  const Extents& input = question.setting.input;
  if (input.empty()) throw InvalidParameter("input", "none", "one size an axis, or a preset");
  const std::size_t rank = input.rank();
  for (std::size_t i = 0; i < asked.arrays.size(); ++i) {
    if (asked.arrays[i].shape(1) != rank)
      throw InvalidParameter(
          "input", to_string(input),
          "as many axes as the arrays have columns, " + std::to_string(asked.arrays[i].shape(1)));
  }
  TilingProblem& base = asked.many.base;
  base.tiling = question.tiling;
  base.walk = asked.backward ? Walk::kBackward : Walk::kForward;
  base.kv_tiling = asked.backward
                       ? KvTiling::kStatic
                       : study::effective_kv_tiling(question.kv_tiling, question.setting, catalog);
  asked.many.cyclic_kv_tiling = asked.backward ? KvTiling::kStatic : question.kv_tiling.value_or(KvTiling::kStatic);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto or_else = [&](const Extents& given, std::int64_t otherwise) {
      return axis < given.rank() ? given[axis] : otherwise;
    };
    base.mask.push_back({.length = input[axis],
                         .window = or_else(question.window, input[axis]),
                         .stride = or_else(question.stride, 1),
                         .dilation = or_else(question.dilation, 1),
                         .causal = axis < question.causal.rank() && question.causal[axis],
                         .cyclic = axis < question.cyclic.rank() && question.cyclic[axis]});
  }
  for (const auto& [name, given] :
       {std::pair{"window", question.window.rank()}, std::pair{"stride", question.stride.rank()},
        std::pair{"dilation", question.dilation.rank()}, std::pair{"causal", question.causal.rank()},
        std::pair{"cyclic", question.cyclic.rank()}}) {
    if (given != 0 && given != rank)
      throw InvalidParameter(name, std::to_string(given) + " axes", std::to_string(rank) + " axes");
  }
  if (has_cycle(base.mask) && (question.q_tile.empty() || question.kv_tile.empty())) {
    first.backward = asked.backward;
    const study::CountAnswer answer = study::count(first, *asked.context);
    base.tiles = asked.backward ? answer.backward->problem.tiles : answer.forward.problem.tiles;
  } else {
    base.tiles = study::choose_tiles(question.setting, catalog, question.q_tile, question.kv_tile,
                                     question.tiling == Tiling::kSingleDimensional ? 1 : rank, base.walk)
                     .tiles;
  }
  if (base.tiling == Tiling::kSingleDimensional && rank > 1 &&
      (asked.many.q_tile.values || asked.many.kv_tile.values))
    throw InvalidParameter("q_tile", "an array", "one tile pair, with single-dimensional tiling");
}

/// Results of all rows; the first error of any thread, by row.
void count_all(const AskedMany& asked, std::vector<TileCount>& counts, std::uint8_t* valid) {
  const std::size_t rows = asked.many.rows;
  const unsigned threads = static_cast<unsigned>(std::min<std::size_t>(asked.threads, rows));
  std::vector<std::exception_ptr> errors(threads);
  const auto work = [&](unsigned part) {
    try {
      count_rows(asked.many, rows * part / threads, rows * (part + 1) / threads, counts.data(), valid);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned part = 1; part < threads; ++part) others.emplace_back(work, part);
    work(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// A NumPy array of one number a row, which cannot be written.
template <typename T, typename Of>
nb::object array_of(const std::vector<TileCount>& counts, Of of) {
  auto values = std::make_unique<std::vector<T>>(counts.size());
  for (std::size_t row = 0; row < counts.size(); ++row) (*values)[row] = of(counts[row]);
  const T* data = values->data();
  const std::size_t size = values->size();
  nb::capsule owner(values.release(), [](void* kept) noexcept { delete static_cast<std::vector<T>*>(kept); });
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {size}, owner));
}

nb::object arrays_of(const std::vector<TileCount>& counts, bool backward) {
  nb::dict arrays;
  const auto integers = [&](const char* name, auto of) { arrays[name] = array_of<std::int64_t>(counts, of); };
  const auto numbers = [&](const char* name, auto of) {
    // Rows that were skipped have no ratio.
    arrays[name] = array_of<double>(counts, [&](const TileCount& count) {
      return count.visited_tiles == 0 ? std::numeric_limits<double>::quiet_NaN() : of(count);
    });
  };
  integers("q_tiles", [](const TileCount& count) { return count.q_tiles; });
  integers("kv_tiles", [](const TileCount& count) { return count.kv_tiles; });
  integers("dense_tiles",
           [](const TileCount& count) { return checked_narrow(count.dense_tiles, "dense_tiles"); });
  integers("visited_tiles", [](const TileCount& count) { return count.visited_tiles; });
  integers("full_tiles", [](const TileCount& count) { return count.full_tiles; });
  integers("partial_tiles", [](const TileCount& count) { return count.partial_tiles(); });
  integers(backward ? "max_tiles_per_kv_tile" : "max_tiles_per_q_tile",
           [](const TileCount& count) { return count.max_tiles_per_walked_tile; });
  integers("attended_pairs", [](const TileCount& count) { return count.attended_pairs; });
  integers("mma_pairs", [](const TileCount& count) { return count.mma_pairs; });
  numbers("sparsity", [](const TileCount& count) { return count.sparsity(); });
  numbers("speedup_flop", [](const TileCount& count) { return count.speedup_flop(); });
  numbers("speedup_mean", [](const TileCount& count) { return count.speedup_mean(); });
  numbers("speedup_worst", [](const TileCount& count) { return count.speedup_worst(); });
  numbers("speedup_work", [](const TileCount& count) { return count.speedup_work(); });
  return arrays;
}

nb::object count_many(const Keywords<CountQuestion>& rows, const nb::kwargs& given) {
  AskedMany asked;
  for (const auto& [key, value] : given) read_option(rows, key, value, asked);
  fill_in_base(asked);
  if (asked.many.rows == 0) asked.many.rows = 1;
  std::vector<TileCount> counts(asked.many.rows);
  std::vector<std::uint8_t> valid(asked.many.rows, 1);
  {
    nb::gil_scoped_release released;
    count_all(asked, counts, asked.skip ? valid.data() : nullptr);
  }
  nb::object arrays = arrays_of(counts, asked.backward);
  arrays["valid"] = nb::module_::import_("numpy").attr("array")(
      nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(valid.data(), {valid.size()}, nb::none()),
      nb::arg("dtype") = "bool");
  return nb::module_::import_("natten_sim._many").attr("Counts")(arrays);
}

constexpr const char* kCountManyDoc =
    "Count many attention problems at once: one a row of the arrays.\n\n"
    "Takes the keywords of count() that say which tiles are visited. input, window, stride, dilation, "
    "causal,\n"
    "q_tile and kv_tile may be arrays of integers (rows, axes), all with as many rows; what is not an array "
    "holds for\n"
    "all rows, and defaults are those of the first row. Some ten million rows a second for a grid of windows "
    "and\n"
    "strides, over a million for rows that have nothing in common.\n\n"
    "Args:\n";

constexpr const char* kCountManyRest =
    "    backprop: Count the backward pass instead: Q tiles walked per KV tile [False].\n"
    "    errors: raise, or skip: rows that are not valid are False in `valid`, with counts of 0 and ratios "
    "of nan "
    "[raise].\n"
    "    threads: Threads, 1..1024; the answer does not depend on them [1].\n"
    "    catalog: Devices, presets and backends by name [those that ship].\n\n"
    "Returns:\n"
    "    The members of a count() as NumPy arrays, one number a row: int64 and float64, read-only.\n\n"
    "Raises:\n"
    "    Error: A value is out of its range; `parameter` names it and its row.\n"
    "    TypeError: A keyword does not exist.\n\n"
    "Source:\n"
    "    As count(): docs/tile-counts.md.";

void bind_count_many(nb::module_& module) {
  auto* rows = new Keywords<CountQuestion>(many_keywords());
  std::string signature = "def count_many(*";
  for (const auto& row : rows->rows()) {
    const bool column = std::any_of(std::begin(kColumns), std::end(kColumns),
                                    [&](const ManyColumn& one) { return row.name == one.name; });
    signature +=
        ", " + row.name + ": " + row.hint + (column ? " | numpy.typing.ArrayLike" : "") + " | None = None";
  }
  signature +=
      ", backprop: bool | None = None, errors: typing.Literal['raise', 'skip'] | None = None, threads: int | "
      "None = None, catalog: Catalog | None = None) -> "
      "natten_sim._many.Counts";
  std::string doc = kCountManyDoc;
  for (const auto& row : rows->rows()) doc += "    " + row.name + ": " + row.doc + ".\n";
  doc += kCountManyRest;
  module.def(
      "count_many", [rows](const nb::kwargs& given) { return count_many(*rows, given); },
      nb::sig(signature.c_str()), doc.c_str());
}

}  // namespace

StudyBinder count_many_study();
StudyBinder count_many_study() { return bind_count_many; }

}  // namespace natten_sim::python
