import type { FormatNumber } from '../../numbers.js';
import type { Texts } from '../en/texts.js';

export const make = (number: FormatNumber): Texts['make'] => ({
  newLink: 'Neuer Link',
  howMany: 'Anzahl',
  oneLink: 'Ein Link',
  manyLinks: 'Viele Links',
  destination: 'Ziel',
  result: 'Leitet weiter zu {url}',
  alias: 'Alias',
  aliasHint:
    'Das Ende des Kurzlinks: Buchstaben, Ziffern, Bindestriche und Unterstriche. Ohne Angabe erzeugt Linklog eines.',
  more: 'Weitere Optionen',
  clickLimit: 'Klicklimit',
  password: 'Passwort',
  passwordHint: 'Besucher müssen es eingeben.',
  create: 'Link erstellen',
  isLive: 'Ihr Link ist aktiv',
  redirectsTo: 'leitet weiter zu {url}',
  statistics: 'Statistik',
  qrCode: 'QR-Code',
  utm: 'Kampagnenparameter (UTM)',
  utmHint: 'Sie werden für Ihre Webanalyse an das Ziel angehängt.',
  utmNames: {
    source: 'Quelle',
    medium: 'Medium',
    campaign: 'Kampagne',
    term: 'Suchbegriff',
    content: 'Inhalt',
  },
  useLast: 'Letzte Werte verwenden',
  bookmarklet: 'Links von jeder Seite aus erstellen',
  bookmarkletHint:
    'Ziehen Sie diesen Link in Ihre Lesezeichenleiste. Ein Klick darauf öffnet dieses Formular für die Seite, die Sie gerade lesen.',
  bookmarkletName: 'Mit Linklog kürzen',
  dragIt: 'Ziehen Sie ihn in die Lesezeichenleiste, statt ihn anzuklicken.',
  destinations: 'Ziele',
  destinationsHint: (max, batch) =>
    `Eines pro Zeile, höchstens ${number(max)}; oder Zellen einer Tabelle: URL, Alias, Titel und Tags. ${number(batch)} Links kosten einen Aufruf; jeder Link zählt.`,
  tooMany: (count, max) =>
    `Das sind ${number(count)} Links. Nur die ersten ${number(max)} werden verwendet.`,
  tagsOfAll: 'Für alle diese Links.',
  createMany: (count) =>
    count === 1 ? 'Einen Link erstellen' : `${number(count)} Links erstellen`,
  stillToCreate: (count) =>
    count === 1
      ? 'Ein Link muss noch erstellt werden.'
      : `${number(count)} Links müssen noch erstellt werden.`,
  leaveOut: 'Die übrigen auslassen',
  results: 'Ergebnisse',
  created: (count, total) => `${number(count)} von ${number(total)} erstellt`,
  theShortLinks: 'die Kurzlinks',
  saveCsv: 'Als CSV speichern',
  tableOfResults: 'Tabelle der Ergebnisse',
  shortLink: 'Kurzlink',
  columns: { destination: 'Ziel', shortLink: 'Kurzlink', error: 'Fehler' },
  preview: 'Vorschau',
  line: 'Zeile',
  title: 'Titel',
  tags: 'Tags',
  generated: 'wird erzeugt',
  leftOut: 'Sie wird ausgelassen.',
  eachLineIsUrl: 'Jede Zeile ist eine URL',
  delimiters: { '\t': 'Tabulatoren', ';': 'Semikolons', ',': 'Kommas', ' ': 'Leerzeichen' },
  columnsBetween: (delimiter) => `Spalten sind durch ${delimiter} getrennt.`,
  assumedColumns: (names) => `Ohne Kopfzeile werden die Spalten als ${names} gelesen.`,
  unused: (names) => `Nicht verwendet: ${names}.`,
  unnamed: (count) =>
    `Die Zeilen haben anscheinend ${number(count)} Spalten. Eine erste Zeile mit ihren Namen trennt sie: url, code, title, tags.`,
  onlyFirstLines: (count) => `Die Vorschau zeigt die ersten ${number(count)} Zeilen.`,
  cellsInsteadOf: (cells, width) => `Die Zeile hat ${number(cells)} statt ${number(width)} Zellen.`,
  noUrl: 'Die Zeile hat keine URL.',
});
