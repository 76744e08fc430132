// SPDX-License-Identifier: Apache-2.0
//
// Which format each role needs: a card for each role, with what it costs there and what the next narrower format would cost,
// in the sentences of the text.

// Writes the verdict into its section, which stays hidden where there is none.
function write_verdict(report) {
  const {text, roles} = report.verdict;
  by_id('verdict').hidden = text.length === 0;
  if (text.length === 0) return;
  const [answer, ...rest] = text;
  by_id('verdict-answer').append(...raised(answer.slice(answer.indexOf(': ') + 2).replace(/^the/, 'The')));
  by_id('verdict-roles').append(...roles.map((role, i) => element('li', {},
    element('span', {class: 'role'}, role.role), strong(role.format ?? 'binary32'),
    element('p', {}, ...raised(role_words(rest[i], role))))));
  by_id('verdict-limits').append(...raised(rest.slice(roles.length).join(' ')));
}

// A role's sentences without the names of role and format, which the card's head has.
function role_words(sentence, role) {
  const words = sentence.slice(`${role.role}: ${role.format ?? 'binary32'}`.length).replace(/^[.]? /, '');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
