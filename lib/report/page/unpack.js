// SPDX-License-Identifier: Apache-2.0
//
// The report's data: base64 of a zlib stream (RFC 1950) of one line of JSON, and after it the bytes that
// the line's planes lie in. What lib/report/page_data.cpp packs is taken apart here: a table of tensors is
// columns, its binades side by side in typed arrays with running sums, so that what a tensor loses at any
// scale costs a search among its binades.

const segment_count = 9;

// {line: the parsed JSON, bytes: what follows it}; null where the browser cannot inflate.
async function unpack_data(text) {
  if (typeof DecompressionStream === 'undefined') return null;
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const end = all.indexOf(10);
  return {line: JSON.parse(new TextDecoder().decode(all.subarray(0, end))), bytes: all.subarray(end + 1)};
}

// A sum in units of base^step times as much; of nothing, whatever the step.
function moved(sum, base, step) {
  return sum === 0 ? 0 : sum * base ** -step;
}

// The binades of all tensors of a table, one after another. before: values of the same tensor in the binades
// below; l1, l2: Σ|x| and Σx² up to and with this one, in units of 2^exponent and 4^exponent, so that neither
// leaves the range of a double.
function unpack_binades({rows, exponent, count, mean, mean_square}) {
  const n = exponent.length;
  const table = {exponent: new Int16Array(n), count: new Float64Array(n * segment_count),
    all: new Float64Array(n), before: new Float64Array(n), l1: new Float64Array(n), l2: new Float64Array(n)};
  let at = 0;
  for (const length of rows) {
    let [e, before, l1, l2] = [0, 0, 0, 0];
    for (const end = at + length; at < end; at += 1) {
      const step = exponent[at];
      e += step;
      table.exponent[at] = e;
      table.before[at] = before;
      let all = 0;
      for (let s = 0; s < segment_count; s += 1) {
        const values = count[s][at];
        table.count[at * segment_count + s] = values;
        all += values;
      }
      table.all[at] = all;
      before += all;
      l1 = moved(l1, 2, step) + all * (1 + mean[at] / 1e6);
      l2 = moved(l2, 4, step) + all * (1 + mean_square[at] / 1e6);
      table.l1[at] = l1;
      table.l2[at] = l2;
    }
  }
  return table;
}

// Tensors as objects; `binades` is shared, [first, end) are a tensor's own.
function unpack_tensors(columns, report) {
  const binades = unpack_binades(columns);
  let end = 0;
  return columns.rows.map((length, i) => {
    const first = end;
    end += length;
    const [values, zeros, nan, inf] = ['values', 'zeros', 'nan', 'inf'].map((name) => columns[name][i]);
    const sqnr_db = (format, k) => columns.sqnr_db[format]?.[k]?.[i] ?? null;
    return {index: i, binades, first, end, name: columns.name[i], file: report.files[columns.file[i]] ?? '',
      role: report.role_names[columns.role[i]] ?? null, dtype: columns.dtypes[columns.dtype[i]],
      shape: columns.shape[i], status: report.statuses[columns.status[i]], values, zeros, nan, inf,
      nonzero: values - zeros - nan - inf, min: columns.min[i], max: columns.max[i], sqnr_db,
      loss_scale: {status: report.scale_statuses[columns.scale_status[i]], s_min_log2: columns.s_min[i],
        s_max_log2: columns.s_max[i], recommended_log2: columns.recommended[i]},
      advice: {format: columns.advice_format[i], text: columns.advice[i]}};
  });
}

// A plane is [series][step] of bytes, stored as differences along the steps; two planes make one of
// numbers from -32768, of which that one means that there is none.
function unpack_plane(bytes, at, series, steps) {
  const plane = new Uint8Array(series * steps);
  for (let s = 0, i = 0; s < series; s += 1) {
    for (let t = 0, code = 0; t < steps; t += 1, i += 1) {
      code = (code + bytes[at + i]) & 255;
      plane[i] = code;
    }
  }
  return plane;
}

function unpack_numbers(bytes, at, series, steps) {
  const high = unpack_plane(bytes, at, series, steps);
  const low = unpack_plane(bytes, at + series * steps, series, steps);
  return Int16Array.from(high, (part, i) => part * 256 + low[i] - 32768);
}
