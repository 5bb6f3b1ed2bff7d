import type { Texts } from '../en/texts.js';

export const sessions: Texts['sessions'] = {
  title: 'Sitzungen',
  intro: 'Browser, die an dieser Konsole angemeldet sind.',
  unknownBrowser: 'Unbekannter Browser',
  current: 'diese Sitzung',
  times: (started, used) => `Angemeldet ${started}, zuletzt benutzt ${used}.`,
  signOut: 'Abmelden',
  signedOut: 'Die Sitzung wurde beendet.',
  signOutAll: 'Überall abmelden',
  signOutAllTitle: 'Überall abmelden?',
  signOutAllText: 'Alle diese Sitzungen enden, auch diese.',
};
