#include "commands/rows/recall_rows.hpp"

namespace natten_sim::cli {
namespace {

Options<RecallFlags> make_rows() {
  const std::vector<study::Need> needs = {{"recall", "--recall FILE too"}};
  Options<RecallFlags> rows;
  rows.add("--recall", &RecallFlags::table,
           {.value = "FILE",
            .help = "Attention by offset of a model's heads (.npy): say what the windows keep of it",
            .echo = Echo::kNever,
            .excludes = {"csv"}});
  rows.add("--least-recall", &RecallFlags::least_recall,
           {.value = "SHARE",
            .help = "Choose a window for each head: this mean share, 0..1, in the least time",
            .interval = {0, 1},
            .accepted = "0 to 1",
            .echo = Echo::kNever,
            .excludes = {"budget-ms"},
            .needs = needs});
  rows.add("--budget-ms", &RecallFlags::budget_ms,
           {.value = "MS",
            .help = "Choose a window for each head: most recall in these milliseconds, 1e-6..1e12, all layers together",
            .interval = {1e-6, 1e12},
            .accepted = "1e-6 to 1e12 milliseconds",
            .echo = Echo::kNever,
            .needs = needs});
  rows.add("--recall-per", &RecallFlags::per,
           {.value = "NAME",
            .help = "What has one window: each head, or all heads of a layer [head]",
            .echo = Echo::kNever,
            .needs = needs});
  rows.group("Recall of a model's attention");
  return rows;
}

}  // namespace

const Options<RecallFlags>& recall_rows() {
  static const Options<RecallFlags> rows = make_rows();
  return rows;
}

bool has_wish(const RecallFlags& flags) { return flags.least_recall || flags.budget_ms; }

study::RecallWish wish_of(const RecallFlags& flags) {
  return {flags.least_recall, flags.budget_ms, flags.per.value_or(study::RecallPer::kHead)};
}

}  // namespace natten_sim::cli
