#pragma once

#include <cstdint>

#include <cuda.h>

#include <natten_sim/kernels/attention_backward/plan.hpp>

#include "attention_backward/work_list.hpp"

namespace natten_sim::kernels::attention_backward {

/// What the kernels read besides their tensors. Filled by plan.cu; all sizes have been checked there.

/// Rows of a head of a tensor that is read or written by ordinary loads and stores.
struct RowStrides {
  std::int64_t batch = 0, head = 0, token = 0;  // elements
};

/// The tensors of the mma.sync engine, which has no tensor maps.
struct TensorRows {
  const void *q = nullptr, *d_o = nullptr, *k = nullptr, *v = nullptr;
  RowStrides q_strides, o_strides, k_strides, v_strides;
};

struct Arguments {
  CUtensorMap q, d_o, k, v;  ///< of the wgmma engine
  TensorRows rows;
  const Task* tasks = nullptr;
  const Chain* chains = nullptr;
  const std::int32_t* worker_begin = nullptr;  ///< first chain of each worker; null: chains are drawn
  unsigned* ticket = nullptr;                  ///< next chain to draw; zero before the launch
  std::int32_t chain_count = 0;
  /// By dQ tile, zero before the launch: additions done, or, without an order, a FirstAddition.
  unsigned* turns = nullptr;
  bool ordered = true;
  float* dq = nullptr;           ///< (heads of all batches, Q tiles, tile in fragment order)
  const float* lse2 = nullptr;   ///< (heads of all batches, padded rows): log2(e) * LSE, +inf: sees nothing
  const float* delta = nullptr;  ///< (heads of all batches, padded rows): rowsum(O * dO)
  void* dk = nullptr;
  void* dv = nullptr;
  RowStrides dk_strides, dv_strides;
  bool partial = false;  ///< dK and dV a query head, in fp32, to be summed over its group later
  int heads = 1;
  int heads_per_kv_head = 1;
  int q_tiles = 0;
  int q_tokens = 0;
  int kv_tokens = 0;
  int left = 0;
  int right = 0;
  float scale = 0;
  float scale_log2 = 0;        // log2(e) * scale
  int head_dim = 0;            ///< columns that exist; those of the kernel may be more
  const uint2* patterns = nullptr;  ///< by pattern and thread of the consumers, or null
  unsigned turn_tries = 0;     ///< looks at a turn before the kernel traps
  TurnTimes* times = nullptr;  ///< by (head of all batches, Q tile, KV tile), or null
  int kv_tiles = 0;
  // Fault injection, for tests.
  unsigned delay_ns = 0;      ///< writers sleep up to this long before they ask for their turn
  std::int32_t dropped = -1;  ///< dQ tile whose turns are never passed on
};

}  // namespace natten_sim::kernels::attention_backward
