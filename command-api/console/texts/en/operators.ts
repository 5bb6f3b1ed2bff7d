/** English texts: the pages of operators. */
import type { FormatNumber } from '../../locale.js';

export const operators = (number: FormatNumber) => ({
  name: 'Name',
  state: 'State',
  since: 'Since',
  ofAccount: (account: string) => `account ${account}`,
  addDomain: 'Add a domain',
  addTheDomain: 'Add the domain',
  addDomainHint: 'It is active immediately: its DNS records are not checked.',
  release: 'Release',
  releaseDomain: (domain: string) => `Release ${domain}?`,
  releaseEffect: (account: string) =>
    `Its links return 404 until account ${account} gets the domain again.`,
  addedByOperator: (date: string | null) =>
    date === null ? 'Added by an operator.' : `Added by an operator on ${date}.`,
  verified: (date: string | null) =>
    date === null ? 'Verified by its TXT record.' : `Verified by its TXT record on ${date}.`,
  noDomains: 'No account has a domain.',
  codeOrUrl: 'Short code or short URL',
  showLink: 'Show the link',
  blockReason: 'Reason for the block',
  unblockReason: 'Reason for the end of the block',
  reasonHint: 'It is recorded in the history.',
  block: 'Block',
  unblock: 'Unblock',
  dependencies: 'Dependencies',
  lag: 'Lag',
  deadLetters: 'Dead letters',
  parked: 'Parked',
  lagHint: 'Lag: records of the log that are not applied yet.',
  workOnProjections: 'Work on projections',
  healthy: 'All systems operational',
  unhealthy: 'Some systems have failed',
  backlog: 'Backlog of this node',
  noBacklog: 'This node has neither a spool nor the compaction of the log.',
  spooledVisits: 'Visits in the spool',
  leftSpools: 'Spools of ended processes',
  damagedFiles: 'Damaged spool files',
  uncompacted: 'Events to compact',
  processes: 'Processes',
  processTable: 'Table of processes',
  node: 'Node, process ID',
  version: 'Version',
  services: 'Services',
  runningSince: 'Running since',
  redrive: 'Redrive',
  rebuild: 'Rebuild',
  rollback: 'Roll back',
  confirmWork: (work: string, projection: string) => `${work} ${projection}?`,
  redriveEffect: 'Dead letters, and the events parked behind them, are applied again, in order.',
  rebuildEffect:
    'A new projection is built from the whole log and replaces the live one when it has caught up. This ' +
    'may take long. The live one stays in use until then. The archive gets the events that it lacks.',
  rollbackEffect:
    'The projection from before the last rebuild catches up and replaces the live one.',
  failed: (error: string) => `failed: ${error}`,
  running: 'running',
  done: 'done',
  applied: (applied: number, remaining: number) =>
    remaining === 0
      ? `done, ${number(applied)} applied`
      : `done, ${number(applied)} applied, ${number(remaining)} remain`,
  lastWork: '{work} by {actor}, {time}: {outcome}',
  rebuiltElsewhere: 'Another process rebuilds it.',
  building: (done: number, total: number) =>
    `Rebuild: ${number(done)} of ${number(total)} records,`,
  hasDeadLetters: 'dead letters',
  beingBuilt: 'being rebuilt',
  upToDate: 'up to date',
  behind: 'behind',
  projectionsHint:
    'Read models that are folded from the log. Lag: records of the log that are not applied yet. Dead letters: ' +
    'events that could not be applied; later events of the same link or key are parked behind them.',
  newLinks: 'New links',
  aliases: 'Aliases',
  passwords: 'Passwords',
  expiry: 'Expiry',
  features: 'Features',
  featuresHint: 'They apply to all accounts. Existing links are not affected.',
  maintenance: 'Maintenance',
  maintenanceIsOn: 'Maintenance is on: the API and all short links return 503.',
  maintenanceIsOff: 'Maintenance is off: all short links work.',
  startMaintenance: 'Switch maintenance on',
  endMaintenance: 'Switch maintenance off',
  maintenanceEffect:
    'The API and all short links of all accounts return 503 until maintenance is switched off.',
  typeWord: (word: string) => `Type ${word} to confirm`,
  reservedAliases: 'Reserved aliases',
  reservedHint: 'No account can use a reserved alias unless an operator allows it.',
  grant: 'Allow',
  allowAlias: 'Allow a reserved alias',
  reserveAgain: (alias: string) => `Reserve ${alias} again?`,
  revokeAlias: 'No longer allow',
  grantedAlias: (account: string, alias: string) => `${account} may use ${alias} now.`,
  revokedAlias: (alias: string) => `No account may use ${alias} any more.`,
  grantedAliases: 'Allowed aliases',
  noneGranted: 'No account may use a reserved alias.',
  notGranted: (alias: string) => `No account may use ${alias}.`,
  moreGranted: (shown: number) => `The first ${number(shown)} are shown.`,
  changesHint:
    'Changes of keys, people, domains, webhooks, reserved aliases, switches and projections, newest first. Changes of a ' +
    'link are in its history.',
  noChanges: 'There are no more changes.',
  createKey: 'Create the key',
  plan: 'Plan',
  planOf: (name: string) => `Plan of ${name}`,
  changePlan: 'Change plan',
  callsPerMinute: 'Calls per minute',
  limits: 'Limits',
  keyAccountHint: 'Its links belong to this account.',
  changeKey: 'Change the key',
  unchanged: 'Unchanged',
  change: 'Change',
  switchedOff: 'switched off',
  switchOff: 'Switch off',
  switchOn: 'Switch on',
  switchOffKey: 'Switch the key off?',
  switchOffEffect:
    'Calls with {name}, and with the keys that were created with it, are rejected until it is switched on again. ' +
    'Its sessions end.',
  revokeEffect:
    'Calls with {name}, and with the keys that were created with it, are rejected from now on. This cannot be ' +
    'undone. Its links stay.',
  keyCreated: 'Created {date}.',
  keyDerived: 'Created {date} with a key below {root}.',
  keyEnds: (time: string) => `Expires ${time}.`,
  usage: (
    month: { readonly calls: number; readonly links: number; readonly qrCodes: number },
    minute: { readonly used: number; readonly limit: number },
  ) =>
    `This month: ${number(month.calls)} ${month.calls === 1 ? 'call' : 'calls'}, ${number(month.links)} ${month.links === 1 ? 'link' : 'links'}, ${number(month.qrCodes)} ${month.qrCodes === 1 ? 'QR code' : 'QR codes'}; ` +
    `this minute: ${number(minute.used)} of ${number(minute.limit)} calls.`,
});
