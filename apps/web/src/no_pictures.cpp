#include <vector>

#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/reuse_picture.hpp>

namespace natten_sim::report::pictures {

std::vector<ReusePicture> built_in_pictures();

/// Pages draw by themselves. The names are for the rows of `reuse`, which say which pictures are the
/// defaults.
std::vector<ReusePicture> built_in_pictures() {
  return {{.name = "none", .what = "of one problem"},
          {.name = "no-sweep", .what = "of a sweep", .of_sweep = true}};
}

}  // namespace natten_sim::report::pictures

namespace natten_sim::report {

const PictureKinds<study::ScatterAnswer>& scatter_pictures() {
  static const PictureKinds<study::ScatterAnswer> none = {{.name = "none", .what = "nothing"}};
  return none;
}

}  // namespace natten_sim::report
