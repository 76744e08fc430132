// SPDX-License-Identifier: Apache-2.0
//
// Colours and what they stand for: swatches, legends, and strips whose lengths are shares.

function swatch(name) {
  return element('i', {class: `swatch ${name}`});
}

// Entries [{mark: a node, words}], each as a mark with its words. With on_press each is a button: on_press(its
// index) says whether the button is pressed from then on.
function legend_of(entries, on_press = null) {
  return entries.map(({mark, words}, i) => {
    if (on_press === null) return element('span', {class: 'key'}, mark, words);
    const button = element('button', {type: 'button', 'aria-pressed': 'true'}, mark,
      element('span', {}, ...raised(words)));
    button.addEventListener('click', () => button.setAttribute('aria-pressed', String(on_press(i))));
    return button;
  });
}

// Parts [[class, amount]] side by side, each as long as its amount.
function strip_of(parts) {
  return element('div', {class: 'strip', 'aria-hidden': 'true'}, ...parts.filter(([, amount]) => amount > 0)
    .map(([name, amount]) => element('i', {class: name, style: `flex-grow: ${amount}`})));
}
