// SPDX-License-Identifier: Apache-2.0
//
// Quantizing the bytes of tensors: chunks and threads change neither a bit nor a count.
#include "lib/range/quantize_stream.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/lib/range/values.h"

namespace binade::test::quantize_stream_test {
namespace {

template <class T>
std::vector<T> as_values(const std::vector<std::byte>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

struct Streamed {
  std::vector<std::byte> bytes;
  EventCounts counts;
};

/// Quantizes in chunks of `chunk` elements of the given size; 0 stands for all at once.
Streamed streamed(const Quantizer& to, const char* dtype, std::span<const std::byte> data,
                  std::size_t element, std::size_t chunk, bool encode) {
  QuantizeStream stream(to, *find_dtype(dtype), encode);
  Streamed out;
  const std::size_t step = chunk == 0 ? std::max<std::size_t>(data.size(), 1) : chunk * element;
  for (std::size_t at = 0; at < data.size(); at += step) {
    stream.add(data.subspan(at, std::min(step, data.size() - at)),
               [&](std::span<const std::byte> part) {
                 out.bytes.insert(out.bytes.end(), part.begin(), part.end());
               });
  }
  out.counts = stream.counts();
  return out;
}

std::vector<float> inputs() {
  std::vector<float> values = random_values<float>(100000, -30, 20, 4);
  append(values, edge_values<float>(-30, 20, 5));
  append(values, special_values<float>());
  return values;
}

TEST_CASE("a stream gives the reference's values and counts, in chunks of any size") {
  const std::vector<float> in = inputs();
  const auto data = std::as_bytes(std::span(in));
  for (const Rounding rounding : {Rounding::ties_to_even, Rounding::stochastic}) {
    for (const Format& format : {binary16, e4m3, e2m1}) {
      Quantizer to{.format = format, .attributes = {.rounding = rounding}, .seed = 7, .stream = 3};
      std::vector<float> want(in.size());
      EventCounts counts;
      quantize(in.data(), want.data(), in.size(), 0, to, counts);
      for (const std::size_t chunk : {0U, 1000U, 4099U, 70001U}) {
        const Streamed have = streamed(to, "F32", data, 4, chunk, false);
        CHECK(have.counts == counts);
        REQUIRE(have.bytes.size() == data.size());
        CHECK(std::memcmp(have.bytes.data(), want.data(), data.size()) == 0);
      }
      CHECK(counts.to_zero > 0);
      CHECK(counts.overflow > 0);
      CHECK(counts.inexact > 0);
    }
  }
}

TEST_CASE("encodings out decode to the values out") {
  const std::vector<float> in = inputs();
  const auto data = std::as_bytes(std::span(in));
  const auto check = [&](const Format& format, auto bits) {
    using Bits = decltype(bits);
    const Quantizer to{.format = format};
    const auto values = as_values<float>(streamed(to, "F32", data, 4, 0, false).bytes);
    const auto codes = as_values<Bits>(streamed(to, "F32", data, 4, 0, true).bytes);
    REQUIRE(codes.size() == values.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double have = value_of<double>(codes[i], format);
      const bool equal = std::isnan(have) ? std::isnan(values[i])
                                          : have == static_cast<double>(values[i]) &&
                                                std::signbit(have) == std::signbit(values[i]);
      different += equal ? 0 : 1;
    }
    CHECK(different == 0);
  };
  check(binary16, std::uint16_t{});
  check(bfloat16, std::uint16_t{});
  check(e5m2, std::uint8_t{});
  check(e4m3, std::uint8_t{});
  check(tf32, std::uint32_t{});
}

TEST_CASE("binary64 in and out goes through doubles: no double rounding, no lost range") {
  // 1 + 2^-11 + 2^-40: as a float it would become the tie 1 + 2^-11 and round down to even.
  const std::vector<double> in{1 + 0x1p-11 + 0x1p-40, 0x1p-1074, 0x1.fffffffffffffp1023, -1.5};
  const auto data = std::as_bytes(std::span(in));
  const Streamed half = streamed({.format = binary16}, "F64", data, 8, 0, false);
  CHECK(as_values<float>(half.bytes) == std::vector<float>{1 + 0x1p-10F, 0, INFINITY, -1.5F});
  CHECK(half.counts.to_zero == 1);
  CHECK(half.counts.overflow == 1);
  const Streamed same = streamed({.format = binary64}, "F64", data, 8, 0, false);
  CHECK(as_values<double>(same.bytes) == in);
  CHECK(same.counts.inexact == 0);
}

TEST_CASE("narrow inputs are read as what they stand for") {
  const std::vector<std::uint16_t> in{0x0001, 0x3C01, 0x7C00, 0xFBFF, 0x8000};  // binary16
  const Streamed out = streamed({.format = e5m2}, "F16", std::as_bytes(std::span(in)), 2, 2, false);
  CHECK(as_values<float>(out.bytes) == std::vector<float>{0, 1, INFINITY, -INFINITY, -0.0F});
  CHECK(out.counts.values == 5);
  CHECK(out.counts.to_zero == 1);
  CHECK(out.counts.inf_in == 1);
  CHECK(out.counts.overflow == 1);
}

TEST_CASE("values are carried by the smallest type that holds the grid, encodings by their own") {
  CHECK(value_dtype(binary16).name == "F32");
  CHECK(value_dtype(binary32).name == "F32");
  CHECK(value_dtype(binary64).name == "F64");
  CHECK(value_dtype(Format{11, 4, 1023}).name == "F64");
  CHECK(encoded_dtype(binary16).name == "F16");
  CHECK(encoded_dtype(bfloat16).name == "BF16");
  CHECK(encoded_dtype(e4m3).name == "F8_E4M3");
  CHECK(encoded_dtype(tf32).name == "U32");
  CHECK(encoded_dtype(e2m1).name == "U8");
  CHECK(encoded_dtype(Format{5, 8, 15}).name == "U16");
  CHECK(encoded_dtype(Format{11, 40, 1023}).name == "U64");
}

TEST_CASE("an array that no cache holds gives what its pieces give") {
  const std::size_t n = 2 * thread_count() * (streamed_bytes / sizeof(float)) + 70001;
  std::vector<float> in(n);
  const std::vector<float> some = inputs();
  for (std::size_t i = 0; i < n; ++i) in[i] = some[i % some.size()];
  const Quantizer to{.format = e4m3, .attributes = {.rounding = Rounding::stochastic}, .seed = 5};
  std::vector<float> whole(n), pieces(n);
  const auto quantized = [&](std::size_t begin, std::size_t count, std::vector<float>& out) {
    return quantize_elements(to, binary32, ResultKind::f32,
                             std::as_bytes(std::span(in)).subspan(begin * 4, count * 4), begin,
                             std::as_writable_bytes(std::span(out)).subspan(begin * 4, count * 4));
  };
  const EventCounts of_whole = quantized(0, n, whole);
  EventCounts of_pieces;
  for (std::size_t at = 0; at < n; at += 1U << 20) {
    of_pieces += quantized(at, std::min<std::size_t>(1U << 20, n - at), pieces);
  }
  CHECK(of_whole == of_pieces);
  CHECK(of_whole.to_zero > 0);
  CHECK(std::memcmp(whole.data(), pieces.data(), n * sizeof(float)) == 0);
}

TEST_CASE("nothing in, nothing out") {
  const Streamed out = streamed({.format = binary16}, "F32", {}, 4, 0, false);
  CHECK(out.bytes.empty());
  CHECK(out.counts == EventCounts{});
}

}  // namespace
}  // namespace binade::test::quantize_stream_test
