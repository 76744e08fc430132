// SPDX-License-Identifier: Apache-2.0
//
// The page's wiring: words are written once, plots are drawn again whenever their width changes.

const data = JSON.parse(by_id('data').textContent, visible);
const redraws = [];

// Calls choose(x or null) as the pointer or the arrow keys go to one of the plot's x, which are `stops`.
function listen(drawn, stops, choose) {
  let chosen = -1;
  const go = (index) => {
    chosen = index;
    choose(index < 0 ? null : stops[index]);
  };
  if (stops.length === 0) return;
  const {svg, x_at} = drawn;
  const places = stops.map(x_at);
  follow_pointer(svg, (at) => nearest(places, at), go);
  svg.addEventListener('blur', () => go(-1));
  svg.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    go(chosen < 0 ? (step > 0 ? 0 : stops.length - 1) : Math.min(Math.max(chosen + step, 0), stops.length - 1));
  });
}

function plot_of(plot) {
  const hidden = new Set();
  const chart = element('div', {class: 'chart'});
  const readout = element('p', {class: 'readout', role: 'status'}, '\u00a0');
  const redraw = () => {
    const drawn = draw_plot(chart, plot, hidden);
    write_readout(readout, plot, hidden, null);
    listen(drawn, stops_of(plot, hidden), (x) => {
      drawn.point(x);
      write_readout(readout, plot, hidden, x);
    });
  };
  redraws.push(redraw);
  const keys = plot.series.length < 2 ? [] : legend_of(plot.series.map((series, i) =>
    ({mark: mark_of(series, i), words: series.name})), (i) => {
    if (!hidden.delete(i)) hidden.add(i);
    redraw();
    return !hidden.has(i);
  });
  const note = [plot.note, missing_words(plot)].filter((words) => words).join(' ');
  return element('figure', {class: 'plot'},
    element('figcaption', {}, element('h3', {}, ...raised(plot.title))),
    element('div', {class: 'legend'}, ...keys), chart, readout,
    note ? element('p', {class: 'note'}, ...raised(note)) : null);
}

function answer(words, node, extra = null) {
  return element('div', {class: 'answer'}, element('h3', {}, words, extra), node);
}

function section_of(result, i) {
  const section = element('section', {class: 'result', id: `result-${i}`});
  if (result.question) {
    section.append(element('p', {class: 'kicker name'}, result.experiment,
      result.seconds === undefined ? '' : ` · ${seconds_words(result.seconds)}`));
  }
  if (result.question) section.append(element('h2', {}, ...raised(result.question)));
  if (result.status) {
    section.append(element('div', {class: 'answers'},
      answer('Expected', element('p', {}, ...raised(result.hypothesis))),
      answer('Measured: ', element('p', {}, ...raised(result.verdict)), status_mark(result.status))));
  }
  section.append(element('div', {class: `plots ${result.plots.length === 1 ? 'one' : ''}`},
    ...result.plots.map(plot_of)));
  section.append(element('div', {class: 'tables'}, ...result.tables.map(table_of)));
  if (result.text) {
    const words = result.tables.length === 0 && result.plots.length === 0 ? {open: ''} : {};
    section.append(element('details', words, element('summary', {}, 'What it printed'),
      element('pre', {tabindex: 0}, result.text.trim())));
  }
  return section;
}

if (data.title) {
  by_id('title').textContent = data.title;
  document.title = data.title;
} else if (data.results.length === 1) {
  document.title = data.results[0].experiment;
}
write_version(data.binade);
by_id('source').textContent = source_words(data);
by_id('reading-verdicts').hidden = data.results.every((result) => result.status === undefined);
if (data.remaining) {
  by_id('remaining').hidden = false;
  const count = plural(data.remaining.length, 'experiment');
  by_id('remaining').textContent =
    `Not finished: when this page was written, ${count} had not ended: ${data.remaining.join(', ')}.`;
}
write_summary(by_id('summary'), data.results);
by_id('results').append(...data.results.map(section_of));
const draw_all = () => redraws.forEach((redraw) => redraw());
on_width(document.querySelector('main'), draw_all);
draw_all();
