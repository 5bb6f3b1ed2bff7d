export const sessions = {
  title: 'Sessions',
  intro: 'Browsers that are signed in to this console.',
  unknownBrowser: 'Unknown browser',
  current: 'this session',
  times: (started: string, used: string) => `Signed in ${started}, last used ${used}.`,
  signOut: 'Sign out',
  signedOut: 'The session was ended.',
  signOutAll: 'Sign out everywhere',
  signOutAllTitle: 'Sign out everywhere?',
  signOutAllText: 'All these sessions end, including this one.',
};
