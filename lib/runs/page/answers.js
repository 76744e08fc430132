// SPDX-License-Identifier: Apache-2.0
//
// The parts of the page around the plots: the summary, tables, marks of legends, readouts.

const status_words = {as_expected: 'as expected', not_as_expected: 'not as expected', skipped: 'skipped',
  failed: 'failed'};

function seconds_words(seconds) {
  return seconds < 60 ? `${seconds.toFixed(1)}${thin}s` :
    `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}${thin}min`;
}

function source_words(data) {
  const results = data.results;
  const counts = Object.entries(status_words).map(([key, words]) =>
    [results.filter((result) => result.status === key).length, words]).filter(([count]) => count > 0);
  const parts = counts.length === 0 ? [] :
    [`${plural(results.length, 'experiment')}: ${counts.map(([n, words]) => `${n} ${words}`).join(', ')}`];
  if (data.quick) parts.push('quick runs');
  if (data.source) parts.push(data.source);
  const times = results.filter((result) => result.seconds !== undefined);
  if (times.length > 0) parts.push(seconds_words(times.reduce((sum, result) => sum + result.seconds, 0)));
  return parts.join(' · ');
}

function status_mark(status) {
  return element('span', {class: `status ${status}`}, status_words[status]);
}

function write_summary(host, results) {
  host.hidden = results.length < 2;
  if (host.hidden) return;
  const rows = results.map((result, i) => element('tr', {},
    element('th', {scope: 'row'}, element('a', {href: `#result-${i}`}, result.experiment)),
    element('td', {}, status_mark(result.status)),
    element('td', {class: 'words'}, ...raised(result.verdict)),
    result.seconds === undefined ? null : element('td', {class: 'number'}, seconds_words(result.seconds))));
  host.append(element('table', {}, element('tbody', {}, ...rows)));
}

function looks_numeric(cell) {
  return /^[<>≤≥~−+-]?\s*(?:[\d.]|nan$|inf$)/i.test(cell) || /^[–—-]?$/.test(cell.trim());
}

// A table of texts. Columns of numbers stand to the right; the first column and columns of words to the left.
function table_of(table) {
  const right = table.columns.map((_, i) => i > 0 && table.rows.every((row) => looks_numeric(row[i])));
  const cell = (tag) => (text, i) => element(i === 0 && tag === 'td' ? 'th' : tag,
    {class: right[i] ? 'number' : 'words', scope: tag === 'th' ? 'col' : i === 0 ? 'row' : null},
    ...raised(text));
  const words = table.title || 'table';
  return element('figure', {class: 'table'},
    table.title ? element('figcaption', {}, element('h3', {}, ...raised(table.title))) : null,
    element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': words},
      element('table', {},
        element('thead', {}, element('tr', {}, ...table.columns.map(cell('th')))),
        element('tbody', {}, ...table.rows.map((row) => element('tr', {}, ...row.map(cell('td'))))))));
}

// The mark of a series in the legend.
function mark_of(series, index) {
  const look = look_of(index);
  const svg = drawing('svg', {class: `swatch series ${look.class}`, viewBox: '0 0 26 12', 'aria-hidden': 'true'});
  if (series.mark === 'bars') {
    svg.append(drawing('rect', {class: 'bar', x: 7, y: 1, width: 12, height: 10}));
  } else if (series.mark === 'points') {
    svg.append(drawing('path', {class: 'dots', d: path_of_points([{x: 13, y: 6}], 3)}));
  } else {
    svg.append(drawing('path', {class: 'curve', d: series.mark === 'steps' ? 'M1 9L13 9L13 3L25 3' : 'M1 6L25 6',
      'stroke-dasharray': look.dash || null}));
  }
  return svg;
}

// Writes what the pointer is over: x, with the label of its axis, which has the unit, and each shown series' value.
function write_readout(host, plot, hidden, x) {
  if (x === null) {
    host.replaceChildren('\u00a0');
    return;
  }
  const values = values_at(plot, hidden, x).map(({index, name, y}) => element('span', {class: 'value'},
    element('i', {class: `key ${look_of(index).class}`}), ...raised(plot.series.length > 1 ? `${name} ` : ''),
    element('b', {}, ...(y === null ? [none] : raised(value_words(plot.y_axis, y))))));
  host.replaceChildren(element('span', {class: 'value'}, ...raised(`${plot.x_label} `),
    element('b', {}, ...raised(value_words(plot.x_axis, x)))), ...values);
}
