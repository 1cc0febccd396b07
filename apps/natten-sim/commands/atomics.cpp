#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/scatter_picture.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/study/scatter.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "commands/rows/row_source.hpp"

namespace natten_sim::cli {

/// `auto` is the construct's own path.
template <>
struct OptionValue<std::optional<InstructionPath>> {
  static constexpr int kMaxValues = 1;
  static std::string choices() { return "auto " + joined(names_of<InstructionPath>(), " "); }
  static std::optional<InstructionPath> from_words(const std::string& name,
                                                   const std::vector<std::string>& words, const About&) {
    require_choice(name, words.front(), choices());
    if (words.front() == "auto") return std::nullopt;
    return parse_name<InstructionPath>(words.front(), name);
  }
  static bool to_json(std::optional<InstructionPath> path, Json& out) {
    put_text(path ? to_string(*path) : "auto", out);
    return true;
  }
};

namespace {

using study::ScatterAnswer;
using study::ScatterQuestion;

struct AtomicsFlags {
  ScatterQuestion question;
  CatalogFiles files;
  std::optional<std::string> svg_histogram, svg_remedies;
  OutputFlags output;
};

Options<ScatterQuestion> scatter_rows() {
  Options<ScatterQuestion> rows;
  rows.add(
      "--updates", &ScatterQuestion::updates,
      {.value = "N",
       .help = fmt::format("Rows that are added [{}; with a file, all its rows]", study::kGeneratedUpdates),
       .range = {0, kMaxUpdates}});
  rows.add("--rows", &ScatterQuestion::rows,
           {.value = "M", .help = "Rows of the destination [default]", .range = {1, kMaxRows}});
  rows.add("--width", &ScatterQuestion::width,
           {.value = "D", .help = "Elements of a row [default]", .range = {1, 1 << 20}});
  rows.add("--distribution", &ScatterQuestion::source,
           {.value = "KIND",
            .help = "uniform, zipf:S (row k with probability ~ 1/k^S), hot:K (evenly over K rows in distinct "
                    "sectors) or file:PATH (.npy, .csv, .txt, else raw 64-bit integers; 1 to 2^32 - 1 rows) "
                    "[default]"});
  rows.add("--dtype", &ScatterQuestion::dtype,
           {.value = "TYPE", .help = "Element type [default]", .choices = "fp32 fp16 bf16"});
  rows.add(
      "--path", &ScatterQuestion::path,
      {.value = "PATH",
       .help = "Instruction that the hardware executes; auto: the one that the construct becomes [default]"});
  rows.add("--construct", &ScatterQuestion::construct,
           {.value = "NAME",
            .help = "Source construct or operator of the lowering table [default]",
            .choices = joined(study::scatter_constructs(), " ")});
  rows.add("--device", &ScatterQuestion::device,
           {.value = "NAME",
            .help = "Device with measured contention (see list devices) [default]",
            .suggestions = device_names});
  rows.add(
      "--seed", &ScatterQuestion::seed,
      {.value = "K", .help = "Seed of the generated rows [default]", .range = {0, std::int64_t{1} << 62}});
  rows.add("--prior-runs", &ScatterQuestion::prior_runs,
           {.value = "R",
            .help = "Equal runs that have added to the destination since it was zero [default]",
            .range = {0, 1 << 20}});
  rows.add("--values", &ScatterQuestion::values,
           {.value = "KIND",
            .help = "Values that are added: normal, or constant (ones, which saturate half-precision sums) "
                    "[default]"});
  return rows;
}

Options<AtomicsFlags> atomics_rows() {
  Options<AtomicsFlags> rows;
  rows.include(scatter_rows(), &AtomicsFlags::question);
  rows.group("Problem");
  rows.include(device_file_rows(), &AtomicsFlags::files);
  rows.add("--svg-histogram", &AtomicsFlags::svg_histogram,
           {.value = "FILE", .help = "Draw the collision histogram", .echo = Echo::kNever});
  rows.add("--svg-remedies", &AtomicsFlags::svg_remedies,
           {.value = "FILE", .help = "Draw the remedies as bars", .echo = Echo::kNever});
  rows.group("Pictures");
  rows.include(conclusion_rows(), &AtomicsFlags::output);
  return rows.include(output_rows(), &AtomicsFlags::output);
}

AnswerBody render_any(const AtomicsFlags& flags, const ScatterAnswer& answer) {
  std::optional<report::Closing> closing;
  if (flags.output.conclusion && !flags.output.csv) closing = report::closing_of(answer);
  if (flags.output.json) {
    report::Json result = report::scatter_fields(answer);
    report::add_closing(closing, result);
    return JsonAnswer("atomics", scatter_rows().echo(answer.question), std::move(result));
  }
  if (!flags.output.csv) return report::scatter_text(answer) + report::closing_text(closing);
  const std::vector<Json> rows = report::remedy_rows(*answer.cost.remedies);
  return report::csv_table(rows.front(), rows);
}

AnswerBody render(const AtomicsFlags& flags, const ScatterAnswer& answer) {
  if constexpr (kJsonAlone) {
    return JsonAnswer("atomics", scatter_rows().echo(answer.question), report::scatter_fields(answer));
  } else {
    return render_any(flags, answer);
  }
}

void write_pictures(const AtomicsFlags& flags, const ScatterAnswer& answer) {
  const std::string title = report::scatter_title(answer);
  if (flags.svg_histogram) write_picture(*flags.svg_histogram, report::collision_picture(answer.collisions, title));
  if (flags.svg_remedies) write_picture(*flags.svg_remedies, report::remedies_picture(*answer.cost.remedies, title));
}

int run_atomics(const AtomicsFlags& flags, Reply& reply) {
  study::Context context = make_context(flags.files);
  const Notes notes(flags.output);
  ProgressBar bar("counting", notes.quiet());
  context.progress = bar.callback();
  ScatterQuestion question = flags.question;
  question.details = {.addresses = !flags.output.csv, .remedies = true, .calibration = !flags.output.csv};
  const ScatterAnswer answer = study::scatter(question, context);
  bar.clear();
  AnswerBody body = render(flags, answer);
  if (const std::optional<std::string> note = report::saturation_note(answer)) notes.note(*note);
  AnswerSink sink(flags.output, reply);  // before the pictures: may be refused
  if constexpr (!kJsonAlone) write_pictures(flags, answer);
  sink.put(std::move(body));
  return kExitDone;
}

}  // namespace

Command atomics_command();
Command atomics_command() {
  Command command{.name = "atomics",
                  .position = 50,
                  .summary = "Predict what scattered atomic additions cost, and rank the remedies"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim atomics --updates 262144 --rows 32768 --width 256 --distribution zipf:1.5 --dtype bf16",
                      "natten-sim atomics --distribution hot:4 --dtype fp32 --device a100-40gb --json",
                      "natten-sim atomics --distribution file:index.npy --rows 100000 --svg-histogram collisions.svg"};
  command.notes =
      "When you measure, add values that keep changing the sum. A constant saturates a half-precision word (in "
      "bf16, 256 + 1 = 256); the compare-and-swap then succeeds without retries, and the kernel looks fast.";
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  bind(command, atomics_rows().essentials({"updates", "rows", "width", "distribution", "dtype", "construct", "device", "json"}), run_atomics);
  return command;
}

}  // namespace natten_sim::cli
