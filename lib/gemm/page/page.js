// SPDX-License-Identifier: Apache-2.0
//
// The page's wiring: words are written once, figures are drawn again whenever their width changes.

const account = JSON.parse(by_id('account').textContent, visible);

const depth_names = {whole: 'kept whole', shortened: 'low bits cut', vanished: 'vanished'};

function readout_of(id, words) {
  const place = by_id(id).querySelector('.readout');
  const idle = 'Point at a bar to read it.';
  place.textContent = idle;
  return (index) => { place.textContent = index < 0 ? idle : words(account, index); };
}
const read_position = readout_of('along-k', position_words);
const read_distance = readout_of('distances', distance_words);

function draw_all() {
  draw_along_k(by_id('along-k').querySelector('.chart'), account, read_position);
  if (account.distances.length > 0) {
    draw_distances(by_id('distances').querySelector('.chart'), account, by_id('log-y').checked,
      read_distance);
  }
  if (account.worst_to_bound) draw_bound(by_id('answer-bound').querySelector('.evidence'), account);
}

write_source(account);
write_how_far(account);
write_what_cost(account);
write_bound(account);
write_rules(account);
write_window(account);
by_id('along-k').querySelector('.legend').append(...legend_of(placed_rules(account).map(({rule}) =>
  ({mark: swatch(rule), words: style_of(rule).name}))));
by_id('distances').querySelector('.legend').append(...legend_of(Object.entries(depth_names).map(([fate, words]) =>
  ({mark: swatch(fate), words}))));
by_id('distances').hidden = account.distances.length === 0;
by_id('log-y').addEventListener('change', draw_all);
on_width(document.querySelector('main'), draw_all);
draw_all();
