#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/explain_report.hpp>
#include <natten_sim/report/text_table.hpp>

#include "explain_fields.hpp"

namespace natten_sim::report {
namespace {

using study::ExplainAnswer;
using study::ExplainedChange;
using study::ExplainedKernel;
using study::ExplainedProblem;
using study::ExplainedReads;
using study::KnownFrom;

std::string size_text(double bytes) {
  constexpr double kMiB = 1024.0 * 1024.0, kGiB = 1024.0 * kMiB;
  return std::abs(bytes) >= kGiB ? fmt::format("{:.2f} GiB", bytes / kGiB)
                                 : fmt::format("{:.2f} MiB", bytes / kMiB);
}

std::string grid_text(const std::array<std::int64_t, 3>& sizes) {
  return fmt::format("{}x{}x{}", sizes[0], sizes[1], sizes[2]);
}

/// A model that is further off here than this tells savings no better.
constexpr double kUncertain = 0.25;

std::string heading(const ExplainedKernel& kernel) {
  const study::ProfiledKernel& launch = kernel.launch;
  std::string text = fmt::format("{}   {} launch{}   grid {}   {} threads", kernel.title, kernel.launches,
                                 kernel.launches == 1 ? "" : "es", grid_text(launch.grid),
                                 launch.block[0] * std::max<std::int64_t>(1, launch.block[1]) *
                                     std::max<std::int64_t>(1, launch.block[2]));
  if (launch.ctas_per_sm)
    text += fmt::format("   {} CTA{} an SM", *launch.ctas_per_sm, *launch.ctas_per_sm == 1 ? "" : "s");
  if (launch.time_ns) text += fmt::format("   {:.3f} ms", 1e-6 * *launch.time_ns);
  return text + "\n";
}

std::string problem_text(const ExplainedProblem& problem) {
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string("?");
  };
  std::string text = fmt::format("attention over {}", number(problem.seqlen));
  if (problem.seqlen_k && problem.seqlen_k != problem.seqlen)
    text += fmt::format(" x {} keys", *problem.seqlen_k);
  if (problem.causal.value_or(false)) text += " causal";
  text += fmt::format("   {} head{} of head dim {}   batch {}", number(problem.heads),
                      problem.heads == 1 ? "" : "s", number(problem.head_dim), number(problem.batch));
  text += fmt::format("\nQ tile {}   KV tile {}", number(problem.q_tile), number(problem.kv_tile));
  if (problem.schedule) text += fmt::format("   {} schedule", to_string(*problem.schedule));
  if (problem.order) text += fmt::format("   {} order", to_string(*problem.order));
  return text + "\n";
}

/// "name: dim, q-tile; grid: heads".
std::string known_text(const ExplainedKernel& kernel) {
  std::vector<std::string> parts;
  for (const KnownFrom from : values_of<KnownFrom>()) {
    std::vector<std::string> members;
    for (const study::KnownMember& known : kernel.known) {
      if (known.from == from) members.push_back(known.member);
    }
    if (!members.empty()) parts.push_back(fmt::format("{}: {}", to_string(from), joined(members)));
  }
  return parts.empty() ? "" : wrapped_text("known from " + joined(parts, "; "));
}

/// What CTAs read again: in step and since they drift, or what is left of it where drift saves.
void add_again_rows(const ExplainedReads& read, std::vector<std::vector<std::string>>& rows) {
  if (read.drift_bytes >= 0) {
    rows.push_back({"  again, by CTAs in step", size_text(read.lockstep_bytes)});
    if (read.fidelity == Fidelity::kTimed)
      rows.push_back({"  again, since they drift", size_text(read.drift_bytes)});
    return;
  }
  rows.push_back({"  again, by CTAs that drift", size_text(read.lockstep_bytes + read.drift_bytes)});
  rows.push_back({"    of what CTAs in step would", size_text(read.lockstep_bytes)});
}

std::string reads_table(const ExplainedKernel& kernel) {
  const ExplainedReads& read = *kernel.read;
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"DRAM read", read.measured_bytes ? size_text(*read.measured_bytes) : "not measured"});
  rows.push_back({"  compulsory", size_text(read.compulsory_bytes)});
  add_again_rows(read, rows);
  if (read.unexplained_bytes) {
    rows.push_back({*read.unexplained_bytes < 0 ? "  less than the model expects" : "  not explained",
                    size_text(std::abs(*read.unexplained_bytes))});
  }
  if (!read.measured_bytes && kernel.launch.dram_bytes)
    rows.push_back({"DRAM read and written", size_text(*kernel.launch.dram_bytes)});
  if (kernel.launch.l2_read_sectors) {
    rows.push_back(
        {"sectors from the L2", grouped(static_cast<std::int64_t>(*kernel.launch.l2_read_sectors))});
    rows.push_back({"  by formula", grouped(static_cast<std::int64_t>(*kernel.predicted_sectors))});
  }
  for (const ExplainedChange& change : kernel.changes) {
    rows.push_back(
        {fmt::format("with {}", change_name(change)),
         fmt::format("{} ({:.0f}% fewer)", size_text(change.expected_bytes), 100 * change.saved_share)});
  }
  return text_table(rows);
}

std::string why(const ExplainedKernel& kernel) {
  const ExplainedReads& read = *kernel.read;
  const double more = read.predicted_bytes() - read.compulsory_bytes;
  if (more < 0.02 * read.compulsory_bytes) return "all that is read is read once";
  if (*kernel.problem.causal && !*kernel.problem.longest_first && more > read.compulsory_bytes)
    return "CTAs of a round are spread over the keys, so each finds that K and V left the L2";
  if (read.drift_bytes > read.lockstep_bytes)
    return "CTAs are out of step, so each finds that K and V left the L2";
  return "K and V do not fit the L2, so each round of CTAs reads them again";
}

std::string certainty_text(const ExplainedKernel& kernel) {
  const ExplainedReads& read = *kernel.read;
  std::string text;
  if (read.unexplained_bytes)
    text =
        fmt::format("the model is {:+.1f}% off here", -100 * *read.unexplained_bytes / *read.measured_bytes);
  if (const std::string score = score_text(score_of(kernel)); !score.empty())
    text += (text.empty() ? "the model on " : ", and on ") + score;
  if (read.unexplained_bytes && !kernel.changes.empty() &&
      std::abs(*read.unexplained_bytes) > kUncertain * *read.measured_bytes)
    text += "; what another order saves is as uncertain";
  if (kernel.launch.l2_read_sectors &&
      std::abs(*kernel.predicted_sectors / *kernel.launch.l2_read_sectors - 1) > study::kSameSectors)
    text += "; but the sectors are those of another mask or length than this";
  if (!kernel.assumed.empty()) text += "; not measured on this device: " + joined(kernel.assumed);
  return text;
}

std::string end_text(const ExplainedKernel& kernel, const std::string& option_prefix) {
  if (kernel.unmodelled) return "Not predicted: " + *kernel.unmodelled + ".";
  if (!kernel.missing.empty()) {
    std::vector<std::string> options;
    for (const std::string& option : kernel.missing) options.push_back(option_prefix + option);
    return "Say " + joined(options, " and ") + ", which neither name nor grid tells.";
  }
  const ExplainedReads& read = *kernel.read;
  std::string text = "In short: " + why(kernel);
  if (!kernel.changes.empty()) {
    const ExplainedChange& best = kernel.changes.front();
    text += fmt::format("; with {} it would read {} instead of {}", change_name(best),
                        size_text(best.expected_bytes),
                        size_text(read.measured_bytes.value_or(read.predicted_bytes())));
  } else {
    text += "; no other order or launch reads less";
  }
  return text + "; " + certainty_text(kernel) + ".";
}

std::string kernel_paragraph(const ExplainedKernel& kernel, const std::string& option_prefix) {
  std::string text = heading(kernel);
  if (!kernel.unmodelled) text += problem_text(kernel.problem);
  text += known_text(kernel);
  if (kernel.read) text += reads_table(kernel);
  if (!kernel.read && kernel.launch.dram_read_bytes)
    text += fmt::format("DRAM read {}\n", size_text(*kernel.launch.dram_read_bytes));
  if (!kernel.read && kernel.launch.l2_read_sectors)
    text += fmt::format("sectors from the L2 {}\n",
                        grouped(static_cast<std::int64_t>(*kernel.launch.l2_read_sectors)));
  return text + wrapped_text(end_text(kernel, option_prefix));
}

/// Counters of kernels that nobody knows, where the profile is of nothing else.
std::string counters_text(const ExplainAnswer& answer) {
  constexpr std::size_t kMostLetters = 32;
  std::vector<std::vector<std::string>> rows = {{"kernel", "grid", "ms", "DRAM read", "sectors from the L2"}};
  for (const study::ProfiledKernel& launch : answer.others) {
    const auto bytes = launch.dram_read_bytes ? launch.dram_read_bytes : launch.dram_bytes;
    rows.push_back(
        {launch.name.substr(0, kMostLetters), grid_text(launch.grid),
         launch.time_ns ? fmt::format("{:.3f}", 1e-6 * *launch.time_ns) : "-",
         bytes ? size_text(*bytes) : "-",
         launch.l2_read_sectors ? grouped(static_cast<std::int64_t>(*launch.l2_read_sectors)) : "-"});
  }
  return text_table(rows);
}

std::string others_text(const ExplainAnswer& answer, const std::string& option_prefix) {
  if (answer.other_launches == 0) return "";
  if (answer.kernels.empty()) {
    return counters_text(answer) +
           wrapped_text(
               fmt::format("{}as any, with {}seqlen and {}dim, infers tiles and mask of such launches.",
                           option_prefix, option_prefix, option_prefix));
  }
  constexpr std::size_t kMostLetters = 48;
  std::vector<std::string> names;
  for (const std::string& name : answer.other_names) names.push_back(name.substr(0, kMostLetters));
  return wrapped_text(fmt::format("Left out: {} launch{} of other kernels: {}", answer.other_launches,
                                  answer.other_launches == 1 ? "" : "es", joined(names)));
}

std::string launches_text(std::int64_t launches) {
  return launches == 1 ? "1 launch" : fmt::format("{} launches", launches);
}

/// DRAM bytes that all launches of a kernel read.
double bytes_read(const ExplainedKernel& kernel) {
  const double of_one = kernel.launch.dram_read_bytes ? *kernel.launch.dram_read_bytes
                        : kernel.read                 ? kernel.read->predicted_bytes()
                                                      : 0;
  return of_one * static_cast<double>(kernel.launches);
}

/// That the best change of the kernel saves in all its launches.
double bytes_saved(const ExplainedKernel& kernel) {
  if (!kernel.read || kernel.changes.empty()) return 0;
  return kernel.changes.front().saved_share * bytes_read(kernel);
}

/// What the profile comes down to.
Closing profile_closing(const ExplainAnswer& answer, const std::string& option_prefix) {
  Closing closing;
  if (answer.kernels.empty()) {
    closing.limit = "no launch in the profile is of an attention kernel that is known";
    closing.change = fmt::format("say {}as and a family, or any, with lengths and head dim", option_prefix);
    closing.certainty = "names of kernels are all that was read";
    return closing;
  }
  std::int64_t launches = 0;
  double read = 0;
  for (const ExplainedKernel& kernel : answer.kernels) {
    launches += kernel.launches;
    read += bytes_read(kernel);
  }
  closing.limit = fmt::format("{} of attention kernels {} {} from DRAM", launches_text(launches),
                              launches == 1 ? "reads" : "read", size_text(read));
  const auto more = [](double (*of)(const ExplainedKernel&)) {
    return [of](const ExplainedKernel& a, const ExplainedKernel& b) { return of(a) < of(b); };
  };
  const ExplainedKernel& best =
      *std::max_element(answer.kernels.begin(), answer.kernels.end(), more(bytes_saved));
  const ExplainedKernel& largest =
      *std::max_element(answer.kernels.begin(), answer.kernels.end(), more(bytes_read));
  if (bytes_saved(best) > 0) {
    closing.change = fmt::format("first run {}, {}, with {}", best.title, launches_text(best.launches),
                                 change_name(best.changes.front()));
    closing.gain = read / std::max(read - bytes_saved(best), 1.0);
    closing.gain_text = size_text(bytes_saved(best)) + " less in all";
    closing.certainty = certainty_text(best);
  } else if (!largest.missing.empty()) {
    closing.change =
        fmt::format("first say {}{} of {}", option_prefix, largest.missing.front(), largest.title);
    closing.certainty = "of what is asked for above nothing is known yet";
  } else {
    closing.certainty = "no other order or launch that was tried reads less";
  }
  return closing;
}

}  // namespace

Json explain_result(const ExplainAnswer& answer) {
  return explain_fields({&answer, profile_closing(answer, "")});
}

std::string explain_text(const ExplainAnswer& answer, const std::string& option_prefix) {
  std::string text;
  for (const ExplainedKernel& kernel : answer.kernels) text += kernel_paragraph(kernel, option_prefix) + "\n";
  if (answer.kernels.empty()) text = "No launch of a known attention kernel.\n\n";
  text += others_text(answer, option_prefix);
  // A single kernel has said it.
  return answer.kernels.size() == 1 ? text : text + closing_text(profile_closing(answer, option_prefix));
}

Rows explain_rows(const ExplainAnswer& answer) {
  std::vector<Json> rows;
  const auto row = [](const ExplainedKernel& kernel) {
    Json fields = kernel_fields(kernel);
    Json problem = fields["problem"], read = fields["read"];
    for (const char* nested : {"problem", "read", "known", "changes"}) fields.erase(nested);
    fields.update(problem);
    if (read.is_object()) fields.update(read);
    const bool changes = !kernel.changes.empty();
    fields["best_change"] = changes ? Json(change_name(kernel.changes.front())) : Json();
    fields["best_saved_share"] = changes ? Json(kernel.changes.front().saved_share) : Json();
    return flattened(fields);
  };
  ExplainedKernel full;
  full.problem.causal = false;
  full.read = ExplainedReads{};
  for (const ExplainedKernel& kernel : answer.kernels) rows.push_back(row(kernel));
  return {row(full), rows, {"title", "launches", "time_ns", "measured_bytes", "predicted_bytes", "compulsory_bytes"}};
}

}  // namespace natten_sim::report
