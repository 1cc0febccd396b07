#include <filesystem>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/msda_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/msda.hpp>

#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {

/// A name, or a JSON file with one configuration. In JSON the name alone: the other members are keys too.
template <>
struct OptionValue<MsdaConfig> {
  static constexpr bool kIsText = true;
  static constexpr int kMaxValues = 1;
  static MsdaConfig from_words(const std::string& name, const std::vector<std::string>& words, const About&) {
    const std::string& text = words.front();
    std::vector<std::string> names;
    for (const MsdaConfig& config : builtin_msda_configs()) {
      if (config.name == text) return config;
      names.push_back(config.name);
    }
    if (std::optional<MsdaConfig> spelt = msda_config_of_shape(text)) return *std::move(spelt);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(text, ignored))
      throw UnknownName(name, text, closest_name(text, names), joined(names) + ", or a file");
    const std::vector<MsdaConfig> own = read_msda_configs(read_text(name, text, kMaxCatalogBytes), text);
    if (own.size() != 1)
      throw MalformedData(text, std::to_string(own.size()) + " configurations", "exactly one");
    return own.front();
  }
  static bool to_json(const MsdaConfig& config, Json& out) {
    put_text(config.name, out);
    return true;
  }
};

/// One order, or `all`.
template <>
struct OptionValue<std::vector<QueryOrder>> {
  static constexpr int kMaxValues = 1;
  static std::string choices() { return "all " + joined(names_of<QueryOrder>(), " "); }
  static std::vector<QueryOrder> from_words(const std::string& name, const std::vector<std::string>& words,
                                            const About&) {
    require_choice(name, words.front(), choices());
    if (words.front() == "all") return values_of<QueryOrder>();
    return {parse_name<QueryOrder>(words.front(), name)};
  }
  static bool to_json(const std::vector<QueryOrder>& orders, Json& out) {
    put_text(orders.size() == 1 ? to_string(orders.front()) : "all", out);
    return true;
  }
};

namespace {

using study::MsdaAnswer;
using study::MsdaQuestion;

struct MsdaFlags {
  MsdaQuestion question;
  CatalogFiles files;
  OutputFlags output;
};

Options<MsdaFlags> msda_rows() {
  Options<MsdaFlags> rows;
  rows.include(options_of<MsdaQuestion>(), &MsdaFlags::question);
  rows.include(device_file_rows(), &MsdaFlags::files);
  rows.include(picture_rows(report::msda_pictures()), &MsdaFlags::output);
  rows.include(conclusion_rows(), &MsdaFlags::output);
  rows.include(estimate_rows(), &MsdaFlags::output);
  return rows.include(output_rows(), &MsdaFlags::output);
}

void require_answerable(const MsdaFlags& flags) {
  if (flags.question.config.name.empty())
    throw InvalidParameter("workload", "none",
                           "--workload with a name that natten-sim msda --help lists, or a JSON file");
}

report::Rows order_rows(const MsdaAnswer& answer) {
  const std::vector<Json> rows = report::msda_order_rows(answer);
  return {rows.front(), rows, {"order", "time_ns", "l2_hit_rate", "l2_misses", "bytes"}};
}

AnswerBody render(const MsdaFlags& flags, const MsdaAnswer& answer, const study::Context& context) {
  std::optional<report::Closing> closing;
  if (flags.output.conclusion && !flags.output.csv)
    closing = report::closing_of(answer, study::conclude(answer, context));
  if (flags.output.json) {
    report::Json result = report::msda_fields(answer);
    report::add_closing(closing, result);
    return JsonAnswer("msda", options_of<MsdaQuestion>().echo(answer.question), std::move(result));
  }
  if (!flags.output.csv) return report::msda_text(answer) + report::closing_text(closing);
  return order_rows(answer);
}

int run_msda(const MsdaFlags& flags, Reply& reply) {
  require_answerable(flags);
  study::Context context = make_context(flags.files);
  const Notes notes(flags.output);
  ProgressBar bar("sampling", notes.quiet());
  context.progress = bar.callback();
  MsdaQuestion question = flags.question;
  question.details = {.addresses = !flags.output.csv, .remedies = !flags.output.csv || flags.output.picture};
  if (answered_by_estimate(flags.output, reply, "msda", options_of<MsdaQuestion>().echo(question),
                           study::estimate(question, context)))
    return kExitDone;
  const MsdaAnswer answer = study::msda(question, context);
  bar.clear();
  if (const std::optional<std::string> note = report::borrowed_note(answer)) notes.note(*note);
  put_answer(flags.output, reply, render(flags, answer, context),
             {drawn(flags.output, report::msda_pictures(), answer, context),
              tabled(flags.output, [&] { return order_rows(answer); })});
  return kExitDone;
}

}  // namespace

Command msda_command();
Command msda_command() {
  Command command{.name = "msda",
                  .position = 60,
                  .summary = "Predict multi-scale deformable attention: traffic, contention, time, memory"};
  command.notes = "Configurations of --workload (or a JSON file with one):\n";
  for (const MsdaConfig& config : builtin_msda_configs()) command.notes += "  " + config.name + "\n";
  command.group = kQuestionCommands;
  command.examples = {"natten-sim msda --workload B4_800x1333_d256_L4 --phase forward --tiling point",
                      "natten-sim msda --workload B2_1536x2048_d256_L4_enc --phase backward --device a100-40gb --accumulator fp32",
                      "natten-sim msda --workload B4_800x1333_d256_L4 --order all --json"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  command.result_schema = report::msda_schema;
  bind(command, msda_rows().essentials({"workload", "phase", "dtype", "update", "order", "device", "json"}), run_msda);
  return command;
}

}  // namespace natten_sim::cli
