/** German texts: people, roles and invitations. */
import type * as english from '../en/texts.js';

export const people: typeof english.people = {
  roles: { viewer: 'Betrachter', editor: 'Bearbeiter', admin: 'Verwalter', owner: 'Inhaber' },
  permissions: {
    viewer: 'Liest Links, Statistik, Ereignisse und Personen und erstellt QR-Codes.',
    editor: 'Erstellt, ändert, löscht und importiert außerdem Links.',
    admin: 'Verwaltet außerdem Domains, Webhooks und Schlüssel.',
    owner: 'Verwaltet außerdem Personen.',
  },
  installation: { auditor: 'Prüfer', operator: 'Betreiber' },
  installationHint:
    'Der Identitätsanbieter benennt auch Betreiber, die diese Konsole ganz verwenden, und Prüfer, die sie nur lesen.',
  rolesTitle: 'Rollen',
  role: 'Rolle',
  sources: {
    group: 'Der Identitätsanbieter verwaltet diese Rolle.',
    invitation: 'Hat eine Einladung angenommen.',
    operator: 'Von einem Betreiber hinzugefügt.',
    signUp: 'Hat sich registriert.',
  },
  you: 'Sie',
  none: 'Noch niemand hat sich mit dem Identitätsanbieter angemeldet.',
  noProvider:
    'Personen können sich nicht anmelden: Diese Installation hat keinen Identitätsanbieter (OIDC_ISSUER).',
  lastSeen: (time) => `Zuletzt gesehen ${time}.`,
  notSeen: 'Noch nicht gesehen.',
  changeRole: 'Rolle ändern',
  setRole: 'Rolle setzen',
  changed: 'Die Rolle wurde geändert.',
  removeTitle: (name) => `${name} entfernen?`,
  removeText: 'Der Zugang und seine Sitzungen enden jetzt.',
  revokeKeys: 'Die Schlüssel widerrufen, die diese Person erstellt hat',
  allAccounts: 'Alle Konten',
  removed: 'Die Person wurde entfernt.',
  invitations: 'Einladungen',
  noInvitations: 'Keine Einladung ist offen.',
  anyPerson: 'Alle, die die Adresse haben',
  withdraw: 'Zurückziehen',
  withdrawn: 'Die Einladung wurde zurückgezogen.',
  invite: 'Einladen',
  inviteTitle: 'Person einladen',
  inviteUse: 'Senden Sie sie der Person. Sie gilt einmal, 7 Tage lang.',
  email: 'E-Mail',
  emailHint:
    'Nur eine Person mit dieser bestätigten E-Mail kann annehmen. Leer: alle, die die Adresse haben.',
};
