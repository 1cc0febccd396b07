#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/report/catalog_report.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kInit = "init";
constexpr const char* kCheck = "check";

struct KernelFlags {
  std::vector<std::string> words;  ///< what to do, and a name or a file
  std::optional<std::string> output;
};

/// A grid of (Q tiles, heads of all batches), as Triton's kernels have it; its values are to be replaced.
AttentionKernel example_kernel() {
  AttentionKernel kernel;
  kernel.name = "mine";
  kernel.title = "my attention, forward";
  kernel.q_tile = 128;
  kernel.kv_tiles = {{.head_dim = 128, .kv_tile = 64, .stages = 2}};
  kernel.schedule = CtaSchedule::kGrid;
  kernel.source = "from where these are known";
  kernel.dtype = Dtype::kBf16;
  kernel.grid = {.q_tiles = 0, .heads = 1, .batch = {}};
  kernel.names = {"_attn_fwd"};
  return kernel;
}

std::string checked_text(const std::string& path) {
  const std::vector<AttentionKernel> kernels =
      parse_kernel_file(read_text("words", path, kMaxCatalogBytes), "kernel file " + path);
  Catalog catalog;
  catalog.kernels = kernels;
  std::string text = report::catalog_table("kernels").text(catalog);
  for (const AttentionKernel& kernel : kernels) {
    if (kernel.names.empty())
      text += kernel.name + ": without \"names\", explain does not find its launches in a profile\n";
    if (kernel.rates.empty())
      text += kernel.name +
              ": without \"rates\", reuse has no speed of it for --fidelity timed, and count, search and mask take times "
              "from the instructions of its tiles; explain takes a launch's own\n";
    if (!kernel.backward) text += kernel.name + ": without \"backward\", schedule does not take it\n";
  }
  return text;
}

int run_kernel(const KernelFlags& flags) {
  const auto fits = [&](std::size_t least, std::size_t most) {
    return flags.words.size() >= least && flags.words.size() <= most;
  };
  const std::string what = flags.words.empty() ? "" : flags.words.front();
  if (what == kInit && fits(1, 2)) {
    const bool named = flags.words.size() == 2;
    write_output({.output = flags.output},
                 kernel_file_text({named ? study::default_context().catalog.kernel(flags.words[1]) : example_kernel()}));
  } else if (what == kCheck && fits(2, 2)) {
    write_output({.output = flags.output}, checked_text(flags.words[1]));
  } else {
    throw InvalidParameter("words", flags.words.empty() ? "none" : joined(flags.words, " "),
                           "init, init NAME or check FILE");
  }
  return kExitDone;
}

}  // namespace

Command kernel_command();
Command kernel_command() {
  Options<KernelFlags> rows;
  rows.positional("words", &KernelFlags::words,
                  {.help = "init: print a kernel file to fill in, or that of a kernel that ships; check FILE: read one, and say what it holds"},
                  2);
  rows.add("--output", &KernelFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.group(kOutputGroup);
  Command command{.name = "kernel",
                  .position = 72,
                  .group = kHelpCommands,
                  .summary = "Write a kernel file, which describes an attention kernel of your own, or check one",
                  .examples = {"natten-sim kernel init fa2 > mine.json",
                               "natten-sim kernel check mine.json",
                               "natten-sim reuse --kernel mine.json -i 32768 -n 8 -d 128 --device h200",
                               "natten-sim count --kernel mine.json -i 32768 -n 8 -d 128 --device h200"},
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  bind(command, rows, run_kernel);
  return command;
}

}  // namespace natten_sim::cli
