#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/registry.hpp>
#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/reuse_picture.hpp>

#include "reuse_pictures.hpp"

namespace natten_sim::report {
namespace pictures {

using study::ReuseAnswer;
using study::ReuseComparison;
using study::ReuseResult;

std::vector<ReusePicture> built_in_pictures();  // written by CMake: one entry a file of reuse_pictures/

void require_points(bool any) {
  if (!any)
    throw InvalidParameter("picture", "nothing to draw", "a fidelity that gives these numbers, such as lru");
}

std::vector<const ReuseResult*> results_of(const ReuseComparison& comparison) {
  std::vector<const ReuseResult*> results = {&comparison.first};
  if (comparison.second) results.push_back(&*comparison.second);
  return results;
}

std::vector<draw::Mark> capacity_mark(const ReuseAnswer& answer) {
  if (!answer.question.capacity_bytes) return {};
  const auto bytes = static_cast<double>(*answer.question.capacity_bytes);
  const std::string device = answer.device ? answer.device->name + ": " : std::string();
  return {{.at = bytes, .label = device + draw::number_text(bytes, draw::Unit::kBytes)}};
}

}  // namespace pictures

namespace {

Registry<ReusePicture>& picture_registry() {
  static Registry<ReusePicture> registry("picture", pictures::built_in_pictures());
  return registry;
}

}  // namespace

const std::vector<const ReusePicture*>& reuse_pictures() { return picture_registry().sorted(); }
const ReusePicture& reuse_picture(const std::string& name) { return picture_registry().find(name); }
const ReusePicture& add_reuse_picture(ReusePicture picture) {
  return picture_registry().add(std::move(picture));
}

const ReusePicture& default_reuse_picture(bool of_sweep) {
  const std::vector<const ReusePicture*>& all = reuse_pictures();
  return **std::find_if(all.begin(), all.end(),
                        [&](const ReusePicture* picture) { return picture->of_sweep == of_sweep; });
}

}  // namespace natten_sim::report
