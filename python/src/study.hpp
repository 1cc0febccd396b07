#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <natten_sim/study/context.hpp>

#include <natten_sim/report/picture_kind.hpp>

#include "answer.hpp"
#include "answer_schemas.hpp"
#include "keywords.hpp"
#include "many.hpp"

namespace natten_sim::python {

/// Whether an answer takes so long that it reports progress and can be interrupted.
enum class Duration { kShort, kLong };

/// A picture of an answer.
template <typename A>
struct Picture {
  std::string name;
  std::function<std::string(const A&, const study::Context&)> svg;
};

/// Those of report/ that fit the answer; `part` of it is what they draw.
template <typename A, typename B, typename Part>
[[nodiscard]] std::vector<Picture<A>> pictures_of(const report::PictureKinds<B>& kinds, const A& answer, Part part) {
  std::vector<Picture<A>> pictures;
  for (const report::PictureKind<B>& kind : kinds) {
    if (!kind.fits(part(answer))) continue;
    pictures.push_back({kind.name, [&kind, part](const A& drawn, const study::Context& context) {
                          return kind.draw(part(drawn), context).svg;
                        }});
  }
  return pictures;
}

template <typename A>
[[nodiscard]] std::vector<Picture<A>> pictures_of(const report::PictureKinds<A>& kinds, const A& answer) {
  return pictures_of(kinds, answer, [](const A& whole) -> const A& { return whole; });
}

/// A function of the package: a question of study/ as keywords, an answer as the views of report/.
///
///     bind(module, Study<CountQuestion, CountAnswer>{.function = "count", .type = "Count", ...});
template <typename Q, typename A>
struct Study {
  const char* function;  ///< in Python
  const char* type;      ///< of what it returns
  const char* schema;    ///< the program's subcommand
  const char* doc;       ///< what is answered, in a sentence or two
  const char* returns;   ///< what the answer has, with units
  const char* source;    ///< papers and pages that derive it
  Duration duration = Duration::kShort;
  bool threads = false;              ///< whether the answer is found by several threads
  const char* positional = nullptr;  ///< keyword that a first argument without a name is for
  bool (*is_brief)(const Q&) = nullptr;  ///< whether a short answer takes microseconds
  const char* many = nullptr;  ///< the function that asks about many problems; null: none
  const char* many_doc = "";   ///< what it answers
  Keywords<Q> keywords;
  std::vector<std::string> may_be_null = {};  ///< members of `input`, as a keyword without a value is not filled in
  A (*answer)(const Q&, const study::Context&);
  Json (*input)(const Keywords<Q>&, const A&);
  Json (*result)(const A&, const study::Context&);
  Json (*result_schema)() = nullptr;  ///< JSON Schema of that
  Json (*input_schema)() = nullptr;   ///< of `input`, where that has other members than the keywords
  std::string (*text)(const A&, const study::Context&);
  std::string (*csv)(const A&, const study::Context&, const Json& input);
  /// What can be drawn of an answer, the one that is drawn unless another is named first.
  std::vector<Picture<A>> (*pictures)(const A&);
  /// What it comes down to; null: nothing.
  std::optional<report::Closing> (*closing)(const A&, const study::Context&) = nullptr;
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

/// The place of `name` in `names`; none: the first. @throws InvalidParameter, UnknownName.
[[nodiscard]] std::size_t picture_number(const std::vector<std::string>& names,
                                         const std::optional<std::string>& name, const char* type);

template <typename Q, typename A>
class AnswerOf final : public Answer {
 public:
  /// `work_out` returns the answer, which is made where it stays: answers are large.
  template <typename WorkOut>
  AnswerOf(const Study<Q, A>* study, const WorkOut& work_out, SharedContext context)
      : study_(study), answer_(work_out()), context_(std::move(context)), function_(study->function) {}

  /// Answers of another function than the study's; `function` lives as long as the interpreter.
  void keep_function(const char* function) { function_ = function; }

  [[nodiscard]] const char* schema() const override { return study_->schema; }
  [[nodiscard]] Json input() const override { return study_->input(study_->keywords, answer_); }
  [[nodiscard]] const char* function() const override { return function_; }
  [[nodiscard]] bool has_own_catalog() const override { return context_ != shipped_context(); }
  [[nodiscard]] Json result() const override { return study_->result(answer_, *context_); }
  [[nodiscard]] std::string text() const override { return study_->text(answer_, *context_); }
  [[nodiscard]] std::string csv() const override { return study_->csv(answer_, *context_, input()); }
  [[nodiscard]] std::optional<report::Closing> closing() const override {
    return study_->closing == nullptr ? std::nullopt : study_->closing(answer_, *context_);
  }
  [[nodiscard]] std::vector<std::string> pictures() const override {
    std::vector<std::string> names;
    for (const Picture<A>& picture : study_->pictures(answer_)) names.push_back(picture.name);
    return names;
  }
  [[nodiscard]] std::string svg(const std::optional<std::string>& picture) const override {
    const std::size_t number = picture_number(pictures(), picture, study_->type);
    return study_->pictures(answer_)[number].svg(answer_, *context_);
  }
  [[nodiscard]] const A& answer() const { return answer_; }
  [[nodiscard]] const study::Context& context() const { return *context_; }

 private:
  const Study<Q, A>* study_;
  A answer_;
  SharedContext context_;
  const char* function_;
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
  study.keywords.check_company(given);
  for (const auto& [key, value] : given) {
    if (const auto* row = study.keywords.find(key)) {
      if (!value.is_none()) row->read(asked.question, value);
    } else if (is_named(key, "catalog")) {
      if (!value.is_none()) asked.context = context_of(value);
    } else if (study.duration == Duration::kLong && is_named(key, "progress")) {
      asked.progress = nb::borrow(value);
    } else if (study.threads && is_named(key, "threads")) {
      if (!value.is_none()) asked.threads = static_cast<unsigned>(integer_of("threads", value, 1, 1024));
    } else if (study.keywords.spelled(nb::borrow<nb::str>(key).c_str()) != nullptr) {
      return read_call(study, study.keywords.respelled(given));
    } else {
      study.keywords.unexpected(key, study.function);
    }
  }
  return asked;
}

/// Without the GIL, unless it is a matter of microseconds.
template <typename Q, typename A>
[[nodiscard]] A answer_of(const Study<Q, A>& study, const Asked<Q>& asked) {
  if (study.duration == Duration::kShort) {
    // Locks of the interpreter take longer than the shortest answers.
    if (study.is_brief != nullptr && study.is_brief(asked.question))
      return study.answer(asked.question, *asked.context);
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
  text += std::string("Returns:\n    ") + study.type + ": " + study.returns + "\n\n";
  text += "Raises:\n    Error: A value is out of its range, or contradicts another one.\n";
  text += "    TypeError: A keyword does not exist.\n\n";
  return text + "Source:\n    " + study.source;
}

/// The answers of many questions as arrays. Rows that are alike are asked about once.
template <typename Q, typename A>
[[nodiscard]] nb::object answer_many(const Study<Q, A>& study, const nb::kwargs& given) {
  ManyOptions options;
  SharedContext known = shipped_context();
  nb::object progress = nb::none();
  const auto many = read_many(study.keywords, given, study.many, [&](const std::string& name, nb::handle value) {
    if (name == "catalog" && !value.is_none()) known = context_of(value);
    if (name == "progress") progress = nb::borrow(value);
    return name == "catalog" || name == "progress" || options.read(name, value);
  });
  Interruptible asking = interruptible(*known, progress);
  const ProgressFunction tell = std::exchange(asking.context.progress, {});
  asking.context.threads = 1;  // rows are shared out
  std::vector<const RowValues*> columns;
  for (const auto& column : many.columns) columns.push_back(column.values.get());
  RowGroups groups;
  std::vector<std::uint8_t> valid;
  std::optional<MemberArrays> arrays;
  {
    nb::gil_scoped_release released;
    groups = group_rows(columns, many.rows);
    valid.assign(groups.first_rows.size(), 1);
    arrays.emplace(groups.first_rows.size());
    std::mutex taking;
    answer_groups(groups, options, tell, valid, [&](std::size_t group, std::size_t row) {
      Q question = many.first;
      for (const auto& column : many.columns) many.put(column, row, question);
      const Json result = study.result(study.answer(question, asking.context), asking.context);
      const std::scoped_lock lock(taking);
      arrays->take(group, result, options);
    });
  }
  asking.finish();
  return arrays->finish(valid, &groups, options);
}

template <typename Q, typename A>
void bind_many(nb::module_& module, const Study<Q, A>* study) {
  const std::string signature = many_signature(study->many, study->keywords) +
                                "progress: collections.abc.Callable[[float], object] | None = None, " +
                                ManyOptions::kSignature + ") -> natten_sim._many.Columns";
  const std::string doc =
      std::string(study->many_doc) + "\n\n" + "Takes the keywords of " + study->function +
      "(), each of which may have a value a row: an array of numbers, one of\n(rows, axes) where a keyword has a size an "
      "axis, or a list of names. Rows that are alike are asked about once.\n\n" +
      many_doc(study->keywords) + "    progress: Called with a fraction in 0..1 now and then [nobody].\n" +
      ManyOptions::kDoc + "Returns:\n    The members of " + study->type +
      " as NumPy arrays, one value a row: nested members are outer_inner, lists are left out; and `valid`.\n\n"
      "Raises:\n    Error: A value is out of its range, or contradicts another one; `parameter` names it and its row.\n"
      "    TypeError: A keyword does not exist.\n\nSource:\n    " +
      study->source;
  module.def(
      study->many, [study](const nb::kwargs& keywords) { return answer_many(*study, keywords); },
      nb::sig(signature.c_str()), doc.c_str());
}

/// Registers the function. `study` lives as long as the module.
template <typename Q, typename A>
void bind_function(nb::module_& module, Study<Q, A> given) {
  auto* study = new Study<Q, A>(std::move(given));  // as long as the interpreter
  const auto call = [study](const nb::kwargs& keywords) {
    Asked<Q> asked = read_call(*study, keywords);
    auto* answer = new AnswerOf<Q, A>(
        study, [&] { return answer_of(*study, asked); }, asked.context);
    answer->keep_keywords(keywords);
    return answer;
  };
  if (study->many != nullptr) bind_many(module, study);
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
  const std::string doc =
      std::string("What ") + study.function + "() answers: " + study.returns + "\n\nSource:\n    " + study.source;
  // Members and their types are in _members.pyi, for checkers and editors.
  const std::string signature = std::string("class ") + study.type + "(natten_sim._members." + study.type + "Answer, Answer)";
  nb::class_<AnswerOf<Q, A>, Answer> type(module, study.type, nb::sig(signature.c_str()), doc.c_str());
  describe_answer(
      study.type,
      [keywords = study.keywords, null = study.may_be_null, input = study.input_schema] {
        return input != nullptr ? input() : keywords.echo_schema(null);
      },
      study.result_schema);
  bind_function(module, std::move(study));
  return type;
}

}  // namespace natten_sim::python
