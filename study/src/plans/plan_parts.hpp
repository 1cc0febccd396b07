#pragma once

#include <natten_sim/study/plan.hpp>

namespace natten_sim::study {

/// Null: none.
[[nodiscard]] const ModelShape* shape_of(const std::string& preset, const ModelShapes& shapes);

/// The sparse attention of the whole layout on one GPU: window, stride and tiles of the passes asked for.
/// `question` is resolved. @throws InvalidParameter when nothing is timed there.
[[nodiscard]] CountQuestion sparse_attention(const PlanQuestion& question, const Context& context);

/// The same without a window, by `kernel`; a forward pass alone unless `pass` is the backward one.
[[nodiscard]] CountQuestion dense_attention(const PlanQuestion& question, const std::string& kernel, Walk pass);

/// The dense kernel that the time of a pass is held against; where there is none, the pass' own, which then runs
/// without a mask. @throws InvalidParameter when the pass has no time.
[[nodiscard]] std::string dense_kernel_of(const std::optional<TimeAnswer>& pass, const std::string& own_kernel);

/// Milliseconds of a pass. @throws InvalidParameter when it has no time.
[[nodiscard]] Bounded time_of_pass(const std::optional<TimeAnswer>& pass);

/// Of one token, all heads and batch elements: K and V; Q and O.
[[nodiscard]] std::int64_t kv_bytes(const Setting& setting);
[[nodiscard]] std::int64_t qo_bytes(const Setting& setting);

/// Bytes that a GPU receives a layer where heads are split: of Q, K, V and O it has one part of the tokens and needs
/// one part of the heads, or the other way round.
[[nodiscard]] std::int64_t head_traffic(const PlanQuestion& question, std::int64_t tokens);
/// Where tokens are split: K and V of `foreign_tokens`.
[[nodiscard]] std::int64_t token_traffic(const PlanQuestion& question, std::int64_t foreign_tokens);

/// Bytes over the link's rate, between the shares of it that transfers reach; the middle of the rates.
[[nodiscard]] Bounded transfer_ms(std::int64_t bytes, const Link& link);

}  // namespace natten_sim::study
