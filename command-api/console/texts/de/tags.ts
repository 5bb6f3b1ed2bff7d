import type { FormatNumber } from '../../numbers.js';
import type { Texts } from '../en/texts.js';

export const tags = (number: FormatNumber): Texts['tags'] => ({
  tags: 'Tags',
  search: 'Tags suchen',
  searchButton: 'Suchen',
  tag: 'Tag',
  links: 'Links',
  clicks: 'Klicks',
  actions: 'Aktionen',
  rename: 'Umbenennen',
  remove: 'Entfernen',
  none: 'Es gibt noch keine Tags. Tags erhalten Links beim Erstellen oder Ändern.',
  noneMatch: 'Kein Tag passt.',
  atLeast: (count) => `${number(count)} oder mehr`,
  unknown: 'unbekannt',
  renameTag: (tag) => `Tag ${tag} umbenennen`,
  removeTag: (tag) => `Tag ${tag} entfernen`,
  newName: 'Neuer Name',
  cost: (count) =>
    count === 1
      ? 'Ein Link wird geändert. Das kostet einen Aufruf.'
      : `${number(count)} Links werden geändert. Jeder kostet einen Aufruf.`,
  progress: (done, count) => `${number(done)} von ${number(count)} Links sind geändert.`,
  done: (count) =>
    count === 1 ? 'Ein Link ist geändert.' : `${number(count)} Links sind geändert.`,
  notChanged: 'Diese Links sind nicht geändert:',
  noLinks: 'Kein Link hat dieses Tag noch.',
});
