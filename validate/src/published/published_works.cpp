#include <algorithm>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/validate/published/published_work.hpp>

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

}  // namespace natten_sim::validate
