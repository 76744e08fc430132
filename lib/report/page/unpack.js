// SPDX-License-Identifier: Apache-2.0
//
// The report's data: base64 of a zlib stream (RFC 1950) of one line of JSON, and after it the bytes that
// the line's planes lie in. What lib/report/page_data.cpp packs is taken apart here: a table of tensors is
// columns, its binades side by side in typed arrays with running sums, so that what a tensor loses at any
// scale costs a search among its binades.

const segment_count = 9;

// Text in which characters that turn others around, or that have no width, are told by their numbers.
function visible(_, value) {
  return typeof value !== 'string' ? value : value.replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16)}`);
}

// {line: the parsed JSON, bytes: what follows it}; rejected where the data are damaged.
async function unpack_data(text) {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const end = all.indexOf(10);
  return {line: JSON.parse(new TextDecoder().decode(all.subarray(0, end)), visible), bytes: all.subarray(end + 1)};
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
function unpack_tensors(columns) {
  const binades = unpack_binades(columns);
  let end = 0;
  return columns.rows.map((length, i) => {
    const first = end;
    end += length;
    const [values, zeros, nan, inf] = ['values', 'zeros', 'nan', 'inf'].map((name) => columns[name][i]);
    return {index: i, binades, first, end, name: columns.name[i], file: columns.file[i], role: columns.role[i],
      dtype: columns.dtype[i], shape: columns.shape[i], status: columns.status[i], values, zeros, nan, inf,
      nonzero: values - zeros - nan - inf, min: columns.min[i], max: columns.max[i],
      sqnr_db: (format, k) => columns.sqnr_db[format]?.[k]?.[i] ?? null,
      loss_scale: {status: columns.scale_status[i], s_min_log2: columns.s_min_log2[i],
        s_max_log2: columns.s_max_log2[i], recommended_log2: columns.recommended_log2[i]},
      advice: {format: columns.advice_format[i], text: columns.advice[i]}};
  });
}

// What the page shows, from its data. tables: of a report without a time axis all tensors; of a run a row a layer and
// role, of all steps and of the last, and the tensors of no step; `together` are those of all layers by role.
function unpack_report({line, bytes}) {
  const groups = unpack_tensors(line.groups);
  const [total, ...others] = groups;
  const gradients = line.passed_over === null ? null : others.shift();
  others.forEach((role, i) => { role.tensors = line.role_counts[i]; });
  const tensors = unpack_tensors(line.tensors);
  const numbered = (list) => list.map((tensor, index) => Object.assign(tensor, {index}));
  const of_layers = (table, wanted) => table.filter((_, s) => (line.time.layer[s] >= 0) === wanted);
  const tables = line.time === null ? {all: {tensors, together: []}} :
    Object.fromEntries(['run', 'last'].map((name) => {
      const table = unpack_tensors(line.time[name]);
      table.forEach((tensor, s) => Object.assign(tensor, {series: s}));
      return [name, {tensors: numbered([...of_layers(table, true), ...tensors.map((tensor) => ({...tensor}))]),
        together: of_layers(table, false)}];
    }));
  const time = line.time === null ? null : {...line.time, bytes, run: null, last: null,
    role: line.time.run.role};
  return {...line, total, gradients, roles: others, tables, time,
    tensors: Object.values(tables)[0].tensors};
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
  const numbers = new Int16Array(series * steps);
  for (let i = 0; i < numbers.length; i += 1) numbers[i] = high[i] * 256 + low[i] - 32768;
  return numbers;
}
