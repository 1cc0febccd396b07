#include <filesystem>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/msda_report.hpp>
#include <natten_sim/report/scatter_picture.hpp>
#include <natten_sim/study/msda.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"

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
  std::optional<std::string> svg_roofline, svg_histogram, svg_remedies;
  OutputFlags output;
};

Options<MsdaConfig> config_keys() {
  Options<MsdaConfig> rows;
  rows.add_key("batch", &MsdaConfig::batch, {.range = {1, kMaxBatch}});
  rows.add_key("height", &MsdaConfig::height);
  rows.add_key("width", &MsdaConfig::width);
  rows.add_key("strides", &MsdaConfig::strides);
  rows.add_key("channels", &MsdaConfig::channels);
  rows.add_key("heads", &MsdaConfig::heads, {.range = {1, kMaxHeads}});
  rows.add_key("points", &MsdaConfig::points);
  rows.add_key("queries", &MsdaConfig::queries, {.range = {.lo = 0}});
  return rows;
}

bool is_no_toml(const std::string& value) { return !value.ends_with(".toml"); }

std::vector<std::string> config_names() {
  std::vector<std::string> names;
  for (const MsdaConfig& config : builtin_msda_configs()) names.push_back(config.name);
  return names;
}

Options<MsdaQuestion> msda_question_rows() {
  constexpr const char* kTypes = "bf16 fp16 fp32";
  Options<MsdaQuestion> rows;
  rows.add("--workload", &MsdaQuestion::config,
           {.value = "NAME",
            .help = "Configuration, a shape as B3_640x960_d256_L3_h8_p6_q900, or a JSON file",
            .key = "config",
            .spellings = {{.flag = "--config", .old = true, .with = is_no_toml}},
            .suggestions = config_names});
  rows.include(config_keys(), &MsdaQuestion::config);
  rows.add("--phase", &MsdaQuestion::phase, {.value = "PHASE", .help = "forward or backward [default]"});
  rows.add("--tiling", &MsdaQuestion::tiling,
           {.value = "KIND",
            .help = "block: a program takes all points of a query; point: one (query, head, level, point) "
                    "[default]"});
  rows.add("--dtype", &MsdaQuestion::dtype,
           {.value = "TYPE",
            .help = "Type of the tensors [fp16 with an fp16 accumulator, else bf16]",
            .choices = kTypes});
  rows.add("--accumulator", &MsdaQuestion::accumulator,
           {.value = "TYPE",
            .help = "Type in which gradients of the value are added up: the tensors', or fp32 [the tensors']",
            .choices = kTypes});
  rows.add("--construct", &MsdaQuestion::construct,
           {.value = "NAME",
            .help = "What adds gradients of the value, of the lowering table [msda-triton-block]",
            .choices = joined(study::scatter_constructs(), " "),
            .echo = Echo::kWhenSet});
  rows.add(
      "--update", &MsdaQuestion::update,
      {.value = "NAME",
       .help = "How this project's kernels add gradients of the value [as construct and accumulator say]",
       .echo = Echo::kWhenSet});
  rows.add("--order", &MsdaQuestion::orders,
           {.value = "NAME", .help = "Dispatch order of the queries, or all of them [default]"});
  rows.add("--device", &MsdaQuestion::device,
           {.value = "NAME",
            .help = "Device with measured contention (see list devices) [default]",
            .suggestions = device_names});
  rows.add("--offsets", path(&MsdaQuestion::sampling, &MsdaSampling::offsets),
           {.value = "KIND",
            .help = "Distribution of the samples: uniform, gaussian, learned or image (anywhere) [default]"});
  rows.add("--spread", path(&MsdaQuestion::sampling, &MsdaSampling::spread),
           {.value = "PIXELS",
            .help = "Half edge (uniform) or standard deviation of the offsets, 0..1000000 [default]",
            .interval = {0, 1e6},
            .accepted = "0..1000000 pixels"});
  rows.add("--seed", path(&MsdaQuestion::sampling, &MsdaSampling::seed),
           {.value = "K",
            .help = "Seed of reference points and offsets [default]",
            .range = {0, std::int64_t{1} << 62}});
  rows.add("--l2-bytes", &MsdaQuestion::l2_bytes,
           {.value = "N",
            .help = "Capacity of the L2 [the device's]",
            .range = {0, std::int64_t{1} << 40},
            .echo = Echo::kWhenSet});
  return rows;
}

Options<MsdaFlags> msda_rows() {
  Options<MsdaFlags> rows;
  rows.include(msda_question_rows(), &MsdaFlags::question);
  rows.group("Problem");
  rows.include(device_file_rows(), &MsdaFlags::files);
  rows.add("--svg-roofline", &MsdaFlags::svg_roofline,
           {.value = "FILE", .help = "Draw the roofline", .echo = Echo::kNever});
  rows.add("--svg-histogram", &MsdaFlags::svg_histogram,
           {.value = "FILE",
            .help = "Draw the collision histogram of the gradient updates",
            .echo = Echo::kNever});
  rows.add("--svg-remedies", &MsdaFlags::svg_remedies,
           {.value = "FILE", .help = "Draw the remedies of a backward pass as bars", .echo = Echo::kNever});
  rows.group("Pictures");
  rows.include(conclusion_rows(), &MsdaFlags::output);
  return rows.include(output_rows(), &MsdaFlags::output);
}

void require_answerable(const MsdaFlags& flags) {
  if (flags.question.config.name.empty())
    throw InvalidParameter("workload", "none",
                           "--workload with a name that natten-sim msda --help lists, or a JSON file");
  if (flags.svg_remedies && flags.question.phase == MsdaPhase::kForward)
    throw InvalidParameter("svg-remedies", "with --phase forward",
                           "--phase backward: a forward pass adds nothing");
}

AnswerBody render(const MsdaFlags& flags, const MsdaAnswer& answer, const study::Context& context) {
  std::optional<report::Closing> closing;
  if (flags.output.conclusion && !flags.output.csv)
    closing = report::closing_of(answer, study::conclude(answer, context));
  if (flags.output.json) {
    report::Json result = report::msda_fields(answer);
    report::add_closing(closing, result);
    return JsonAnswer("msda", msda_question_rows().echo(answer.question), std::move(result));
  }
  if (!flags.output.csv) return report::msda_text(answer) + report::closing_text(closing);
  const std::vector<Json> rows = report::msda_order_rows(answer);
  return report::csv_table(rows.front(), rows);
}

void write_pictures(const MsdaFlags& flags, const MsdaAnswer& answer) {
  const study::MsdaPass& pass = answer.passes.front();
  const std::string& name = answer.question.config.name;
  if (flags.svg_roofline) write_picture(*flags.svg_roofline, report::msda_roofline(answer));
  if (flags.svg_histogram)
    write_picture(*flags.svg_histogram, report::collision_picture(pass.traffic.collisions, name));
  if (flags.svg_remedies)
    write_picture(*flags.svg_remedies, report::remedies_picture(*pass.updates->remedies, name));
}

int run_msda(const MsdaFlags& flags, Reply& reply) {
  require_answerable(flags);
  study::Context context = make_context(flags.files);
  const Notes notes(flags.output);
  ProgressBar bar("sampling", notes.quiet());
  context.progress = bar.callback();
  MsdaQuestion question = flags.question;
  question.details = {.addresses = !flags.output.csv, .remedies = !flags.output.csv || flags.svg_remedies};
  const MsdaAnswer answer = study::msda(question, context);
  bar.clear();
  if (const std::optional<std::string> note = report::borrowed_note(answer)) notes.note(*note);
  AnswerBody body = render(flags, answer, context);
  AnswerSink sink(flags.output, reply);  // before the pictures: may be refused
  write_pictures(flags, answer);
  sink.put(std::move(body));
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
  bind(command, msda_rows().essentials({"workload", "phase", "dtype", "update", "order", "device", "json"}), run_msda);
  return command;
}

}  // namespace natten_sim::cli
