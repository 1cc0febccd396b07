#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/msda_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/msda.hpp>

#include "described.hpp"
#include "studies.hpp"
#include "study.hpp"
#include "text_file.hpp"

namespace natten_sim::python {

/// A name, a JSON file with one configuration, or a dict of its members.
template <>
struct PythonValue<MsdaConfig> {
  using Echoed = std::string;
  static constexpr const char* kAlso =
      ", or a dict with name, batch, height, width, strides, channels, heads, points, queries and source";
  static std::string hint() { return "str | collections.abc.Mapping[str, typing.Any]"; }
  static MsdaConfig read(const std::string& name, nb::handle value, const Accepts&) {
    if (nb::isinstance<nb::dict>(value)) {
      const MsdaConfig defaults;
      Json members = {{"name", "own"},           {"batch", defaults.batch},   {"channels", defaults.channels},
                      {"heads", defaults.heads}, {"points", defaults.points}, {"queries", defaults.queries},
                      {"source", "the caller"}};
      members.update(to_json_value(name, value));
      const Json file = {{"schema", "natten-sim.msda-configs/1"}, {"configs", Json::array({members})}};
      return one_of(read_msda_configs(json_text(file), name), name);
    }
    const std::string text = text_of(name, value, "the name of a configuration, a file or a dict");
    std::vector<std::string> names;
    for (const MsdaConfig& config : builtin_msda_configs()) {
      if (config.name == text) return config;
      names.push_back(config.name);
    }
    if (!text.ends_with(".json"))
      throw UnknownName(name, text, closest_name(text, names), joined(names) + ", or a .json file");
    return one_of(read_msda_configs(read_text_file(name, text), text), text);
  }
  static bool write(const MsdaConfig& config, Json& out) {
    out = config.name;
    return true;
  }

 private:
  static MsdaConfig one_of(const std::vector<MsdaConfig>& configs, const std::string& where) {
    if (configs.size() != 1)
      throw MalformedData(where, std::to_string(configs.size()) + " configurations", "exactly one");
    return configs.front();
  }
};

namespace {

using study::MsdaAnswer;
using study::MsdaQuestion;

}  // namespace

/// One order, or `all`.
template <>
struct PythonValue<std::vector<QueryOrder>> {
  using Echoed = std::string;
  static std::string hint() {
    return "typing.Literal['all', '" + joined(names_of<QueryOrder>(), "', '") + "']";
  }
  static std::vector<QueryOrder> read(const std::string& name, nb::handle value, const Accepts&) {
    const std::string order = text_of(name, value, "all, " + joined(names_of<QueryOrder>()));
    if (order == "all") return values_of<QueryOrder>();
    return {parse_name<QueryOrder>(order, name)};
  }
  static bool write(const std::vector<QueryOrder>& orders, Json& out) {
    out = orders.size() == 1 ? to_string(orders.front()) : "all";
    return true;
  }
};

namespace {

MsdaAnswer answer_msda(const MsdaQuestion& question, const study::Context& context) {
  if (question.config.name.empty())
    throw InvalidParameter("config", "none", "a configuration by name, file or dict");
  MsdaQuestion full = question;
  full.details = {.addresses = true, .remedies = true};
  return study::msda(full, context);
}

/// The last two of a backward pass, which adds something.
void bind_msda(nb::module_& module) {
  bind(module,
       Study<MsdaQuestion, MsdaAnswer>{
           .function = "msda",
           .type = "Msda",
           .schema = "msda",
           .doc =
               "Predict one pass of multi-scale deformable attention: traffic, contention, time, memory.\n\n"
               "Times are nanoseconds.",
           .returns = "bytes to and from DRAM, FLOPs, `time_ns` and what bounds it, of a backward pass also "
                      "collisions and "
                      "`remedies`;\n    of all orders, `orders` has one record each.",
           .source = "Khan, TiledAttention (arXiv 2603.01960), sections 5 and 6; docs/msda.md.",
           .duration = Duration::kLong,
           .keywords = keywords_of<MsdaQuestion>(),
           .answer = answer_msda,
           .input = [](const Keywords<MsdaQuestion>& rows,
                       const MsdaAnswer& answer) { return rows.echo(answer.question); },
           .result = [](const MsdaAnswer& answer,
                        const study::Context&) { return report::msda_fields(answer); },
           .result_schema = report::msda_schema,
           .text = [](const MsdaAnswer& answer, const study::Context&) { return report::msda_text(answer); },
           .csv =
               [](const MsdaAnswer& answer, const study::Context&, const Json&) {
                 const std::vector<Json> orders = report::msda_order_rows(answer);
                 return report::csv_table(orders.front(), orders);
               },
           .pictures = [](const MsdaAnswer& answer) { return pictures_of(report::msda_pictures(), answer); },
           .closing = [](const MsdaAnswer& answer,
                         const study::Context& context) -> std::optional<report::Closing> {
             return report::closing_of(answer, study::conclude(answer, context));
           }});
}

}  // namespace

StudyBinder msda_study();
StudyBinder msda_study() { return bind_msda; }

}  // namespace natten_sim::python
