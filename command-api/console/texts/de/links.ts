/** German texts: the pages of links. */
import type * as english from '../en/later-texts.js';

export const links: typeof english.links = (number) => {
  const linksOf = (count: number): string => (count === 1 ? 'ein Link' : `${number(count)} Links`);
  const dativeOf = (count: number): string =>
    count === 1 ? 'einem Link' : `${number(count)} Links`;
  return {
    export: 'Exportieren',
    count: (count) =>
      count === 0 ? 'Keine Links passen.' : count === 1 ? '1 Link' : `${number(count)} Links`,
    countAbove: (count) => `Mehr als ${number(count)} Links`,
    onThisPage: (count) =>
      count === 1 ? 'Ein Link auf dieser Seite' : `${number(count)} Links auf dieser Seite`,
    noneOfThese: 'Keiner dieser Links passt.',
    clicksOf30Days: 'Klicks in 30 Tagen',
    byDay: (numbers, clicks) =>
      `Klicks der letzten 30 Tage: ${numbers}. Insgesamt: ${number(clicks)}`,
    titleOrDestination: 'Titel oder Ziel',
    searchHint: 'Link, Titel, Notiz, Tag',
    status: 'Status',
    notDeleted: 'Nicht gelöscht',
    order: 'Reihenfolge',
    destinationHost: 'Host des Ziels',
    createdFrom: 'Erstellt ab',
    createdTo: 'Erstellt bis',
    select: (link) => `${link} auswählen`,
    selectAll: 'Alle auf dieser Seite auswählen',
    changeSelected: 'Ausgewählte Links ändern',
    selectSome: 'Wählen Sie Links aus, um sie zusammen zu ändern.',
    selected: (count) => `${linksOf(count)} ausgewählt`,
    addTags: 'Tags hinzufügen',
    removeTags: 'Tags entfernen',
    addTagsTo: (count) => `Tags zu ${dativeOf(count)} hinzufügen`,
    removeTagsFrom: (count) => `Tags von ${dativeOf(count)} entfernen`,
    add: 'Hinzufügen',
    deleteLinks: (count) =>
      count === 1 ? 'Einen Link löschen?' : `${number(count)} Links löschen?`,
    andMore: (count) =>
      count === 1 ? 'und ein weiterer Link' : `und ${number(count)} weitere Links`,
    deleteWarning:
      'Sie leiten nicht mehr weiter. Sie können sie 30 Tage lang wiederherstellen. Ihre Codes erhält nie ein anderer Link.',
    changed: (count) => (count === 1 ? 'Ein Link geändert.' : `${number(count)} Links geändert.`),
    undo: 'Rückgängig',
  };
};

export const link: typeof english.link = (number) => ({
  aboutLink: 'Über den Link',
  theLink: 'Der Link',
  destinationIs: 'Ziel: {url}',
  clicks: (count) => (count === 1 ? 'Ein Klick' : `${number(count)} Klicks`),
  clicksLeft: (count) => `${number(count)} übrig`,
  createdAt: (time) => `erstellt am ${time}`,
  startsAt: (time) => `beginnt am ${time}`,
  expiresAt: (time) => `läuft ab am ${time}`,
  expiredAt: (time) => `abgelaufen am ${time}`,
  isDisabled: 'Er leitet nicht weiter, weil er deaktiviert ist.',
  isScheduled: (time) => `Er leitet vor dem ${time} nicht weiter.`,
  isExpired: (time) => `Er leitet nicht weiter, weil er am ${time} abgelaufen ist.`,
  isUsedUp: (limit) => `Er leitet nicht weiter, weil sein Klicklimit von ${limit} erreicht ist.`,
  isUsedUpSince: (limit, time) =>
    `Er leitet nicht weiter, weil sein Klicklimit von ${limit} am ${time} erreicht wurde.`,
  isBlocked:
    'Er leitet nicht weiter, weil er gesperrt wurde. Wenden Sie sich an den Betreiber dieses Dienstes.',
  isDeleted:
    'Er leitet nicht weiter, weil er gelöscht wurde. Seine Statistik und sein Verlauf bleiben erhalten.',
  isDeletedUntil: (time) =>
    `Er leitet nicht weiter, weil er gelöscht wurde. Bis zum ${time} kann er wiederhergestellt werden.`,
  changeStart: 'Beginn ändern',
  changeEnd: 'Ende ändern',
  changeLimit: 'Klicklimit ändern',
  createAnother: 'Neuen Link erstellen',
  removePassword: 'Passwort entfernen',
  saved: 'Gespeichert',
  nothingChanged: 'Es ist noch nichts geändert.',
  conflict: 'Der Link wurde inzwischen geändert',
  loadTheirs: 'Deren Werte laden',
  theirsLoaded: 'Die aktuellen Werte werden angezeigt.',
  keepMine: 'Meine behalten',
  keepMineHint:
    '„Meine behalten“ speichert die Felder, die Sie geändert haben. In allen anderen bleiben die fremden Werte.',
  stop: 'Link stoppen',
  disableHint: 'Ein deaktivierter Link leitet nicht weiter, bis er wieder aktiviert wird.',
  deleteLink: (link) => `${link} löschen?`,
  deleteWarning:
    'Er leitet nicht mehr weiter. Sie können ihn 30 Tage lang wiederherstellen. Seinen Code erhält nie ein anderer Link.',
  shares: 'Geteilte Statistik',
  sharesHint: 'Eine geheime Adresse zeigt die Statistik des Links ohne Schlüssel.',
  share: 'Statistik teilen',
  showDestination: 'Ziel zeigen',
  endShare: 'Beenden',
  endShareTitle: 'Diese Freigabe beenden?',
  endShareText: 'Ihre Adresse zeigt die Statistik nicht mehr.',
  codes: 'Weitere Codes',
  limits: 'Beginn, Ende, Klicklimit und Passwort',
  codesHint: 'Sie leiten weiter wie der erste und werden mit ihm zusammen gezählt.',
  addCode: 'Code hinzufügen',
  deleteCode: (code) => `Den Code ${code} löschen?`,
  deleteCodeWarning:
    'Er leitet dauerhaft nicht mehr weiter und wird nie wieder vergeben. Der Link bleibt bestehen.',
  size: 'Größe in Pixeln',
  sizeHint: 'Höchstens 4.000. Ein SVG hat jede Größe.',
  margin: 'Rand in Modulen',
  correction: 'Fehlerkorrektur',
  correctionHint: 'Wie viel beschädigt oder verdeckt sein darf.',
  correctionOfLogo: 'Ein Logo braucht die höchste Stufe.',
  corrections: {
    L: 'Niedrig: 7 %',
    M: 'Mittel: 15 %',
    Q: 'Hoch: 25 %',
    H: 'Am höchsten: 30 %',
  },
  dark: 'Dunkle Farbe',
  light: 'Helle Farbe',
  mark: 'Seine Besuche getrennt zählen, als „QR-Code“',
  logo: 'Logo',
  logoHint: 'PNG oder SVG, höchstens 1 MB. Es bedeckt ein Fünftel der Breite.',
  removeLogo: 'Logo entfernen',
  logoFaults: {
    type: 'Das Logo muss eine PNG- oder SVG-Datei sein.',
    size: 'Das Logo darf höchstens 1 MB groß sein.',
    content: 'Das Logo ist als Bild nicht lesbar.',
  },
  lowContrast:
    'Lesegeräte können diese Farben nicht lesen: Die dunkle muss deutlich dunkler als die helle sein, mit einem Kontrast von mindestens 3:1.',
  previewHint: 'Ein Muster mit Ihren Einstellungen. Das Speichern erstellt den QR-Code des Links.',
  qrCost:
    'Ein gespeicherter QR-Code zählt als einer des Monats. Ihn nochmals zu speichern, auch im anderen Format, ist kostenlos.',
  theQrCode: 'Der QR-Code',
  qrOf: (link) => `QR-Code von ${link}`,
  saveAs: { png: 'Als PNG speichern', svg: 'Als SVG speichern' },
});

export const make: typeof english.make = (number) => ({
  howMany: 'Anzahl',
  manyLinks: 'Viele Links',
  result: 'Leitet weiter zu {url}',
  aliasHint:
    'Das Ende des Kurzlinks: Buchstaben, Ziffern, Bindestriche und Unterstriche. Ohne Angabe erzeugt Linklog eines.',
  more: 'Weitere Optionen',
  create: 'Link erstellen',
  isLive: 'Ihr Link ist aktiv',
  utm: 'Kampagnenparameter (UTM)',
  utmHint: 'Sie werden für Ihre Auswertung an das Ziel und an die Ziele der Regeln angehängt.',
  utmNames: {
    source: 'Quelle',
    medium: 'Medium',
    campaign: 'Kampagne',
    term: 'Suchbegriff',
    content: 'Inhalt',
  },
  template: 'Vorlage',
  saveTemplate: 'Als Vorlage speichern',
  templateHint: 'Ein Name für diese Werte. Alle im Konto können sie verwenden.',
  templateSaved: 'Die Vorlage wurde gespeichert.',
  templateDeleted: 'Die Vorlage wurde gelöscht. Ihre Werte bleiben in diesem Formular.',
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
  columns: { destination: 'Ziel', shortLink: 'Kurzlink', error: 'Fehler' },
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

export const tags: typeof english.tags = (number) => ({
  search: 'Tags suchen',
  rename: 'Umbenennen',
  none: 'Es gibt noch keine Tags. Tags erhalten Links beim Erstellen oder Ändern.',
  noneMatch: 'Kein Tag passt.',
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
});

export const rules: typeof english.rules = {
  rules: 'Weiterleitungsregeln',
  hint: 'Besucher erhalten die URL der ersten Regel, die passt. Passt keine, erhalten sie das Ziel.',
  nameOfRule: 'Name der Regel',
  nameRequirement: 'Buchstaben, Ziffern, Bindestriche und Unterstriche',
  url: 'Ziel-URL',
  entry: (number) => `Eintrag ${number}`,
  urlOfEntry: (number) => `URL von Eintrag ${number}`,
  nameOfEntry: (number) => `Name von Eintrag ${number}`,
  weightOfEntry: (number, share) => `Gewicht von Eintrag ${number}, ${share}`,
  removeEntry: '{entry}Entfernen',
  unseenEntry: (number) => `Eintrag ${number} `,
  moveUp: '{rule}Nach oben',
  moveDown: '{rule}Nach unten',
  remove: '{rule}Entfernen',
  unseenRule: (number) => `Regel ${number} `,
  addEntry: 'Eintrag hinzufügen',
  split: 'Auf mehrere URLs aufteilen',
  addRule: 'Regel hinzufügen',
  templates: {
    iphones: 'iPhones weiterleiten …',
    country: 'Nach Land …',
    'ab-test': 'A/B-Test …',
    weekends: 'Wochenenden …',
    rule: 'Andere Regel …',
  },
  addCondition: 'Bedingung hinzufügen',
  times: 'Beginn und Ende',
  moved: (name, number) => `${name} ist jetzt Regel ${number}.`,
  removed: (name) => `${name} ist entfernt.`,
  query: 'Query-Parameter',
  queryHint: 'Ein Parameter je Zeile: name=wert, name=* für jeden Wert, !name für keinen.',
  networks: 'Netze',
  networksHint: 'IP-Adressen oder CIDRs, etwa 192.0.2.0/24.',
  address: 'IP-Adresse',
  any: 'beliebig',
  searchIn: (list) => `${list} suchen`,
  weekly: 'Nur zu bestimmten Zeiten der Woche',
  days: 'Tage',
  fromTime: 'Von (Uhrzeit)',
  toTime: 'Bis (Uhrzeit)',
  toTimeHint: 'Vor dem Beginn: am nächsten Tag.',
  starts: 'Beginn',
  ends: 'Ende',
  preview: 'Was erhält ein Besucher?',
  visitor: 'Ein Besucher',
  time: 'Zeit',
  chooseTime: 'Wählen Sie eine Zeit.',
  noRule: '→ das Ziel (keine Regel)',
  byRule: '→ {destinations} (Regel {rule})',
  unknownZone: 'Dieser Browser kennt eine Zeitzone der Regeln nicht.',
  allVisitors: 'Alle Besucher',
  inCountries: (countries) => `aus ${countries}`,
  inLanguages: (languages) => `Sprache ${languages}`,
  from: (time) => `ab ${time}`,
  until: (time) => `bis ${time}`,
};

export const options: typeof english.options = {
  options: 'Weiterleitung und Vorschau',
  usual: 'Wie üblich (302)',
  permanent: (status) => `${status}, dauerhaft`,
  statusHint:
    'Browser merken sich eine dauerhafte Weiterleitung 60 s lang: wiederholte Besuche werden nicht gezählt.',
  expiredUrlHint: 'Wohin Besucher gelangen, wenn die Zeit um ist oder die Klicks verbraucht sind.',
  cardHint: 'Was Messenger und soziale Netze statt der Vorschau des Ziels zeigen.',
  cardTitle: 'Überschrift',
  image: 'Bild (https)',
};
