#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <natten_sim/study/context.hpp>

#include "answer.hpp"
#include "keywords.hpp"

namespace natten_sim::python {

/// Whether an answer takes so long that it reports progress and can be interrupted.
enum class Duration { kShort, kLong };

/// A function of the package: a question of study/ as keywords, an answer as the views of report/.
///
///     bind(module, Study<CountQuestion, CountAnswer>{.function = "count", .type = "Count", ...});
template <typename Q, typename A>
struct Study {
  const char* function;  ///< in Python
  const char* type;      ///< of what it returns
  const char* schema;    ///< the program's subcommand
  const char* doc;       ///< what is answered, in a sentence or two
  Duration duration = Duration::kShort;
  bool threads = false;              ///< whether the answer is found by several threads
  const char* positional = nullptr;  ///< keyword that a first argument without a name is for
  Keywords<Q> keywords;
  void (*check)(const nb::kwargs&) = nullptr;  ///< refuses keywords that contradict each other
  A (*answer)(const Q&, const study::Context&);
  Json (*input)(const Keywords<Q>&, const A&);
  Json (*result)(const A&, const study::Context&);
  std::string (*text)(const A&, const study::Context&);
  std::string (*csv)(const A&, const study::Context&, const Json& input);
  std::string (*svg)(const A&, const study::Context&);  ///< null: nothing is drawn
};

/// The catalog that ships with the package.
[[nodiscard]] const SharedContext& shipped_context();
/// The Context of a natten_sim.Catalog. @throws nb::type_error for another object.
[[nodiscard]] SharedContext context_of(nb::handle catalog);

/// Registers natten_sim.Catalog and the lists of what it holds.
void bind_catalog(nb::module_& module);

/// A context that can be interrupted.
struct Interruptible {
  study::Context context;
  std::function<void()> finish;  ///< after the answer, with the GIL: raises what a callback raised meanwhile
};

/// A copy of `context` that reports to `callback` (or nobody, if none), and raises what Python's signal
/// handlers raise: Ctrl-C ends a long answer. Only while the caller has the GIL released.
[[nodiscard]] Interruptible interruptible(const study::Context& context, nb::object callback);

[[noreturn]] void refuse_nothing_drawn(const char* type);

template <typename Q, typename A>
class AnswerOf final : public Answer {
 public:
  /// `work_out` returns the answer, which is made where it stays: answers are large.
  template <typename WorkOut>
  AnswerOf(const Study<Q, A>* study, const WorkOut& work_out, SharedContext context)
      : study_(study), answer_(work_out()), context_(std::move(context)) {}

  [[nodiscard]] const char* schema() const override { return study_->schema; }
  [[nodiscard]] Json input() const override { return study_->input(study_->keywords, answer_); }
  [[nodiscard]] Json result() const override { return study_->result(answer_, *context_); }
  [[nodiscard]] std::string text() const override { return study_->text(answer_, *context_); }
  [[nodiscard]] std::string csv() const override { return study_->csv(answer_, *context_, input()); }
  [[nodiscard]] std::string svg() const override {
    if (study_->svg == nullptr) refuse_nothing_drawn(study_->type);
    return study_->svg(answer_, *context_);
  }
  [[nodiscard]] const A& answer() const { return answer_; }
  [[nodiscard]] const study::Context& context() const { return *context_; }

 private:
  const Study<Q, A>* study_;
  A answer_;
  SharedContext context_;
};

/// What a caller gave.
template <typename Q>
struct Asked {
  Q question;
  SharedContext context;
  nb::object progress = nb::none();
  std::optional<unsigned> threads;
};

[[nodiscard]] inline bool is_named(nb::handle key, const char* name) {
  return PyUnicode_CompareWithASCIIString(key.ptr(), name) == 0;
}

template <typename Q, typename A>
[[nodiscard]] Asked<Q> read_call(const Study<Q, A>& study, const nb::kwargs& given) {
  Asked<Q> asked{.question = {}, .context = shipped_context()};
  if (study.check != nullptr) study.check(given);
  for (const auto& [key, value] : given) {
    if (const auto* row = study.keywords.find(key)) {
      if (!value.is_none()) row->read(asked.question, value);
    } else if (is_named(key, "catalog")) {
      if (!value.is_none()) asked.context = context_of(value);
    } else if (study.duration == Duration::kLong && is_named(key, "progress")) {
      asked.progress = nb::borrow(value);
    } else if (study.threads && is_named(key, "threads")) {
      if (!value.is_none()) asked.threads = static_cast<unsigned>(integer_of("threads", value, 1, 1024));
    } else {
      study.keywords.unexpected(key, study.function);
    }
  }
  return asked;
}

/// Without the GIL.
template <typename Q, typename A>
[[nodiscard]] A answer_of(const Study<Q, A>& study, const Asked<Q>& asked) {
  if (study.duration == Duration::kShort) {
    nb::gil_scoped_release released;
    return study.answer(asked.question, *asked.context);
  }
  Interruptible asking = interruptible(*asked.context, asked.progress);
  if (study.threads)
    asking.context.threads = asked.threads.value_or(std::max(1u, std::thread::hardware_concurrency()));
  A answer = [&] {
    nb::gil_scoped_release released;
    return study.answer(asked.question, asking.context);
  }();
  asking.finish();
  return answer;
}

/// `def count(*, input: int | Sequence[int] | None = None, ...) -> Count`.
template <typename Q, typename A>
[[nodiscard]] std::string signature_of(const Study<Q, A>& study) {
  std::string text = std::string("def ") + study.function + "(";
  for (const auto& row : study.keywords.rows()) {
    if (study.positional != nullptr && row.name == study.positional)
      text += row.name + ": " + row.hint + " | None = None, ";
  }
  text += "*";
  for (const auto& row : study.keywords.rows()) {
    if (study.positional != nullptr && row.name == study.positional) continue;
    if (row.is_keyword) text += ", " + row.name + ": " + row.hint + " | None = None";
  }
  if (study.threads) text += ", threads: int | None = None";
  if (study.duration == Duration::kLong)
    text += ", progress: collections.abc.Callable[[float], object] | None = None";
  return text + ", catalog: Catalog | None = None) -> " + study.type;
}

template <typename Q, typename A>
[[nodiscard]] std::string doc_of(const Study<Q, A>& study) {
  std::string text = std::string(study.doc) + "\n\nArgs:\n";
  for (const auto& row : study.keywords.rows()) {
    if (row.is_keyword) text += "    " + row.name + ": " + row.doc + ".\n";
  }
  if (study.threads) text += "    threads: Threads; the answer does not depend on them [all cores].\n";
  if (study.duration == Duration::kLong)
    text += "    progress: Called with a fraction in 0..1 now and then [nobody].\n";
  text += "    catalog: Devices, presets, backends and kernels by name [those that ship].\n\n";
  return text + "Raises:\n    Error: A value is out of its range, or contradicts another one.";
}

/// Registers the function. `study` lives as long as the module.
template <typename Q, typename A>
void bind_function(nb::module_& module, Study<Q, A> given) {
  auto* study = new Study<Q, A>(std::move(given));  // as long as the interpreter
  const auto call = [study](const nb::kwargs& keywords) {
    Asked<Q> asked = read_call(*study, keywords);
    return new AnswerOf<Q, A>(
        study, [&] { return answer_of(*study, asked); }, asked.context);
  };
  const std::string signature = signature_of(*study), doc = doc_of(*study);
  if (study->positional == nullptr) {
    module.def(study->function, call, nb::rv_policy::take_ownership, nb::sig(signature.c_str()), doc.c_str());
    return;
  }
  module.def(
      study->function,
      [study, call](const nb::args& values, const nb::kwargs& keywords) {
        if (values.size() > 1)
          throw nb::type_error((std::string(study->function) + "() takes one positional argument").c_str());
        if (values.size() == 1) keywords[study->positional] = values[0];
        return call(keywords);
      },
      nb::rv_policy::take_ownership, nb::sig(signature.c_str()), doc.c_str());
}

/// Registers the function and the type of its answers.
template <typename Q, typename A>
nb::class_<AnswerOf<Q, A>, Answer> bind(nb::module_& module, Study<Q, A> study) {
  const std::string doc = std::string("What ") + study.function + "() answers.";
  nb::class_<AnswerOf<Q, A>, Answer> type(module, study.type, doc.c_str());
  bind_function(module, std::move(study));
  return type;
}

}  // namespace natten_sim::python
