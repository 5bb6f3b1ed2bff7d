import type { FormatNumber } from '../../numbers.js';
import type { Texts } from '../en/texts.js';

export const links = (number: FormatNumber): Texts['links'] => {
  const linksOf = (count: number): string => (count === 1 ? 'ein Link' : `${number(count)} Links`);
  const dativeOf = (count: number): string =>
    count === 1 ? 'einem Link' : `${number(count)} Links`;
  return {
    links: 'Links',
    newLink: 'Neuer Link',
    export: 'Exportieren',
    tags: 'Tags',
    count: (count) => (count === 1 ? '1 Link' : `${number(count)} Links`),
    countAtLeast: (count) => `${number(count)} Links oder mehr`,
    onThisPage: (count) =>
      count === 1 ? 'Ein Link auf dieser Seite' : `${number(count)} Links auf dieser Seite`,
    noneOfThese: 'Keiner dieser Links passt.',
    noMore: 'Keine weiteren Links passen.',
    search: 'Suchen',
    searchHint: 'Link, Titel, Notiz, Tag',
    status: 'Status',
    notDeleted: 'Nicht gelöscht',
    account: 'Konto',
    allDomains: 'Alle Domains',
    order: 'Reihenfolge',
    destinationHost: 'Host des Ziels',
    tag: 'Tag',
    createdFrom: 'Erstellt ab',
    createdTo: 'Erstellt bis',
    filters: 'Filter',
    without: 'Ohne',
    showAll: 'Alle anzeigen',
    filter: {
      search: 'Text',
      tag: 'Tag',
      account: 'Konto',
      domain: 'Domain',
      destination: 'Ziel',
      status: 'Status',
      from: 'erstellt ab',
      to: 'erstellt bis',
    },
    select: (link) => `${link} auswählen`,
    selectAll: 'Alle auf dieser Seite auswählen',
    shortLink: 'Kurzlink',
    destination: 'Ziel',
    created: 'Erstellt',
    clicks: 'Klicks',
    password: 'Passwort',
    changeSelected: 'Ausgewählte Links ändern',
    selectSome: 'Wählen Sie Links aus, um sie zusammen zu ändern.',
    selected: (count) => `${linksOf(count)} ausgewählt`,
    addTags: 'Tags hinzufügen',
    removeTags: 'Tags entfernen',
    addTagsTo: (count) => `Tags zu ${dativeOf(count)} hinzufügen`,
    removeTagsFrom: (count) => `Tags von ${dativeOf(count)} entfernen`,
    add: 'Hinzufügen',
    remove: 'Entfernen',
    disable: 'Deaktivieren',
    enable: 'Aktivieren',
    delete: 'Löschen',
    deleteLinks: (count) =>
      count === 1 ? 'Einen Link löschen?' : `${number(count)} Links löschen?`,
    andMore: (count) =>
      count === 1 ? 'und ein weiterer Link' : `und ${number(count)} weitere Links`,
    deleteWarning:
      'Sie leiten dauerhaft nicht mehr weiter. Ihre Codes werden nie wieder vergeben. Statistik und Verlauf bleiben erhalten.',
  };
};
