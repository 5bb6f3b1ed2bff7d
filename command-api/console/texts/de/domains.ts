import type { FormatNumber } from '../../numbers.js';
import type { Texts } from '../en/texts.js';

export const domains = (number: FormatNumber): Texts['domains'] => ({
  status: { active: 'aktiv', pending: 'ausstehend' },
  redirects: {
    rootRedirect: 'Startseite',
    notFoundRedirect: 'Unbekannte Links',
    expiredRedirect: 'Abgelaufene Links',
  },
  redirectHints: {
    rootRedirect: 'Ersetzt die Seite der Domain ohne Kurzcode.',
    notFoundRedirect: 'Ersetzt die Seite für Links, die es nicht gibt.',
    expiredRedirect: 'Ersetzt die Seite für abgelaufene, deaktivierte und gelöschte Links.',
  },
  editTitle: (domain) => `Weiterleitungen von ${domain}`,
  editHint:
    'Browser werden zu diesen URLs weitergeleitet. Ohne URL erhalten sie die Seite von Linklog, wie andere Clients.',
  edit: 'Weiterleitungen ändern',
  save: 'Speichern',
  saved: 'Die Weiterleitungen wurden gespeichert.',
  ownPage: 'die Seite von Linklog',
  remove: 'Entfernen',
  removeTitle: (domain) => `${domain} entfernen?`,
  removePending: 'Die Anmeldung der Domain endet. Eine neue erhält einen anderen TXT-Eintrag.',
  removeActive:
    'Dieses Konto kann darauf keine Links mehr erstellen, und ein anderes Konto kann sie anmelden. Eine Domain mit Links kann nicht entfernt werden: Löschen Sie zuerst ihre Links.',
  removed: 'Die Domain wurde entfernt.',
  newDomain: 'Neue Domain',
  domainHint:
    'Ein Hostname, dessen DNS-Einträge auf diesen Dienst zeigen. Ein TXT-Eintrag bestätigt, dass er Ihnen gehört.',
  domainExample: 'go.beispiel.example',
  claim: 'Domain anmelden',
  claimed: 'Die Domain wurde angemeldet. Bestätigen Sie sie jetzt.',
  links: (count) => (count === 1 ? 'Ein Link' : `${number(count)} Links`),
  added: (day) => `Am ${day} von einem Betreiber hinzugefügt.`,
  verifiedOn: (day) => `Am ${day} bestätigt.`,
  claimedOn: (day) => `Am ${day} angemeldet.`,
  none: 'Dieses Konto hat noch keine eigenen Domains.',
  record: { type: 'Typ', name: 'Name', value: 'Wert' },
  recordPart: { type: 'den Typ', name: 'den Namen', value: 'den Wert' },
  recordHint:
    'Legen Sie diesen DNS-Eintrag an und bestätigen Sie dann die Domain. Eine Anmeldung endet nach 7 Tagen.',
  verify: 'Bestätigen',
  verified: 'Die Domain ist bestätigt.',
  noRecord:
    ': {name} hat noch keinen TXT-Eintrag. Bei einem neuen Eintrag kann es Minuten dauern, bis DNS-Server ihn liefern.',
  found: '. Gefunden:',
});
