#include <natten_sim/report/explain_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>

#include "described.hpp"
#include "studies.hpp"
#include "study.hpp"
#include "text_file.hpp"

namespace natten_sim::python {
namespace {

/// The keywords, and what was found in the profile.
struct AskedExplanation {
  std::optional<std::string> profile;
  std::string ncu_kernel;
  std::optional<std::string> device;
  std::optional<std::string> family;
  std::optional<std::string> kernel;  ///< a kernel file, or one that ships
  std::optional<DecimalMark> decimal;
  study::ExplainedProblem given;
};

struct Explanation {
  AskedExplanation asked;
  study::ExplainAnswer answer;
};

Keywords<AskedExplanation> explain_keywords() {
  using F = AskedExplanation;
  Keywords<F> rows;
  rows.add("profile", &F::profile, "A report of Nsight Compute (.ncu-rep), or what ncu --csv printed of it");
  rows.add("ncu_kernel", &F::ncu_kernel, "Only launches whose kernel name contains this text [any]");
  rows.add("device", &F::device, "Cache and speed of the GPU [the profile's, if it says which]");
  rows.add("family", &F::family,
           "Family of launches whose names tell none, such as fa2 or triton; any: infer tiles and mask");
  rows.add("kernel", &F::kernel, "Kernel file of launches that it names, or a kernel that ships, as fa2");
  rows.add("decimal", &F::decimal, validate::kDecimalHelp);
  return rows.include(keywords_of<study::ExplainedProblem>(), &F::given);
}

Explanation explain_launches(const AskedExplanation& asked, const study::Context& context) {
  if (!asked.profile)
    throw InvalidParameter("profile", "none", "a report of Nsight Compute, or what ncu --csv printed");
  const auto launches =
      validate::parse_ncu_profile(read_text_file("profile", *asked.profile), *asked.profile, asked.decimal);
  study::ExplainQuestion question{.as = asked.family, .device = asked.device, .given = asked.given};
  if (asked.kernel) question.kernels = study::profiled_kernels_of("kernel", *asked.kernel);
  for (study::ProfiledKernel& launch : validate::profiled_kernels(launches)) {
    if (launch.name.find(asked.ncu_kernel) != std::string::npos)
      question.launches.push_back(std::move(launch));
  }
  return {asked, study::explain(question, context)};
}

void bind_explain(nb::module_& module) {
  bind(
      module,
      Study<AskedExplanation, Explanation>{
          .function = "explain",
          .type = "Explanation",
          .schema = "explain",
          .doc =
              "Say why attention kernels of a profile read what they read from DRAM.\n\n"
              "Kernels are known by name: of FlashAttention, cuDNN, FlexAttention, Triton, NATTEN and this "
              "project. What neither\nname nor grid tells is asked for by the name of its keyword.",
          .returns = "`kernels`, each with its `problem`, how each part of it is `known`, what is `missing`, "
                     "its `read` in bytes,\n    and `changes` that would read less.",
          .source = "docs/explain.md.",
          .duration = Duration::kLong,
          .positional = "profile",
          .keywords = explain_keywords(),
          .may_be_null = {"device", "family", "decimal", "seqlen", "seqlen_k", "heads", "heads_kv", "batch_size",
                          "head_dim", "dtype", "q_tile", "kv_tile"},
          .answer = explain_launches,
          .input = [](const Keywords<AskedExplanation>& rows,
                      const Explanation& found) { return rows.echo(found.asked); },
          .result = [](const Explanation& found,
                       const study::Context&) { return report::explain_result(found.answer); },
          .result_schema = report::explain_schema,
          .text = [](const Explanation& found,
                     const study::Context&) { return report::explain_text(found.answer, ""); },
          .csv = [](const Explanation& found, const study::Context&,
                    const Json&) { return report::csv_text(report::explain_rows(found.answer)); },
          .pictures = [](const Explanation& found) {
            return pictures_of(report::explain_pictures(), found,
                               [](const Explanation& part) -> const auto& { return part.answer; });
          }});
}

}  // namespace

StudyBinder explain_study();
StudyBinder explain_study() { return bind_explain; }

}  // namespace natten_sim::python
