// SPDX-License-Identifier: Apache-2.0
//
// The page's wiring: words once, figures again whenever their width changes.

const by_id = (id) => document.getElementById(id);
const account = JSON.parse(by_id('account').textContent);

const depth_keys = [{class: 'whole', name: 'kept whole'}, {class: 'shortened', name: 'low bits cut'},
  {class: 'vanished', name: 'vanished'}];

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
by_id('along-k').querySelector('.legend').append(...legend_of(placed_rules(account)));
by_id('distances').querySelector('.legend').append(...legend_of(depth_keys));
by_id('distances').hidden = account.distances.length === 0;
by_id('log-y').addEventListener('change', draw_all);
new ResizeObserver(draw_all).observe(document.querySelector('main'));
draw_all();
