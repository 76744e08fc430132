// SPDX-License-Identifier: Apache-2.0
//
// Unpacks the report's data: base64 of a zlib stream (RFC 1950) that lib/report/page_data.cpp packs, with a line of
// JSON and after it the bytes of the planes that the line names. A table of tensors comes as columns. The binades of
// all its tensors are unpacked into typed arrays with running sums, so that what a tensor loses at any scale costs one
// search among its binades.

const segment_count = 9;

// Returns a promise of {line: the parsed JSON, bytes: what follows it}, which is rejected if the data are damaged.
async function unpack_data(text) {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const end = all.indexOf(10);
  return {line: JSON.parse(new TextDecoder().decode(all.subarray(0, end)), visible), bytes: all.subarray(end + 1)};
}

// A sum in a unit that is base^step times as large. 0 stays 0 even where base^-step is infinite.
function moved(sum, base, step) {
  return sum === 0 ? 0 : sum * base ** -step;
}

// The binades of all tensors of a table, one after another. For each: `before`, the number of values of the same tensor
// in lower binades; `l1` and `l2`, Σ|x| and Σx² over those and this binade, in units of 2^exponent and 4^exponent, so
// that neither leaves the range of a double.
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

// The tensors of a table as objects. They share `binades`, of which [first, end) are a tensor's own.
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
      tie: columns.tie[i],
      advice: {format: columns.advice_format[i], text: columns.advice[i]}};
  });
}

// The report from its data. Its `tables` are {all} for a report without a time axis, with all tensors; for a run {run,
// last}, the counts of all steps and of the last, with a row per layer and role and then the tensors that belong to no
// step. In a table, `together` are the rows of all layers as one, by role.
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

// A plane holds a byte per series and step, stored as differences along the steps.
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

// Two planes, of high and of low bytes, make one of numbers from -32768 on, where that number stands for none.
function unpack_numbers(bytes, at, series, steps) {
  const high = unpack_plane(bytes, at, series, steps);
  const low = unpack_plane(bytes, at + series * steps, series, steps);
  const numbers = new Int16Array(series * steps);
  for (let i = 0; i < numbers.length; i += 1) numbers[i] = high[i] * 256 + low[i] - 32768;
  return numbers;
}
