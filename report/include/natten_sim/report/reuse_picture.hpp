#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::report {

/// A picture of `reuse`: what `--picture` draws and `--csv` prints. It is one file:
/// report/src/reuse_pictures/curve.cpp defines `ReusePicture pictures::curve_picture()`. Help and completion
/// read the list. Code outside adds its own before main:
///
///     const report::ReusePicture& kMine = report::add_reuse_picture({.name = "mine", ..});
struct ReusePicture {
  std::string name;  ///< as `--picture` takes it
  int position =
      0;  ///< place in lists, ascending; ties by name. The first that fits the question is the default
  std::string what;                  ///< for help: "of misses over capacities"
  bool of_sweep = false;             ///< over the lengths of a sweep; else of one problem
  study::ReuseDetails details = {};  ///< parts of the answer that it shows
  /// @throws InvalidParameter when the answer has nothing to draw.
  draw::Picture (*draw)(const study::ReuseAnswer& answer) = nullptr;
  std::string (*csv)(const study::ReuseAnswer& answer) = nullptr;  ///< null: the rows of the answer
};

/// In the order of their positions. The pointers stay valid; the list grows with add_reuse_picture.
[[nodiscard]] const std::vector<const ReusePicture*>& reuse_pictures();
/// @throws UnknownName with the closest name.
[[nodiscard]] const ReusePicture& reuse_picture(const std::string& name);
/// The picture that is drawn unless another is named.
[[nodiscard]] const ReusePicture& default_reuse_picture(bool of_sweep);
/// For the rest of the process; call it before main. @throws InvalidParameter on a name that is taken or is
/// no name.
const ReusePicture& add_reuse_picture(ReusePicture picture);

}  // namespace natten_sim::report
