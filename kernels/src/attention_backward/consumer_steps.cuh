// A task of a consumer warpgroup, with dQ in halves or in turn: which product is issued when.
#pragma once

#include "attention_backward/consumer.cuh"

namespace natten_sim::kernels::attention_backward {

/// One task, whose Q is there; dQ comes before dK, which runs beside dQ's copy. No product is in flight at
/// the end. Whether the chain goes on, with the task in `raw`.
template <class T>
__device__ __forceinline__ bool Consumer<T>::step() {
  const Task task = unpack(raw);
  const int stage = uniform(stage_of(n));
  std::uint32_t p[kPairs], ds[kPairs];
  arithmetic(task, p, ds);
  store_ds(ds, s.ds[stage]);
  issue_gradient(dv, p, s.d_o[stage]);
  fence_async_shared();
  std::uint32_t q_there = 0, room = 0;
  if constexpr (!T::kWaitsTogether) {
    q_there = barrier_ask(&s.q_full[stage ^ 1], parity_of(n + 1));
    room = barrier_ask(&s.dq_empty[dq_buffer<T>(n)], dq_parity<T>(n) ^ 1);
  }
  const int next = stage ^ 1;
  const bool last = task.has(kLast);
  named_sync(1, 256);
  if constexpr (T::kPipeline == Pipeline::kWaitsApart) {
    if (!last) {
      barrier_wait_unless(q_there, &s.q_full[next], parity_of(n + 1));
      take_next(next);
    }
  }
  float dq[T::kDqParts];
  issue_dq(dq, s.ds[stage]);
  if constexpr (T::kWaitsTogether) {
    if (!last) {
      barriers_wait(&s.q_full[next], parity_of(n + 1), &s.o_full[next], parity_of(n + 1),
                    &s.dq_empty[dq_buffer<T>(n)], dq_parity<T>(n) ^ 1);
    } else {
      barrier_wait(&s.dq_empty[dq_buffer<T>(n)], dq_parity<T>(n) ^ 1);
    }
  }
  issue_gradient(dk, ds, s.q[stage]);
  if constexpr (T::kPipeline == Pipeline::kWaitsLate) {
    if (!last) {
      barrier_wait_unless(q_there, &s.q_full[next], parity_of(n + 1));
      take_next(next);
    }
  }
  if constexpr (!T::kWaitsTogether)
    barrier_wait_unless(room, &s.dq_empty[dq_buffer<T>(n)], dq_parity<T>(n) ^ 1);
  product_wait<1>();
  pin(dv);
  pin(dq);
  arrive(&s.o_empty[stage]);
  copy_dq(dq, dq_buffer<T>(n));
  if (T::kWaitsTogether && !last) take_next(next);
  __syncwarp();
  arrive(&s.dq_full[stage]);
  product_wait<0>();
  pin(dk);
  arrive(&s.q_empty[stage]);
  ++n;
  return !last;
}

/// One task, as step(), but for dQ: one warpgroup computes all of it, the other one says that its part of dS
/// is there and goes on. So they wait for each other half as often and may be a task apart, and one's
/// products run beside the other's arithmetic. (The next dS of this stage is stored after the other
/// warpgroup's turn, which begins when this dQ is complete.) dV and dK are complete before dQ begins: there
/// are no registers for more.
template <class T>
__device__ __forceinline__ bool Consumer<T>::step_in_turn() {
  const Task task = unpack(raw);
  const int stage = uniform(stage_of(n)), next = stage ^ 1;
  std::uint32_t p[kPairs], ds[kPairs];
  arithmetic(task, p, ds);
  store_ds(ds, s.ds[stage]);
  const bool last = task.has(kLast), own = stage == warpgroup;
  issue_gradient(dv, p, s.d_o[stage]);
  fence_async_shared();
  issue_gradient(dk, ds, s.q[stage]);
  const std::uint32_t q_there = barrier_ask(&s.q_full[next], parity_of(n + 1));
  const auto await_next = [&] {
    if (last) return;
    barrier_wait_unless(q_there, &s.q_full[next], parity_of(n + 1));
    take_next(next);
  };
  if (!own) {
    named_arrive(1 + stage, 256);
    await_next();
  }
  product_wait<1>();
  pin(dv);
  arrive(&s.o_empty[stage]);
  product_wait<0>();
  pin(dk);
  arrive(&s.q_empty[stage]);
  if (own) {
    const std::uint32_t room = barrier_ask(&s.dq_empty[stage], parity_of(n) ^ 1);
    named_sync(1 + stage, 256);
    float dq[T::kDqParts];
    issue_dq(dq, s.ds[stage]);
    await_next();
    barrier_wait_unless(room, &s.dq_empty[stage], parity_of(n) ^ 1);
    product_wait<0>();
    pin(dq);
    copy_dq(dq, stage);
    __syncwarp();
    arrive(&s.dq_full[stage]);
  }
  ++n;
  return !last;
}

}  // namespace natten_sim::kernels::attention_backward
