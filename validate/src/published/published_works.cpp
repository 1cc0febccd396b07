#include <algorithm>
#include <cctype>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/validate/published/published_work.hpp>

#include "published/measured_beside.hpp"

namespace natten_sim::validate {
namespace works {

std::vector<PublishedWork> built_in_works();  // written by CMake: one entry a file of works/

}  // namespace works

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

bool begins_a_number(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

/// "figure 4.5" and "table 4.2", in lower case, as works write them, for "Fig. 4.5", "fig4.5" and "table-4.2".
std::string spelled_out(std::string_view name) {
  const std::string written = lower(name);
  for (const auto& [begin, full] : {std::pair{"figure", "figure"}, std::pair{"fig", "figure"},
                                    std::pair{"table", "table"}, std::pair{"tab", "table"}}) {
    if (!written.starts_with(begin)) continue;
    const std::size_t number = written.find_first_not_of(" .-", std::string_view(begin).size());
    if (number != std::string::npos && begins_a_number(written.substr(number)))
      return std::string(full) + " " + written.substr(number);
  }
  return written;
}

/// The figures of that name: the one that is called so, those that end so, or, of a number, the figure, the
/// table and the section.
std::vector<std::string> figures_meant(std::string_view name, const std::vector<std::string>& figures) {
  const std::string wanted = spelled_out(name);
  std::vector<std::string> meant;
  for (const std::string& figure : figures) {
    const std::string own = lower(figure);
    if (own == wanted) return {figure};
    const bool ends_so = begins_a_number(wanted)
                             ? own.substr(std::min(own.find(' '), own.size())) == " " + wanted
                             : own.ends_with(" " + wanted);
    if (ends_so && std::find(meant.begin(), meant.end(), figure) == meant.end()) meant.push_back(figure);
  }
  std::stable_partition(meant.begin(), meant.end(),
                        [](const std::string& figure) { return lower(figure).starts_with("figure "); });
  return meant;
}

/// 'figure 4.5', 'table 4.2': names may hold commas.
std::string quoted(std::vector<std::string> names) {
  for (std::string& name : names) name = "'" + name + "'";
  return joined(names);
}

/// "; 'figure 4.5' is one of gna, by the option", where the name is that of a figure; else empty.
std::string figure_instead(std::string_view name) {
  if (!begins_a_number(name) && spelled_out(name) == lower(name)) return "";
  for (const PublishedWork& work : published_works()) {
    const std::vector<std::string> meant = figures_meant(name, work.figures);
    if (!meant.empty()) return "; '" + meant.front() + "' is one of " + work.name + ", by " + mention("figure");
  }
  return "";
}

/// The closest name, or the work in whose title or source the name stands: "dissertation", "Hassani".
std::string hinted_work(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kShortestWord = 4;
  std::string closest = closest_name(name, names);
  if (!closest.empty() || name.size() < kShortestWord) return closest;
  for (const PublishedWork& work : published_works()) {
    if (lower(work.title + " " + work.source).find(lower(name)) != std::string::npos) return work.name;
  }
  return closest;
}

}  // namespace

const std::vector<PublishedWork>& published_works() {
  static const std::vector<PublishedWork> kWorks = [] {
    std::vector<PublishedWork> works = works::built_in_works();
    std::sort(works.begin(), works.end(),
              [](const PublishedWork& a, const PublishedWork& b) { return a.position < b.position; });
    return works;
  }();
  return kWorks;
}

const PublishedWork& published_work(std::string_view name) {
  std::vector<std::string> names;
  for (const PublishedWork& work : published_works()) {
    if (work.name == lower(name)) return work;
    names.push_back(work.name);
  }
  throw UnknownName("reproduce", std::string(name), hinted_work(name, names),
                    joined(names) + ", or all" + figure_instead(name));
}

std::vector<PublishedRow> reproduce_work(const PublishedWork& work, const study::Context& context) {
  std::vector<PublishedRow> rows = work.reproduce(context);
  add_measured_beside(work.name, rows);
  for (PublishedRow& row : rows) {
    row.work = work.name;
    row.source = work.source;
  }
  return rows;
}

std::vector<std::string> figures_of(const std::vector<PublishedRow>& rows) {
  std::vector<std::string> figures;
  for (const PublishedRow& row : rows) {
    if (std::find(figures.begin(), figures.end(), row.figure) == figures.end()) figures.push_back(row.figure);
  }
  return figures;
}

std::string figure_named(const std::string& name, const std::vector<std::string>& figures) {
  const std::vector<std::string> meant = figures_meant(name, figures);
  // A number alone is that of a figure: a table is named.
  const bool number = begins_a_number(name);
  if (meant.size() > 1 && number)
    throw InvalidParameter("figure", "'" + name + "'", quoted(meant) + ": there are several of that number");
  if (meant.size() == 1 && (!number || lower(meant.front()).starts_with("figure "))) return meant.front();
  throw UnknownName("figure", name, meant.empty() ? closest_name(name, figures) : meant.front(),
                    quoted(figures));
}

std::vector<PublishedRow> rows_of_figure(const std::vector<PublishedRow>& rows, const std::string& name) {
  const std::string wanted = figure_named(name, figures_of(rows));
  std::vector<PublishedRow> found;
  for (const PublishedRow& row : rows)
    if (row.figure == wanted) found.push_back(row);
  return found;
}

}  // namespace natten_sim::validate
