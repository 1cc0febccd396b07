#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/fidelity.hpp>
#include <natten_sim/io/kernel_runs.hpp>
#include <natten_sim/validate/cases/bench.hpp>

namespace natten_sim::validate {

/// A kernel with all its parameters, which can be run, measured and predicted. Suites, recordings,
/// comparisons and reports use this interface alone. A new kernel is a class derived from Case and a CaseKind
/// that reads it (registry.hpp), in one file.

class Point;
struct CtaPace;

/// One parameter of a point, as in JSON: a name and a value.
struct Parameter {
  std::string name;
  std::variant<std::int64_t, bool, std::string> value;
};
/// Starts the kernel on the default stream. Its memory is allocated and filled by then.
using Launch = std::function<void()>;

/// Where an answer expects 9 of 10 measurements, in the counter's unit.
struct PredictedInterval {
  double low = 0, high = 0;
  std::string kind;    ///< of answers: `time`, `schedule`, `scatter`
  std::string regime;  ///< answers whose errors are alike: "hopper-fna forward, head dim 128"
};

/// What a model says a counter will show, or how long a launch takes.
struct Prediction {
  std::string counter;  ///< label in the counter table, or kLaunchTime (comparison.hpp)
  std::string model;    ///< "sectors, closed form"
  double value = 0;     ///< in the counter's unit
  bool fitted = false;  ///< the model was calibrated on this very point
  std::optional<PredictedInterval> interval = std::nullopt;  ///< none: the answer states none
};

/// The comparison of a kernel with its oracle, on fresh inputs.
struct CheckedPoint {
  std::string key;
  bool ran = false;  ///< false if this GPU cannot run it; `status` says why
  double error = 0;  ///< relative error; 0 or 1 for a kernel whose result is exact
  double naive_error = 0;
  bool passed = false;
  std::string status = "checked";
};

/// kShort: sizes that an oracle checks in a moment. kShortAndLong: also long sizes, if the point is long.
enum class CheckLengths { kShort, kShortAndLong };

/// Where a point belongs in curves of a report: one chart a `chart`, one curve a `series`.
struct CurvePlace {
  std::string chart;    ///< "head dim 128, causal, bf16, 128x64x2, 2 CTAs an SM"
  std::string series;   ///< "persistent cyclic"
  std::string x_label;  ///< "tokens"
  double x = 0;
};

class Case {
 public:
  virtual ~Case() = default;

  /// One line that names the kernel and its parameters. Equal points have equal keys, so it identifies a
  /// point in recordings. "attention b1 h1/1 s16384 d128 bf16 causal 128x64x2 2 CTAs persistent cyclic".
  [[nodiscard]] virtual std::string key() const = 0;
  /// Errors are summed up over the points of a group: "attention full persistent cyclic".
  [[nodiscard]] virtual std::string group() const = 0;
  /// The parameters that the kernel's CaseKind reads back, in the order of recordings; "kernel" comes first.
  [[nodiscard]] virtual std::vector<Parameter> parameters() const = 0;

  /// Predictions of all models, in the order in which reports show them; empty if no model answers.
  /// kClosedForm takes microseconds. kTimed adds simulations in time, which take seconds for long sequences.
  [[nodiscard]] virtual std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const = 0;

  /// Allocates and fills what the kernel needs. @throws OutOfDeviceMemory, HardwareAbsent, like all members
  /// that take a Bench.
  [[nodiscard]] virtual Launch prepare(Bench& bench, std::uint64_t seed) const = 0;
  /// Runs once and compares with the oracle; `key` is left empty.
  [[nodiscard]] virtual CheckedPoint check(Bench& bench, std::uint64_t seed) const = 0;
  /// The same kernel on sizes that an oracle can follow.
  [[nodiscard]] virtual std::vector<Point> to_check(CheckLengths lengths) const = 0;

  // What only some kernels have.

  /// Whether this build has the kernel, wherever it runs. @throws InvalidParameter naming those that it has.
  virtual void require_built() const {}
  /// Called before a profiler is opened, for measurements that a profiler would disturb.
  virtual void get_ready(Bench&) const {}
  /// The launch as studies of times see it, without device and time; other kernels have none.
  [[nodiscard]] virtual std::optional<KernelRun> kernel_run() const { return std::nullopt; }
  /// Operations of one launch, which throughput is counted in.
  [[nodiscard]] virtual std::optional<double> operations() const { return std::nullopt; }
  [[nodiscard]] virtual std::optional<CurvePlace> curve() const { return std::nullopt; }
  /// For a sawtooth walk, the same point with a cyclic walk. Savings are counted against it.
  [[nodiscard]] virtual std::optional<Point> cyclic_partner() const;
  /// Whether the kernel records when each CTA worked; `pace` then measures a launch.
  [[nodiscard]] virtual bool has_pace() const { return false; }
  /// @throws InvalidParameter unless has_pace().
  [[nodiscard]] virtual CtaPace pace(Bench& bench) const;

 protected:
  Case() = default;
  Case(const Case&) = default;
  Case(Case&&) = default;
  Case& operator=(const Case&) = default;
  Case& operator=(Case&&) = default;
};

/// A launch of a kernel that this program does not have: a script measures it, and recordings of it are
/// compared.
class ForeignCase : public Case {
 public:
  /// "scripts/timing".
  [[nodiscard]] virtual std::string measured_by() const = 0;
  /// @throws HardwareAbsent, always.
  [[nodiscard]] Launch prepare(Bench& bench, std::uint64_t seed) const final;
  /// It is not run; the status says what measures it.
  [[nodiscard]] CheckedPoint check(Bench& bench, std::uint64_t seed) const final;
  /// None.
  [[nodiscard]] std::vector<Point> to_check(CheckLengths lengths) const final;
};

/// A case as a value: cheap to copy, immutable.
class Point {
 public:
  Point() = default;  ///< no point yet: it may only be assigned to
  template <std::derived_from<Case> Kernel>
  Point(Kernel parameters) : case_(std::make_shared<const Kernel>(std::move(parameters))) {}

  [[nodiscard]] const Case* operator->() const noexcept { return case_.get(); }
  /// The parameters of that kernel, or null when this is another one.
  template <std::derived_from<Case> Kernel>
  [[nodiscard]] const Kernel* as() const noexcept {
    return dynamic_cast<const Kernel*>(case_.get());
  }

 private:
  std::shared_ptr<const Case> case_;
};

[[nodiscard]] inline std::string key_of(const Point& point) { return point->key(); }
[[nodiscard]] inline std::string group_of(const Point& point) { return point->group(); }
/// @throws InvalidParameter for Fidelity::kLru, which no case offers, and what the models throw.
[[nodiscard]] std::vector<Prediction> predict(const Point& point, const Device& device,
                                              Fidelity fidelity = Fidelity::kClosedForm);

}  // namespace natten_sim::validate
