#include "count_many.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>

#include "count_keywords.hpp"
#include "many.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::CountQuestion;
using study::TimeNumbers;
using Questions = ManyQuestions<AskedTime>;

struct ShapeColumn {
  const char* name;
  const RowValues* ShapeColumns::*column;
  const Extents CountQuestion::*sizes;  ///< null: flags, or the setting's
};
constexpr ShapeColumn kShapeColumns[] = {
    {"input", &ShapeColumns::input, nullptr},           {"window", &ShapeColumns::window, &CountQuestion::window},
    {"stride", &ShapeColumns::stride, &CountQuestion::stride}, {"dilation", &ShapeColumns::dilation, &CountQuestion::dilation},
    {"causal", &ShapeColumns::causal, nullptr},         {"cyclic", &ShapeColumns::cyclic, nullptr},
    {"q_tile", &ShapeColumns::q_tile, &CountQuestion::q_tile}, {"kv_tile", &ShapeColumns::kv_tile, &CountQuestion::kv_tile}};

bool is_shape(const std::string& name) {
  return std::any_of(std::begin(kShapeColumns), std::end(kShapeColumns),
                     [&](const ShapeColumn& column) { return name == column.name; });
}

/// A function of many masks with tiles.
struct TilesFunction {
  const char* name;
  bool counts;  ///< else times alone
  Keywords<AskedTime> keywords;
};

void require_rank(const Questions& many, const CountQuestion& question, std::size_t rank) {
  const Extents& input = question.setting.input;
  for (const auto& column : many.columns) {
    if (is_shape(column.keyword->name) && column.values->width() != rank)
      throw InvalidParameter("input", to_string(input),
                             "as many axes as the arrays have columns, " + std::to_string(column.values->width()));
  }
  for (const auto& [name, given] :
       {std::pair{"window", question.window.rank()}, std::pair{"stride", question.stride.rank()},
        std::pair{"dilation", question.dilation.rank()}, std::pair{"causal", question.causal.rank()},
        std::pair{"cyclic", question.cyclic.rank()}}) {
    if (given != 0 && given != rank)
      throw InvalidParameter(name, std::to_string(given) + " axes", std::to_string(rank) + " axes");
  }
}

/// With the windows of time(): the whole of each axis, or of each dilation group.
NeighborhoodMask mask_of(const CountQuestion& question) {
  NeighborhoodMask mask;
  const Extents& input = question.setting.input;
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    const auto or_else = [&](const Extents& given, std::int64_t otherwise) {
      return axis < given.rank() ? given[axis] : otherwise;
    };
    const std::int64_t dilation = or_else(question.dilation, 1);
    mask.push_back({.length = input[axis],
                    .window = or_else(question.window, input[axis] / std::max<std::int64_t>(1, dilation)),
                    .stride = or_else(question.stride, 1),
                    .dilation = dilation,
                    .causal = axis < question.causal.rank() && question.causal[axis],
                    .cyclic = axis < question.cyclic.rank() && question.cyclic[axis]});
  }
  return mask;
}

/// Tiles that are left out are those of the first row; of time_many() those of each row.
void take_tiles(const CountQuestion& asked, const CountQuestion& full, bool of_each_row, const study::Context& context,
                TilesFrame& frame) {
  if (study::names_dense_kernel(asked, context)) {
    if (!of_each_row)
      throw InvalidParameter("kernel", asked.kernel->name, "kernels of neighborhood attention; count() and time_many() answer of dense ones");
    return;
  }
  const bool open = asked.q_tile.empty() || asked.kv_tile.empty();
  const bool of_natten = !asked.kernel || study::natten_runs(*asked.kernel);
  if (of_each_row && open && !of_natten) {
    frame.base.tiles = {asked.q_tile, asked.kv_tile};
  } else if (open && (has_cycle(frame.base.mask) || !of_natten)) {
    CountQuestion first = asked;
    const bool backward = frame.pass == Walk::kBackward;
    first.backward = backward;
    const study::CountAnswer answer = study::count(first, context);
    frame.base.tiles = backward ? answer.backward->problem.tiles : answer.forward.problem.tiles;
  } else {
    const std::size_t rank = frame.base.tiling == Tiling::kSingleDimensional ? 1 : frame.base.mask.rank();
    frame.base.tiles =
        study::choose_tiles(full.setting, context.catalog, asked.q_tile, asked.kv_tile, rank, frame.base.walk).tiles;
  }
}

/// Rank, tiling and what is no array of the group's first row; each row's own parameters are checked when it is counted.
std::unique_ptr<TilesFrame> frame_of(const Questions& many, const AskedTime& asked, bool counts, const study::Context& given) {
  auto frame = std::make_unique<TilesFrame>();
  const CountQuestion& question = asked.count;
  frame->context = std::make_unique<study::WithKernels>(given, question.kernel);
  const study::Context& context = frame->context->get();
  const Catalog& catalog = context.catalog;
  const bool backward = asked.pass == Walk::kBackward;
  CountQuestion full = question;
  full.backward = backward;
  full.setting = study::counted_setting(full, context);
  if (full.setting.input.empty()) throw InvalidParameter("input", "none", "one size an axis, or a preset");
  require_rank(many, full, full.setting.input.rank());
  frame->pass = asked.pass;
  TilingProblem& base = frame->base;
  base.tiling = question.tiling;
  base.walk = asked.pass;
  base.kv_tiling = backward ? KvTiling::kStatic : study::effective_kv_tiling(question.kv_tiling, full.setting, catalog);
  frame->cyclic_kv_tiling = backward ? KvTiling::kStatic : question.kv_tiling.value_or(KvTiling::kStatic);
  base.mask = mask_of(full);
  take_tiles(question, full, !counts, context, *frame);
  if (base.tiling == Tiling::kSingleDimensional && base.mask.rank() > 1 &&
      (many.find("q_tile") != nullptr || many.find("kv_tile") != nullptr))
    throw InvalidParameter("q_tile", "an array", "one tile pair, with single-dimensional tiling");
  if (!counts && !full.setting.device) throw InvalidParameter("device", "not given", "a device by name");
  if (full.setting.device) frame->timed = question;
  return frame;
}

double ratio(const TileCount& count, double (TileCount::*of)() const) {
  // Rows that were skipped have no ratio.
  return count.visited_tiles == 0 ? std::numeric_limits<double>::quiet_NaN() : (count.*of)();
}

void add_counts(bool backward, const ManyOptions& options, MemberArrays& arrays, TilesJob& job) {
  const auto integers = [&](const char* name, std::int64_t (*of)(const TileCount&)) {
    if (options.wants(name)) job.counts.push_back({arrays.integers(name), of});
  };
  const auto numbers = [&](const char* name, double (*of)(const TileCount&)) {
    if (options.wants(name)) job.ratios.push_back({arrays.reals(name), of});
  };
  integers("q_tiles", [](const TileCount& count) { return count.q_tiles; });
  integers("kv_tiles", [](const TileCount& count) { return count.kv_tiles; });
  integers("dense_tiles", [](const TileCount& count) { return checked_narrow(count.dense_tiles, "dense_tiles"); });
  integers("visited_tiles", [](const TileCount& count) { return count.visited_tiles; });
  integers("full_tiles", [](const TileCount& count) { return count.full_tiles; });
  integers("partial_tiles", [](const TileCount& count) { return count.partial_tiles(); });
  integers(backward ? "max_tiles_per_kv_tile" : "max_tiles_per_q_tile",
           [](const TileCount& count) { return count.max_tiles_per_walked_tile; });
  integers("attended_pairs", [](const TileCount& count) { return count.attended_pairs; });
  integers("mma_pairs", [](const TileCount& count) { return count.mma_pairs; });
  numbers("sparsity", [](const TileCount& count) { return ratio(count, &TileCount::sparsity); });
  numbers("speedup_flop", [](const TileCount& count) { return ratio(count, &TileCount::speedup_flop); });
  numbers("speedup_mean", [](const TileCount& count) { return ratio(count, &TileCount::speedup_mean); });
  numbers("speedup_worst", [](const TileCount& count) { return ratio(count, &TileCount::speedup_worst); });
  numbers("speedup_work", [](const TileCount& count) { return ratio(count, &TileCount::speedup_work); });
}

/// As time() has them, but that nested members are outer_inner.
void add_times(const ManyOptions& options, MemberArrays& arrays, TilesJob& job) {
  const auto numbers = [&](const char* name, double (*of)(const TimeNumbers&)) {
    if (options.wants(name)) job.times.push_back({arrays.reals(name), of});
  };
  numbers("time_ms_kernel", [](const TimeNumbers& time) { return time.kernel_ms; });
  numbers("time_ms_permutation", [](const TimeNumbers& time) { return time.permutation_ms; });
  numbers("time_ms_total", [](const TimeNumbers& time) { return time.total_ms; });
  numbers("time_ms_low", [](const TimeNumbers& time) { return time.low_ms; });
  numbers("time_ms_high", [](const TimeNumbers& time) { return time.high_ms; });
  numbers("time_ms_back_to_back", [](const TimeNumbers& time) { return time.back_to_back_ms; });
  numbers("speedup_time", [](const TimeNumbers& time) { return time.dense_ms / time.total_ms; });
  numbers("time_waves", [](const TimeNumbers& time) { return time.waves; });
  numbers("time_tflops_per_s", [](const TimeNumbers& time) { return time.tflops_per_s; });
  numbers("time_dense_ms", [](const TimeNumbers& time) { return time.dense_ms; });
}

void build_frames(const Questions& many, bool counts, const study::Context& context, const RowGroups& groups, TilesJob& job) {
  job.errors.resize(groups.first_rows.size());
  for (std::size_t group = 0; group < groups.first_rows.size(); ++group) {
    AskedTime asked = many.first;
    try {
      for (const auto& column : many.columns) many.put(column, groups.first_rows[group], asked);
      job.frames.push_back(frame_of(many, asked, counts, context));
    } catch (const Error& error) {  // told with its row
      job.frames.push_back(nullptr);
      job.errors[group] = InvalidParameter(error.parameter(), error.value(), error.accepted(), error.hint());
    }
  }
}

nb::object answer_tiles(const TilesFunction& function, const nb::kwargs& given) {
  ManyOptions options;
  SharedContext known = shipped_context();
  study::WaveCount waves = study::WaveCount::kSimulated;
  const Questions many = read_many(function.keywords, given, function.name, [&](const std::string& name, nb::handle value) {
    if (name == "catalog" && !value.is_none()) known = context_of(value);
    if (name == "waves" && !value.is_none()) waves = PythonValue<study::WaveCount>::read(name, value, {});
    return name == "catalog" || name == "waves" || options.read(name, value);
  });
  TilesJob job{.rows = many.rows, .waves = waves};
  std::vector<const RowValues*> others;
  for (const auto& column : many.columns) {
    if (!is_shape(column.keyword->name)) others.push_back(column.values.get());
  }
  for (const ShapeColumn& column : kShapeColumns) job.columns.*column.column = many.find(column.name);
  MemberArrays arrays(many.rows);
  if (function.counts) add_counts(many.first.pass == Walk::kBackward, options, arrays, job);
  const bool timed = !function.counts || many.first.count.kernel || many.first.count.setting.device || many.find("device") != nullptr;
  if (timed) add_times(options, arrays, job);
  std::vector<std::uint8_t> valid(many.rows, 1);
  if (options.skip) job.valid = valid.data();
  Interruptible asking = interruptible(*known, nb::none());
  const ProgressFunction tell = std::exchange(asking.context.progress, {});
  {
    nb::gil_scoped_release released;
    const RowGroups groups = group_rows(others, many.rows);
    job.groups = &groups;
    build_frames(many, function.counts, asking.context, groups, job);
    answer_rows(job, {options.threads_for(many.rows), tell});
  }
  asking.finish();
  return arrays.finish(valid, nullptr, options);
}

constexpr const char* kWaves =
    "    waves: How the longest worker of a launch of unequal workgroups is found: simulated, as time() does, or bounded: "
    "in closed\n        form, hundreds of times as fast; low and high then hold both bounds, between which the simulated "
    "launch is [simulated].\n";

constexpr const char* kReturns =
    "as NumPy arrays, one number a row: int64 and float64, read-only; and `valid`. Where there\n    is no time, nan.\n\n"
    "Raises:\n"
    "    Error: A value is out of its range; `parameter` names it and its row.\n"
    "    TypeError: A keyword does not exist.\n\n"
    "Source:\n";

void bind_tiles(nb::module_& module, const TilesFunction* function, const std::string& head, const std::string& rest) {
  const std::string waves = PythonValue<study::WaveCount>::hint();
  const std::string signature = many_signature(function->name, function->keywords) + "waves: " + waves + " | None = None, " +
                                ManyOptions::kSignature + ") -> natten_sim._many.Columns";
  const std::string doc = head + many_doc(function->keywords) + kWaves + ManyOptions::kDoc + rest;
  module.def(
      function->name, [function](const nb::kwargs& given) { return answer_tiles(*function, given); },
      nb::sig(signature.c_str()), doc.c_str());
}

void bind_count_many(nb::module_& module) {
  bind_tiles(module, new TilesFunction{"count_many", true, many_keywords()},  // as long as the interpreter
             "Count many attention problems at once, one a row of the arrays; with a device or a kernel, time them too.\n\n"
             "Takes the keywords of count() that say which tiles are visited, and whose time. Each may have a value a row: "
             "an array of\nnumbers, one of (rows, axes) where it has a size an axis, or a list of names, all with as many "
             "rows. What is no array\nholds for all rows, and tiles that are left out are those of the first row. Some ten "
             "million rows a second for a grid\nof windows and strides, over a million for rows that have nothing in "
             "common; with times see docs/python.md.\n\n",
             std::string("Returns:\n    The members of a count() ") + kReturns +
                 "    As count(): docs/tile-counts.md, docs/time.md.");
  bind_tiles(module, new TilesFunction{"time_many", false, time_keywords()},
             "Predict the milliseconds of many passes of kernels at once.\n\n"
             "Takes the keywords of time(), each of which may have a value a row, as those of count_many(). Give kernel, "
             "q_tile and\nkv_tile: what is left out is found for each row.\n\n",
             std::string("Returns:\n    `time_ms_total` and other members of a time() ") + kReturns +
                 "    As time(): docs/time.md.");
}

}  // namespace

StudyBinder count_many_study();
StudyBinder count_many_study() { return bind_count_many; }

}  // namespace natten_sim::python
