/** German texts: the pages of operators. */
import type * as english from '../en/later-texts.js';

export const operators: typeof english.operators = (number) => ({
  name: 'Bezeichnung',
  state: 'Zustand',
  since: 'Seit',
  ofAccount: (account) => `Konto ${account}`,
  addDomain: 'Domain hinzufügen',
  addTheDomain: 'Domain hinzufügen',
  addDomainHint: 'Sie ist sofort aktiv: Ihre DNS-Einträge werden nicht geprüft.',
  release: 'Freigeben',
  releaseDomain: (domain) => `${domain} freigeben?`,
  releaseEffect: (account) =>
    `Ihre Links antworten mit 404, bis das Konto ${account} die Domain wieder erhält.`,
  addedByOperator: (date) =>
    date === null
      ? 'Von einem Betreiber hinzugefügt.'
      : `Am ${date} von einem Betreiber hinzugefügt.`,
  verified: (date) =>
    date === null
      ? 'Durch ihren TXT-Eintrag bestätigt.'
      : `Am ${date} durch ihren TXT-Eintrag bestätigt.`,
  noDomains: 'Kein Konto hat eine Domain.',
  codeOrUrl: 'Kurzcode oder Kurz-URL',
  linkOrder:
    'Konto für Konto, dessen neueste Links zuerst. Filtern Sie nach Konto, oder sortieren Sie nach Klicks.',
  showLink: 'Link anzeigen',
  blockReason: 'Grund der Sperre',
  unblockReason: 'Grund für das Ende der Sperre',
  reasonHint: 'Erforderlich. Er wird im Verlauf gespeichert.',
  block: 'Sperren',
  unblock: 'Entsperren',
  blockedLink: (subject) => `${subject} ist gesperrt.`,
  unblockedLink: (subject) => `${subject} ist nicht mehr gesperrt.`,
  abusePeriods: { hour: 'Letzte Stunde', day: 'Letzter Tag', week: 'Letzte Woche' },
  clickedLinks: 'Meistgeklickte Links',
  growth: 'Wachstum',
  growthHint:
    'Das Wachstum vergleicht die Klicks mit dem Zeitraum davor: ×12 bedeutet zwölfmal so viele.',
  clickedAccounts: 'Konten dieser Links',
  newestAccounts: 'Neueste Konten',
  sharedDestinations: 'Gemeinsame Ziele',
  noneShared: 'Es gibt keine.',
  sharedHint: 'Hosts aktiver Links mehrerer Konten, die ihr Ziel in diesem Zeitraum erhielten.',
  accounts: 'Konten',
  dependencies: 'Abhängigkeiten',
  lag: 'Rückstand',
  deadLetters: 'Dead Letters',
  parked: 'Zurückgestellt',
  lagHint: 'Rückstand: Datensätze des Logs, die noch nicht angewendet sind.',
  workOnProjections: 'Arbeiten an Projektionen',
  healthy: 'Alle Systeme arbeiten',
  unhealthy: 'Einige Systeme sind ausgefallen',
  faulty: 'Arbeitet mit Störungen',
  draining: 'Dieser Knoten wird beendet',
  backlog: 'Rückstau dieses Knotens',
  noBacklog: 'Dieser Knoten hat weder einen Spool noch die Kompaktierung des Logs.',
  spooledVisits: 'Besuche im Spool',
  leftSpools: 'Spools beendeter Prozesse',
  damagedFiles: 'Beschädigte Spool-Dateien',
  uncompacted: 'Zu kompaktierende Ereignisse',
  processes: 'Prozesse',
  processTable: 'Tabelle der Prozesse',
  node: 'Knoten, Prozess-ID',
  version: 'Fassung',
  services: 'Dienste',
  runningSince: 'Läuft seit',
  redrive: 'Erneut anwenden',
  rebuild: 'Neu aufbauen',
  rollback: 'Zurücksetzen',
  confirmWork: (work, projection) => `${projection}: ${work}?`,
  redriveEffect:
    'Dead Letters und die dahinter zurückgestellten Ereignisse werden der Reihe nach erneut angewendet.',
  rebuildEffect:
    'Eine neue Projektion wird aus dem ganzen Log aufgebaut und ersetzt die aktive, sobald sie aufgeholt hat. Das ' +
    'kann lange dauern. Bis dahin bleibt die aktive in Gebrauch. Das Archiv erhält die Ereignisse, die ihm fehlen.',
  rollbackEffect: 'Die Projektion von vor dem letzten Neuaufbau holt auf und ersetzt die aktive.',
  failed: (error) => `fehlgeschlagen: ${error}`,
  running: 'läuft',
  done: 'fertig',
  applied: (applied, remaining) =>
    remaining === 0
      ? `fertig, ${number(applied)} angewendet`
      : `fertig, ${number(applied)} angewendet, ${number(remaining)} übrig`,
  lastWork: '{work} von {actor}, {time}: {outcome}',
  rebuiltElsewhere: 'Ein anderer Prozess baut sie neu auf.',
  building: (done, total) => `Neuaufbau: ${number(done)} von ${number(total)} Datensätzen,`,
  hasDeadLetters: 'Dead Letters vorhanden',
  beingBuilt: 'wird neu aufgebaut',
  upToDate: 'aktuell',
  behind: 'im Rückstand',
  projectionsHint:
    'Lesemodelle, die aus dem Log entstehen. Rückstand: Datensätze des Logs, die noch nicht angewendet sind. Dead ' +
    'Letters: Ereignisse, die nicht angewendet werden konnten; spätere Ereignisse desselben Links oder Schlüssels sind ' +
    'dahinter zurückgestellt.',
  newLinks: 'Neue Links',
  aliases: 'Aliasse',
  passwords: 'Passwörter',
  expiry: 'Ablauf',
  features: 'Funktionen',
  featuresHint: 'Sie gelten für alle Konten. Vorhandene Links sind nicht betroffen.',
  maintenance: 'Wartung',
  maintenanceIsOn: 'Die Wartung ist eingeschaltet: Die API und alle Kurzlinks antworten mit 503.',
  maintenanceIsOff: 'Die Wartung ist ausgeschaltet: Alle Kurzlinks arbeiten.',
  startMaintenance: 'Wartung einschalten',
  endMaintenance: 'Wartung ausschalten',
  maintenanceEffect:
    'Die API und alle Kurzlinks aller Konten antworten mit 503, bis die Wartung ausgeschaltet wird.',
  typeWord: (word) => `Geben Sie zur Bestätigung ${word} ein`,
  reservedAliases: 'Reservierte Aliasse',
  reservedHint:
    'Kein Konto kann einen reservierten Alias verwenden, außer ein Betreiber erlaubt es.',
  reservedWords:
    'Reserviert sind die Pfade von Linklog, Namen von Marken und Staaten, und solche Namen mit Wörtern wie „login“.',
  lookUp: 'Alias nachschlagen',
  grant: 'Einem Konto erlauben',
  allowAlias: (alias) => `Einem Konto ${alias} erlauben`,
  reserveAgain: (alias) => `${alias} wieder reservieren?`,
  revokeAlias: 'Wieder reservieren',
  grantedAlias: (account, alias) => `${account} darf ${alias} jetzt verwenden.`,
  revokedAlias: (alias) => `Kein Konto darf ${alias} noch verwenden.`,
  grantedAliases: 'Erlaubte Aliasse',
  noneGranted: 'Kein Konto darf einen reservierten Alias verwenden.',
  notGranted: (alias) => `${alias} ist reserviert. Kein Konto darf ihn verwenden.`,
  notReserved: (alias) => `${alias} ist nicht reserviert. Jedes Konto darf ihn verwenden.`,
  moreGranted: (shown) => `Die ersten ${number(shown)} werden angezeigt.`,
  changesHint:
    'Änderungen an Schlüsseln, Personen, Domains, Webhooks, reservierten Aliassen, Schaltern und Projektionen, und ' +
    'Änderungen an Links durch Betreiber, die neuesten zuerst. Andere Änderungen eines Links stehen in seinem Verlauf.',
  changedBy: 'Von (Name oder ID)',
  kindOfChange: 'Art der Änderung',
  noChanges: 'Es gibt keine weiteren Änderungen.',
  createKey: 'Schlüssel erstellen',
  plan: 'Tarif',
  planOf: (name) => `Tarif von ${name}`,
  changePlan: 'Tarif ändern',
  callsPerMinute: 'Aufrufe je Minute',
  limits: 'Grenzen',
  accountFormat: '1 bis 64 Buchstaben, Ziffern, Punkte, Binde- und Unterstriche',
  keyAccountHint: 'Seine Links gehören zu diesem Konto.',
  changeKey: 'Schlüssel ändern',
  unchanged: 'Unverändert',
  change: 'Ändern',
  switchedOff: 'ausgeschaltet',
  switchOff: 'Ausschalten',
  switchOn: 'Einschalten',
  switchOffKey: 'Schlüssel ausschalten?',
  switchOffEffect:
    'Aufrufe mit {name} und mit den damit erstellten Schlüsseln werden abgelehnt, bis er wieder eingeschaltet ' +
    'wird. Seine Sitzungen enden.',
  revokeEffect:
    'Aufrufe mit {name} und mit den damit erstellten Schlüsseln werden ab jetzt abgelehnt. Das lässt sich nicht ' +
    'rückgängig machen. Seine Links bleiben.',
  keyCreated: 'Erstellt am {date}.',
  keyDerived: 'Erstellt am {date} mit einem Schlüssel unter {root}.',
  keyEnds: (time) => `Läuft ab: ${time}.`,
  usage: (month, minute) =>
    `Dieser Monat: ${number(month.calls)} ${month.calls === 1 ? 'Aufruf' : 'Aufrufe'}, ${number(month.links)} ${month.links === 1 ? 'Link' : 'Links'}, ${number(month.qrCodes)} ${month.qrCodes === 1 ? 'QR-Code' : 'QR-Codes'}; ` +
    `diese Minute: ${number(minute.used)} von ${number(minute.limit)} Aufrufen.`,
});
