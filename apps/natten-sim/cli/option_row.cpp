#include "cli/option_row.hpp"

#include <algorithm>
#include <stdexcept>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim::cli {

void* Place::in(void* question) const {
  for (const Step& step : steps_) question = step.in(step.access.data(), question);
  return question;
}

Place Place::within(const Place& part) const {
  std::vector<Step> steps = part.steps_;
  steps.insert(steps.end(), steps_.begin(), steps_.end());
  return Place(std::move(steps));
}

OptionRow make_row(const std::string& flags, const About& about, std::shared_ptr<const ValueKind> kind,
                   Place place, FreshQuestion fresh) {
  OptionRow row{.spec = spec_of(flags, about, kind->max_values(),
                                about.choices.empty() ? kind->choices() : about.choices),
                .about = about,
                .kind = std::move(kind),
                .place = place,
                .otherwise = {fresh, place}};
  row.name = row.spec.name();
  row.spec.other_choices = row.kind->other_choices();
  row.spec.range = row.kind->range(about);
  row.spec.text = row.kind->text();
  row.spec.may_be_empty = row.kind->may_be_empty();
  row.spec.help = with_default(row.spec.help, [&](Json& out) {
    const std::shared_ptr<void> question = fresh();
    return row.kind->write_json(row.place.in(question.get()), out);
  });
  return row;
}

OptionRow make_choice(const std::string& flags, const About& about, std::shared_ptr<const ValueKind> kind,
                      Place place) {
  OptionRow row{.spec = spec_of(flags, about, kind->max_values(), about.choices),
                .about = about,
                .kind = std::move(kind),
                .place = std::move(place)};
  row.name = row.spec.name();
  return row;
}

void OptionRow::require_number(const std::string& spelled, const Json& given) const {
  const std::size_t values = number_of_values(given);
  const auto most = static_cast<std::size_t>(spec.max_values);
  // How many axes there may be, the types say.
  if (values > 0 && (values <= most || (most > 1 && values <= kMostWords))) return;
  if (values == 0 && spec.may_be_empty) return;
  throw InvalidParameter(spelled, std::to_string(values) + " values",
                         most == 1 ? "one value" : "1 to " + std::to_string(most) + " values");
}

void OptionRow::read_json_at(void* value, const std::string& spelled, const Json& given) const {
  if (!given.is_null()) {
    require_number(spelled, given);
    return kind->read_json(spelled, given, about, value);
  }
  if (otherwise.fresh == nullptr) return;
  const std::shared_ptr<void> question = otherwise.fresh();
  kind->copy(otherwise.place.in(question.get()), value);
}

OptionRow row_within(const OptionRow& row, const Place& part) {
  OptionRow result = row;
  result.place = row.place.within(part);
  return result;
}

Json OptionRows::input_schema() const {
  Json properties = Json::object();
  for (const OptionRow& row : rows_) {
    if (row.about.echo != Echo::kNever)
      put_member(properties, row.spec.key, row.kind->schema(row.about, row.spec.help));
  }
  return object_schema(std::move(properties));
}

Json OptionRows::echo_of(void* question) const {
  Json object = Json::object();
  for (const OptionRow& row : rows_) {
    if (row.about.echo == Echo::kNever) continue;
    echo_value(
        row.spec.key, row.about.echo,
        [&](Json& out) { return row.kind->write_json(row.place.in(question), out); }, object);
  }
  return object;
}

std::vector<OptionRow> OptionRows::rows_of(const std::vector<std::string>& keys) const {
  std::vector<OptionRow> some;
  for (const OptionRow& row : rows_) {
    if (std::find(keys.begin(), keys.end(), row.spec.key) != keys.end()) some.push_back(row);
  }
  if (some.size() < keys.size()) throw std::logic_error("a key that no row has is among " + joined(keys));
  return some;
}

void OptionRows::set_group(const std::string& title) {
  for (OptionRow& row : rows_) {
    if (row.spec.group.empty()) row.spec.group = title;
  }
}

void OptionRows::set_essentials(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const OptionRow& each) {
      return !each.spec.flags.empty() && each.spec.name() == name;
    });
    if (row == rows_.end()) throw std::logic_error("no option is named " + name);
    row->spec.essential = true;
  }
}

namespace {

/// Descriptions name members, other rows options: the option of either name, `head-dim` and `dim`.
std::string option_named(const std::vector<OptionRow>& rows, const std::string& name) {
  std::string option = name, key = name;
  std::replace(option.begin(), option.end(), '_', '-');
  std::replace(key.begin(), key.end(), '-', '_');
  const auto named = [&](const OptionRow& row) { return row.name == option; };
  if (std::any_of(rows.begin(), rows.end(), named)) return option;
  const auto keyed = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& row) {
    return row.spec.key == key && !row.spec.flags.empty();
  });
  return keyed == rows.end() ? option : keyed->name;
}

void name_options(const std::vector<OptionRow>& rows, OptionSpec& spec) {
  for (std::string& other : spec.excludes) other = option_named(rows, other);
  for (std::string& other : spec.rules_out.options) other = option_named(rows, other);
  for (std::string& other : spec.needs) other = option_named(rows, other);
}

}  // namespace

std::shared_ptr<const std::vector<OptionRow>> declare_rows(Command& command, OptionRows options) {
  if (!command.input_schema) command.input_schema = [options] { return options.input_schema(); };
  auto rows = std::make_shared<std::vector<OptionRow>>(std::move(options).rows());
  const auto rank = [](const OptionRow& row) { return row.spec.flags.empty() ? 2 : row.positional ? 1 : 0; };
  std::stable_sort(rows->begin(), rows->end(),
                   [&](const OptionRow& a, const OptionRow& b) { return rank(a) < rank(b); });
  for (OptionRow& row : *rows) name_options(*rows, row.spec);
  for (const OptionRow& row : *rows) {
    if (!row.positional) {
      (row.spec.flags.empty() ? command.keys : command.options).push_back(row.spec);
      continue;
    }
    command.positional = row.spec.name();
    command.positional_keys = row.spec.keys();
    command.positional_help = row.spec.help;
    command.positional_choices = row.spec.choices;
    command.positional_suggestions = row.spec.suggestions;
    command.max_positional = row.spec.max_values;
  }
  return rows;
}

}  // namespace natten_sim::cli
