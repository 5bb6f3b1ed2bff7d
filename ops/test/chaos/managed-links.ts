/** Owners' changes of links, and what became of them by the log. */
import { randomUUID } from 'node:crypto';
import type { BulkResponse } from '../../../schemas/http/bulk.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import {
  evolveLink,
  initialState,
  type LinkState,
  type ExistingLink,
} from '../../../schemas/folds/link.js';
import type { HttpResponse, RequestOptions } from '../support/http.js';
import type { LogCopy } from './log-copy.js';
import type { ManagedLink, PromisedVersion, Promises } from './promises.js';
import type { Random } from '../support/random.js';

/** Asks an API as the owner; `null` where it is unknown what was done, or nothing for a while. */
export type SendAsOwner = (path: string, options: RequestOptions) => Promise<HttpResponse | null>;

interface Managing {
  readonly send: SendAsOwner;
  readonly promises: Promises;
  readonly random: Random;
  /** Hears of each change that was acknowledged. */
  readonly changed: () => void;
}

const newUrl = (managed: ManagedLink): string => {
  const url = `https://example.com/${randomUUID()}?of=edit`;
  managed.urls.add(url);
  return url;
};

const unexpected = ({ promises }: Managing, what: string, answer: HttpResponse): void => {
  promises.broken.push(`${what} was answered ${answer.status}: ${answer.text}`);
};

/** Notes what the link is from this version on. */
const noteVersion = (
  { promises, changed }: Managing,
  code: string,
  { version }: Pick<LinkDetails, 'version'>,
  is: PromisedVersion['is'],
): void => {
  promises.versions.push({ code, version, is });
  changed();
};

const patch = async (
  managing: Managing,
  { link: { code } }: ManagedLink,
  body: object,
  is: PromisedVersion['is'],
): Promise<void> => {
  const answer = await managing.send(`/v2/links/${code}`, { method: 'PATCH', body });
  if (answer === null) return;
  if (answer.status === 200) noteVersion(managing, code, answer.json() as LinkDetails, is);
  else unexpected(managing, `an edit of ${code}`, answer);
};

/** Two edits of one version: one wins, at most. */
const race = async (managing: Managing, managed: ManagedLink): Promise<void> => {
  const path = `/v2/links/${managed.link.code}`;
  const { code } = managed.link;
  const details = await managing.send(path, {});
  const etag = details?.headers.etag;
  if (etag === undefined) {
    if (details) unexpected(managing, path, details);
    return;
  }
  const edit = async (url: string): Promise<boolean> => {
    const headers = { 'If-Match': etag };
    const answer = await managing.send(path, { method: 'PATCH', headers, body: { url } });
    if (answer === null || answer.status === 412) return false;
    if (answer.status === 200) noteVersion(managing, code, answer.json() as LinkDetails, { url });
    else unexpected(managing, `an edit of ${code}`, answer);
    return answer.status === 200;
  };
  const won = await Promise.all([edit(newUrl(managed)), edit(newUrl(managed))]);
  if (won[0] && won[1]) managing.promises.broken.push(`${code}: two edits of ${etag} won`);
};

const remove = async (managing: Managing, managed: ManagedLink): Promise<void> => {
  const { code } = managed.link;
  managed.deletion = 'asked';
  const answer = await managing.send(`/v2/links/${code}`, { method: 'DELETE' });
  if (answer === null) return;
  if (answer.status === 204) {
    managed.deletion = 'done';
    managing.changed();
  } else unexpected(managing, `the deletion of ${code}`, answer);
};

/** Gives several links a tag with one request. */
const tagTogether = async (managing: Managing, all: readonly ManagedLink[]): Promise<void> => {
  const tag = randomUUID();
  const shortCodes = all.map(({ link }) => link.code);
  const body = { shortCodes, change: { tags: [tag] } };
  const answer = await managing.send('/v2/links/bulk', { method: 'POST', body });
  if (answer === null) return;
  if (answer.status !== 200) {
    unexpected(managing, 'a bulk change', answer);
    return;
  }
  for (const result of (answer.json() as BulkResponse).results) {
    if (result.success) noteVersion(managing, result.shortCode, result, { tag });
    else if (result.statusCode < 500)
      unexpected(managing, `a bulk change of ${result.shortCode}`, answer);
  }
};

/** Changes the link in one way or another, unless somebody does already. */
export const manage = async (managing: Managing, managed: ManagedLink): Promise<void> => {
  if (managed.isBusy || managed.deletion !== 'none') return;
  const { random } = managing;
  const chosen = random.below(20);
  const together = managing.promises.managed.filter(
    (one) => one === managed || (chosen === 12 && !one.isBusy && one.deletion === 'none'),
  );
  for (const one of together) one.isBusy = true;
  try {
    if (chosen < 8) {
      const url = newUrl(managed);
      await patch(managing, managed, { url }, { url });
    } else if (chosen < 12) {
      const title = randomUUID();
      await patch(managing, managed, { title }, { title });
    } else if (chosen === 12) await tagTogether(managing, together);
    else if (chosen < 16) {
      const disabled = random.below(2) === 0;
      await patch(managing, managed, { disabled }, { disabled });
    } else if (chosen < 19) await race(managing, managed);
    else await remove(managing, managed);
  } finally {
    for (const one of together) one.isBusy = false;
  }
};

/** What the log makes of a link up to a version, or of all its events. */
const stateOf = (log: LogCopy, code: string, version = Infinity): LinkState =>
  (log.linkEvents.get(code) ?? [])
    .filter(({ event }) => event.sequence <= version)
    .reduce((state, { event }) => evolveLink(state, event), initialState);

/** What the log makes of a managed link, with its last version. */
export const managedState = (
  log: LogCopy,
  code: string,
): (ExistingLink & { version: number }) | null => {
  const state = stateOf(log, code);
  const last = log.linkEvents.get(code)?.at(-1);
  return state.status === 'none' || !last ? null : { ...state, version: last.event.sequence };
};

/** Changes that were answered, and that the log does not have so at that version. */
export const versionFaults = (
  versions: readonly PromisedVersion[],
  log: LogCopy,
): readonly string[] =>
  versions.flatMap(({ code, version, is }) => {
    const { url, title, disabled, tag } = is;
    const state = stateOf(log, code, version);
    const last = log.linkEvents.get(code)?.at(-1)?.event.sequence ?? 0;
    const holds =
      state.status !== 'none' &&
      last >= version &&
      (url === undefined || state.link.url === url) &&
      (title === undefined || state.link.title === title) &&
      (disabled === undefined || state.restraints.disabled === disabled) &&
      (tag === undefined || state.link.tags.includes(tag));
    return holds ? [] : [`${code} was to have ${JSON.stringify(is)} at version ${version}`];
  });

/** Visits that the log has with another version than was served, or not at all. */
export const servedFaults = (managed: readonly ManagedLink[], log: LogCopy): readonly string[] =>
  managed.flatMap(({ link: { code }, served }) =>
    [...served].flatMap(([request, url]) => {
      const visit = log.served.get(request);
      if (!visit) return [`${code} redirected ${request}, and the log has no such visit`];
      const state = stateOf(log, code, visit.version ?? 0);
      return state.status !== 'none' && state.link.url === url
        ? []
        : [`${code} led ${request} to ${url}, which is not version ${visit.version ?? 'unknown'}`];
    }),
  );

/** Visits of a limit that the log has after the link's deletion: the ledger decides both. */
export const lateClickFaults = (managed: readonly ManagedLink[], log: LogCopy): readonly string[] =>
  managed.flatMap(({ link: { code, maxClicks } }) => {
    const events = log.linkEvents.get(code) ?? [];
    const deleted = events.find(({ event }) => event.type === 'linklog.LinkDeleted.v1')?.event;
    if (maxClicks === null || !deleted) return [];
    const late = (log.visits.get(code) ?? []).filter(({ time }) => time > deleted.time);
    return late.length === 0 ? [] : [`${code}: ${late.length} clicks after its deletion`];
  });
