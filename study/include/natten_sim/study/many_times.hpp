#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <natten_sim/core/names.hpp>
#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// How the longest worker of a launch is found whose CTAs differ. Simulated: CTA by CTA, as time() does. Bounded: by
/// Graham's bounds (uneven_waves), in O(1) for axes that occurred before; the interval then holds both bounds. Launches
/// of equal CTAs, and those of cutlass-fna, have a closed form, which both take.
enum class WaveCount { kSimulated, kBounded };

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::WaveCount> {
  static constexpr const char* kConcept = "waves";
  static constexpr Name<study::WaveCount> kTable[] = {{study::WaveCount::kSimulated, "simulated"},
                                                      {study::WaveCount::kBounded, "bounded"}};
};

}  // namespace natten_sim

namespace natten_sim::study {

/// A PassTime without words: nan where that has nothing.
struct TimeNumbers {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double kernel_ms = kNone, permutation_ms = kNone, repetition_ms = kNone, total_ms = kNone;
  double low_ms = kNone, high_ms = kNone, kernel_low_ms = kNone, kernel_high_ms = kNone;
  double back_to_back_ms = kNone;
  double dense_ms = kNone;
  double waves = kNone;  ///< CTAs over workers
  double tflops_per_s = kNone;
  std::int64_t ctas = 0;
  const char* limited_by = "";  ///< as in PassTime
  LaunchTime parts;
};

/// time() of many questions that differ in mask, tiles and visits alone. What does not depend on these is found once, and
/// what depends on one axis once for each axis. Not for several threads.
class ManyTimes {
 public:
  /// `context` outlives it. `like`: another one of this thread, whose axes it shares.
  explicit ManyTimes(const Context& context, WaveCount waves = WaveCount::kSimulated, const ManyTimes* like = nullptr);
  ~ManyTimes();
  ManyTimes(ManyTimes&&) noexcept;

  /// The question is resolved() but for its tiles, which it names. None: there are no times (MissingTime).
  /// Simulated: the numbers of time(question). Bounded: those of a launch of uneven_waves().estimate; low and high are
  /// those of its bounds, between which the simulated launch is.
  [[nodiscard]] std::optional<TimeNumbers> of(const TimeQuestion& question);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The setting as count() resolves it: with the backend of the kernel that the question names.
[[nodiscard]] Setting counted_setting(const CountQuestion& question, const Context& context);

/// Whether the question names a dense kernel: its tiles are its own.
[[nodiscard]] bool names_dense_kernel(const CountQuestion& question, const Context& context);

/// The times of count() and of time(), of many problems that differ in mask and tiles alone. Not for several threads.
class ManyCountTimes {
 public:
  /// Of one pass; problems say the rest. The context has the question's kernel (WithKernels) and outlives it. `like`:
  /// another one of this thread. @throws as count()
  ManyCountTimes(const CountQuestion& question, Walk pass, const Context& context, WaveCount waves,
                 const ManyCountTimes* like = nullptr);
  ~ManyCountTimes();
  ManyCountTimes(ManyCountTimes&&) noexcept;

  /// Of a valid problem of that pass. Tiles that it leaves out are those of time(). `count`: of runs of a row-major
  /// sequence, null where it is not known. None: there is no time.
  [[nodiscard]] std::optional<TimeNumbers> of(const TilingProblem& problem, const TileCount* count = nullptr);
  /// Whether NATTEN has a kernel for the last problem, or the question names one.
  [[nodiscard]] bool has_kernel() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace natten_sim::study
