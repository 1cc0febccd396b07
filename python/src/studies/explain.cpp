#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/report/explain_report.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>

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
  std::optional<DecimalMark> decimal;
  study::ExplainedProblem given;
};

struct Explanation {
  AskedExplanation asked;
  study::ExplainAnswer answer;
};

Keywords<AskedExplanation> explain_keywords() {
  using F = AskedExplanation;
  using P = study::ExplainedProblem;
  constexpr Accepts kSizes{.lo = 1, .hi = std::int64_t{1} << 20},
      kTokens{.lo = 1, .hi = std::int64_t{1} << 31};
  Keywords<F> rows;
  const auto given = [](auto member) { return within(&F::given, member); };
  rows.add("profile", &F::profile, "A report of Nsight Compute (.ncu-rep), or what ncu --csv printed of it");
  rows.add("ncu_kernel", &F::ncu_kernel, "Only launches whose kernel name contains this text [any]");
  rows.add("device", &F::device, "Cache and speed of the GPU [the profile's, if it says which]");
  rows.add("family", &F::family,
           "Family of launches whose names tell none, such as fa2 or triton; any: infer tiles and mask");
  rows.add("decimal", &F::decimal, validate::kDecimalHelp);
  rows.add("seqlen", given(&P::seqlen), "Queries [as the grid tells]", Echo::kAlways, kTokens);
  rows.add("seqlen_k", given(&P::seqlen_k), "Keys [as the sectors tell, else as many as queries]",
           Echo::kAlways, kTokens);
  rows.add("heads", given(&P::heads), "Heads [as the grid or the sectors tell]", Echo::kAlways,
           {.hi = kMaxHeads});
  rows.add("heads_kv", given(&P::heads_kv), "KV heads, a divisor of the heads [heads]", Echo::kAlways,
           {.hi = kMaxHeads});
  rows.add("batch_size", given(&P::batch), "Batch size [as the grid tells, else 1]", Echo::kAlways,
           {.hi = kMaxBatch});
  rows.add("head_dim", given(&P::head_dim), "Head dim [as the name tells]", Echo::kAlways, kSizes);
  rows.choose("causal", given(&P::causal), std::optional<bool>(true),
              "Whether the mask was causal [as the name or the sectors tell]");
  rows.add("dtype", given(&P::dtype), "Element type [as the name tells, else bf16]");
  rows.add("q_tile", given(&P::q_tile), "Q tile in tokens [as the name tells]", Echo::kAlways, kSizes);
  return rows.add("kv_tile", given(&P::kv_tile), "KV tile in tokens [as the name tells]", Echo::kAlways,
                  kSizes);
}

Explanation explain_launches(const AskedExplanation& asked, const study::Context& context) {
  if (!asked.profile)
    throw InvalidParameter("profile", "none", "a report of Nsight Compute, or what ncu --csv printed");
  const auto launches =
      validate::parse_ncu_profile(read_text_file("profile", *asked.profile), *asked.profile, asked.decimal);
  study::ExplainQuestion question{.as = asked.family, .device = asked.device, .given = asked.given};
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
          .answer = explain_launches,
          .input = [](const Keywords<AskedExplanation>& rows,
                      const Explanation& found) { return rows.echo(found.asked); },
          .result = [](const Explanation& found,
                       const study::Context&) { return report::explain_result(found.answer); },
          .text = [](const Explanation& found,
                     const study::Context&) { return report::explain_text(found.answer, ""); },
          .csv = [](const Explanation& found, const study::Context&,
                    const Json&) { return report::explain_csv(found.answer); },
          .pictures = [](const Explanation&) { return std::vector<Picture<Explanation>>{}; }});
}

}  // namespace

StudyBinder explain_study();
StudyBinder explain_study() { return bind_explain; }

}  // namespace natten_sim::python
