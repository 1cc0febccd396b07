#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::report {

/// A kind of picture of an answer: what `--picture` draws, and `--picture-kind` and Python's svg() name.
///
///     const PictureKinds<MsdaAnswer> kKinds = {
///         {.name = "roofline", .what = "the pass under the roofline", .draw = draw_roofline},
///         {.name = "remedies", .what = "the remedies as bars", .draw = draw_remedies, .fits = is_backward,
///          .needs = "a backward pass"}};
///     Picture picture = picture_kind(kKinds, answer, {}).draw(answer, context);  // the first that fits
template <typename A>
struct PictureKind {
  std::string name;
  std::string what;  ///< in help, after "Draw"
  draw::Picture (*draw)(const A& answer, const study::Context& context) = nullptr;
  bool (*fits)(const A& answer) = [](const A&) { return true; };
  std::string needs = {};  ///< what an answer that it does not fit lacks
};

/// The first that fits an answer is drawn unless another is named.
template <typename A>
using PictureKinds = std::vector<PictureKind<A>>;

/// The kind of this name, or, without a name, the first that fits. @throws InvalidParameter unless one fits
template <typename A>
[[nodiscard]] const PictureKind<A>& picture_kind(const PictureKinds<A>& kinds, const A& answer,
                                                 const std::optional<std::string>& name) {
  std::string names;
  for (const PictureKind<A>& kind : kinds) {
    names += (names.empty() ? "" : " or ") + kind.name;
    if (name && kind.name != *name) continue;
    if (kind.fits(answer)) return kind;
    if (name || &kind == &kinds.back()) throw InvalidParameter("picture", kind.name, kind.needs);
  }
  throw InvalidParameter("picture", *name, names);
}

}  // namespace natten_sim::report
