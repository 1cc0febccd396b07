#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <natten_sim/study/many_times.hpp>

#include "timed_cell.hpp"
#include "timed_launch.hpp"

namespace natten_sim::study {
namespace places {  // named: State holds some, and files are compiled in batches

/// Numbers that tell apart what surroundings depend on, or a whole mask with tiles.
struct Places {
  std::array<std::int64_t, 7 * kMaxRank + 1> values = {};
  std::size_t count = 0;

  void add(std::int64_t value) { values[count++] = value; }
  friend bool operator==(const Places& a, const Places& b) {
    return a.count == b.count && std::equal(a.values.begin(), a.values.begin() + static_cast<std::ptrdiff_t>(a.count), b.values.begin());
  }
  [[nodiscard]] std::size_t hash() const {
    std::uint64_t hash = count;
    for (std::size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<std::uint64_t>(values[i])) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash);
  }
};

void add_tiles(const TilePair& tiles, Places& places) {
  for (const std::int64_t size : tiles.q_tile) places.add(size);
  for (const std::int64_t size : tiles.kv_tile) places.add(size);
}

/// A dense kernel's tiles are its own, and so are those of a layout that is flattened: then its window tells.
Places surroundings_key(const TimeQuestion& question, const TimedKernel& kernel) {
  Places key;
  for (const AxisMask& axis : question.mask) {
    key.add(axis.length);
    key.add(axis.dilation);
    key.add(axis.causal ? 1 : 0);
  }
  add_tiles(question.tiles, key);
  key.add(flattens(question, kernel) ? 1 : 0);
  return key;
}

Places shape_key(const TimeQuestion& question) {
  Places key;
  for (const AxisMask& axis : question.mask) {
    for (const std::int64_t value : {axis.length, axis.window, axis.stride, axis.dilation}) key.add(value);
    key.add((axis.causal ? 1 : 0) + (axis.cyclic ? 2 : 0));
  }
  add_tiles(question.tiles, key);
  return key;
}

/// Remembers one value a place of a table.
template <typename T>
class PlaceMemo {
 public:
  template <typename Make>
  const T& find(const Places& key, const Make& make) {
    Entry& entry = entries_[key.hash() % kEntries];
    if (!entry.known || !(entry.key == key)) entry = {key, make(), true};
    return entry.value;
  }

 private:
  struct Entry {
    Places key;
    T value;
    bool known = false;
  };
  static constexpr std::size_t kEntries = 1 << 8;
  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
};

LaunchWork with_waves(LaunchWork work, double waves) {
  work.waves = waves;
  return work;
}

}  // namespace places

struct ManyTimes::State {
  explicit State(const Context& known) : context(known) {}

  const Context& context;
  LaunchMemo memo = {.axes = nullptr};
  /// By the tokens of a Q and of a KV tile, of which the costs are.
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::variant<TimedCell, MissingTime>>> cells;
  places::PlaceMemo<Surroundings> around;
  places::PlaceMemo<TimeNumbers> simulated;

  const std::variant<TimedCell, MissingTime>& cell_of(const TimeQuestion& question) {
    std::pair<std::int64_t, std::int64_t> tokens{1, 1};
    for (const std::int64_t size : question.tiles.q_tile) tokens.first *= size;
    for (const std::int64_t size : question.tiles.kv_tile) tokens.second *= size;
    for (const auto& [key, cell] : cells) {
      if (key == tokens) return cell;
    }
    constexpr std::size_t kMost = 256;
    if (cells.size() == kMost) cells.clear();
    return cells.emplace_back(tokens, timed_cell(question, context)).second;
  }
};

ManyTimes::ManyTimes(const Context& context, WaveCount waves, const ManyTimes* like)
    : state_(std::make_unique<State>(context)) {
  state_->memo.waves = waves;
  state_->memo.axes = like != nullptr ? like->state_->memo.axes : std::make_shared<AxisMemos>();
}
ManyTimes::~ManyTimes() = default;
ManyTimes::ManyTimes(ManyTimes&&) noexcept = default;

std::optional<TimeNumbers> ManyTimes::of(const TimeQuestion& question) {
  const auto& found = state_->cell_of(question);
  const auto* cell = std::get_if<TimedCell>(&found);
  if (cell == nullptr) return std::nullopt;
  const Surroundings& around =
      state_->around.find(places::surroundings_key(question, cell->kernel), [&] { return surroundings_of(question, *cell); });
  if (!around.added_ms) return std::nullopt;
  const auto answer = [&] {
    const FunctionCosts function = function_costs(question, *cell);
    const PassCosts& costs = function.costs ? *function.costs : cell->pass;
    LaunchMemo& memo = state_->memo;
    memo.bounds.reset();
    const LaunchWork work =
        launch_of(question, {cell->kernel, *cell->device, costs, state_->context.catalog}, &memo);
    TimeNumbers numbers = numbers_of(question, *cell, around, work, function);
    if (!memo.bounds || memo.bounds->most <= memo.bounds->least) return numbers;
    const TimeNumbers least = numbers_of(question, *cell, around, places::with_waves(work, memo.bounds->least), function);
    const TimeNumbers most = numbers_of(question, *cell, around, places::with_waves(work, memo.bounds->most), function);
    numbers.low_ms = least.low_ms;
    numbers.kernel_low_ms = least.kernel_low_ms;
    numbers.high_ms = most.high_ms;
    numbers.kernel_high_ms = most.kernel_high_ms;
    return numbers;
  };
  // Simulations take longer than it takes to remember them.
  const bool remembers = state_->memo.waves == WaveCount::kSimulated && !question.visits && !question.ctas;
  return remembers ? state_->simulated.find(places::shape_key(question), answer) : answer();
}

}  // namespace natten_sim::study
