// SPDX-License-Identifier: Apache-2.0
//
// The section about a run that was counted while it ran: which steps were watched, the first value that was not finite,
// notes.

function write_watched(section, watched) {
  section.hidden = !watched;
  if (!watched) return;
  const first = watched.first_nonfinite;
  section.append(element('p', {}, `Watched: ${watched.words}.`),
    ...(first ? [element('p', {class: 'first'}, element('b', {}, 'First value that is not finite: '),
      ...raised(first.text))] : []),
    ...watched.notes.map((note) => element('p', {class: 'note'}, ...raised(note))));
}
