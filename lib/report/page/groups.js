// SPDX-License-Identifier: Apache-2.0
//
// Groups of names of layers. A name's group is what it begins with, up to the first part that is a number or ends in
// one, as in h.0, encoder.layers.3, blocks/12, layer7.

const part_of_name = /[^./]+[./]?/g;

// "encoder.layers.3" of "encoder.layers.3.self_attn.q_proj"; '' of a name without such a part.
function group_of(name) {
  let prefix = '';
  for (const part of name.match(part_of_name) ?? []) {
    const plain = part.replace(/[./]$/, '');
    if (/\d$/.test(plain) && (prefix !== '' || !/^\d+$/.test(plain))) return prefix + plain;
    prefix += part;
  }
  return '';
}

// Neighbours of one group as [{name, first, end}], in the order of the names. The list is empty if no group has two
// names, or if all names are in one group.
function grouped_names(names) {
  const groups = [];
  names.forEach((name, i) => {
    const group = group_of(name);
    const last = groups[groups.length - 1];
    if (last && last.name === group) last.end = i + 1;
    else groups.push({name: group, first: i, end: i + 1});
  });
  const grouping = groups.some((group) => group.name !== '' && group.end - group.first > 1);
  return grouping && groups.length > 1 ? groups : [];
}
