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

/// "fig. 4.5" and "tab 4.2", in lower case, as works write them.
std::string spelled_out(const std::string& name) {
  for (const auto& [brief, full] : {std::pair{"fig", "figure"}, std::pair{"tab", "table"}}) {
    for (const char* end : {". ", " ", "."}) {
      const std::string begin = std::string(brief) + end;
      if (name.starts_with(begin)) return std::string(full) + " " + name.substr(begin.size());
    }
  }
  return name;
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
  throw UnknownName("reproduce", std::string(name), hinted_work(name, names), joined(names) + ", or all");
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
  const std::string wanted = spelled_out(lower(name));
  const auto same = std::find_if(figures.begin(), figures.end(),
                                 [&](const std::string& figure) { return lower(figure) == wanted; });
  if (same != figures.end()) return *same;
  const auto ends_so = [&](const std::string& figure) { return lower(figure).ends_with(" " + wanted); };
  if (std::count_if(figures.begin(), figures.end(), ends_so) == 1)
    return *std::find_if(figures.begin(), figures.end(), ends_so);
  throw UnknownName("figure", name, closest_name(name, figures), joined(figures));
}

std::vector<PublishedRow> rows_of_figure(const std::vector<PublishedRow>& rows, const std::string& name) {
  const std::string wanted = figure_named(name, figures_of(rows));
  std::vector<PublishedRow> found;
  for (const PublishedRow& row : rows)
    if (row.figure == wanted) found.push_back(row);
  return found;
}

}  // namespace natten_sim::validate
