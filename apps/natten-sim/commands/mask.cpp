#include <natten_sim/report/mask_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/mask.hpp>

#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "commands.hpp"
#include "commands/rows/mask_answer.hpp"
#include "commands/rows/mask_values.hpp"

namespace natten_sim::cli {
namespace {

struct MaskFlags {
  study::MaskQuestion question;
  CatalogFiles files;
  OutputFlags output;
};

int run_mask(const MaskFlags& flags, Reply& reply) {
  return answer_mask(flags.question, make_context(flags.files), flags.output, reply);
}

}  // namespace

Command mask_command();
Command mask_command() {
  Options<MaskFlags> rows;
  rows.include(options_of<study::MaskQuestion>(), &MaskFlags::question);
  rows.include(catalog_rows(), &MaskFlags::files);
  rows.include(picture_rows(report::mask_pictures()), &MaskFlags::output);
  rows.include(conclusion_rows(), &MaskFlags::output);
  rows.include(estimate_rows(), &MaskFlags::output);
  rows.include(output_rows(), &MaskFlags::output);
  Command command{.name = "mask",
                  .summary = "Blocks and time of attention under a mask that is no neighborhood"};
  command.group = kQuestionCommands;
  command.examples = {
      "natten-sim mask --mask 'document:4096,8192,4096&causal' -n 16 -d 128 --device h200",
      "natten-sim mask --mask 'causal|prefix:2048' -i 32768 -n 32 -d 128 --device h100 --backprop"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  command.result_schema = report::mask_schema;
  bind(command, rows.essentials({"mask", "seqlen-q", "heads", "dim", "device", "kernel", "json"}), run_mask);
  return command;
}

}  // namespace natten_sim::cli
