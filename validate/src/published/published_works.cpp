#include <algorithm>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/validate/published/published_work.hpp>

#include "published/measured_beside.hpp"

namespace natten_sim::validate {
namespace works {

std::vector<PublishedWork> built_in_works();  // written by CMake: one entry a file of works/

}  // namespace works

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
    if (work.name == name) return work;
    names.push_back(work.name);
  }
  throw UnknownName("reproduce", std::string(name), closest_name(name, names), joined(names));
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

std::vector<PublishedRow> rows_of_figure(const std::vector<PublishedRow>& rows, const std::string& figure) {
  const std::vector<std::string> figures = figures_of(rows);
  std::string wanted = figure;
  if (std::find(figures.begin(), figures.end(), figure) == figures.end()) {
    const auto ends_so = [&](const std::string& name) { return name.ends_with(" " + figure); };
    if (std::count_if(figures.begin(), figures.end(), ends_so) == 1)
      wanted = *std::find_if(figures.begin(), figures.end(), ends_so);
  }
  std::vector<PublishedRow> found;
  for (const PublishedRow& row : rows)
    if (row.figure == wanted) found.push_back(row);
  if (found.empty()) throw UnknownName("figure", figure, closest_name(figure, figures), joined(figures));
  return found;
}

}  // namespace natten_sim::validate
