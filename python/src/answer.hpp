#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::python {

namespace nb = nanobind;
using report::Json;

using SharedContext = std::shared_ptr<const study::Context>;

/// What a function answered, as the program prints it. Python reads `result` as frozen attributes.
class Answer {
 public:
  virtual ~Answer() = default;

  [[nodiscard]] virtual const char* schema() const = 0;  ///< the subcommand that answers the same question
  [[nodiscard]] virtual Json input() const = 0;
  [[nodiscard]] virtual const char* function() const = 0;  ///< of the package
  /// Whether it was asked with a Catalog of the caller's, which input() does not have.
  [[nodiscard]] virtual bool has_own_catalog() const = 0;
  [[nodiscard]] virtual Json result() const = 0;
  [[nodiscard]] virtual std::string text() const = 0;
  [[nodiscard]] virtual std::string csv() const = 0;
  /// What it comes down to; asks the model again, for seconds where the answer took seconds.
  [[nodiscard]] virtual std::optional<report::Closing> closing() const = 0;
  /// Names of what can be drawn.
  [[nodiscard]] virtual std::vector<std::string> pictures() const = 0;
  /// None: the first of them. @throws InvalidParameter when there is nothing to draw, or too much.
  [[nodiscard]] virtual std::string svg(const std::optional<std::string>& picture) const = 0;

  /// The keywords that it was asked with, as the caller gave them: what a pickle asks again.
  void keep_keywords(nb::dict keywords) { keywords_ = std::move(keywords); }
  [[nodiscard]] const nb::dict& keywords() const { return keywords_; }

  /// The program's JSON object, to the byte.
  [[nodiscard]] std::string json() const;
  /// `result` with attributes; made once.
  [[nodiscard]] nb::object fields();
  /// closing() with attributes, None without one; made once, when it is asked for.
  [[nodiscard]] nb::object conclusion();

 private:
  nb::dict keywords_;
  nb::object fields_, conclusion_;
};

/// Registers Answer and natten_sim.Error.
void bind_answers(nb::module_& module);

/// Python's view of a value: dicts as records, lists as tuples.
[[nodiscard]] nb::object frozen(const Json& value);

/// Raises in Python what C++ threw: natten_sim.Error for the library's errors, what Python had raised for a
/// callback's.
void translate_error(const std::exception_ptr& thrown, void*);

}  // namespace natten_sim::python
