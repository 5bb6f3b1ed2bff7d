/** Changes of links by their owners, and the comparison of the changes with the log. */
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

/** Sends a request to an API as the owner. @returns `null` if the outcome is unknown or the response 503 */
export type SendAsOwner = (path: string, options: RequestOptions) => Promise<HttpResponse | null>;

interface Managing {
  readonly send: SendAsOwner;
  readonly promises: Promises;
  readonly random: Random;
  /** Called for each acknowledged change. */
  readonly changed: () => void;
}

const newUrl = (managed: ManagedLink): string => {
  const url = `https://example.com/${randomUUID()}?of=edit`;
  managed.urls.add(url);
  return url;
};

const unexpected = ({ promises }: Managing, what: string, response: HttpResponse): void => {
  promises.broken.push(`${what} returned ${response.status}: ${response.text}`);
};

/** Records a change that the link has from this version on. */
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
  const response = await managing.send(`/v2/links/${code}`, { method: 'PATCH', body });
  if (response === null) return;
  if (response.status === 200) noteVersion(managing, code, response.json() as LinkDetails, is);
  else unexpected(managing, `an edit of ${code}`, response);
};

/** Two concurrent edits of one version: at most one is accepted. */
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
    const response = await managing.send(path, { method: 'PATCH', headers, body: { url } });
    if (response === null || response.status === 412) return false;
    if (response.status === 200)
      noteVersion(managing, code, response.json() as LinkDetails, { url });
    else unexpected(managing, `an edit of ${code}`, response);
    return response.status === 200;
  };
  const won = await Promise.all([edit(newUrl(managed)), edit(newUrl(managed))]);
  if (won[0] && won[1])
    managing.promises.broken.push(`${code}: two edits of ${etag} were accepted`);
};

const remove = async (managing: Managing, managed: ManagedLink): Promise<void> => {
  const { code } = managed.link;
  managed.deletion = 'requested';
  const response = await managing.send(`/v2/links/${code}`, { method: 'DELETE' });
  if (response === null) return;
  if (response.status === 204) {
    managed.deletion = 'done';
    managing.changed();
  } else unexpected(managing, `the deletion of ${code}`, response);
};

/** Tags several links with one request. */
const tagTogether = async (managing: Managing, links: readonly ManagedLink[]): Promise<void> => {
  const tag = randomUUID();
  const shortCodes = links.map(({ link }) => link.code);
  const body = { shortCodes, change: { tags: [tag] } };
  const response = await managing.send('/v2/links/bulk', { method: 'POST', body });
  if (response === null) return;
  if (response.status !== 200) {
    unexpected(managing, 'a bulk change', response);
    return;
  }
  for (const result of (response.json() as BulkResponse).results) {
    if (result.success) noteVersion(managing, result.shortCode, result, { tag });
    else if (result.statusCode < 500)
      unexpected(managing, `a bulk change of ${result.shortCode}`, response);
  }
};

/** Makes a random change of the link, unless another change is in progress. */
export const manage = async (managing: Managing, managed: ManagedLink): Promise<void> => {
  if (managed.isBusy || managed.deletion !== 'none') return;
  const { random } = managing;
  const chosen = random.below(20);
  const together = managing.promises.managed.filter(
    (link) => link === managed || (chosen === 12 && !link.isBusy && link.deletion === 'none'),
  );
  for (const link of together) link.isBusy = true;
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
    for (const link of together) link.isBusy = false;
  }
};

/** The fold of a link's events up to a version. */
const stateOf = (log: LogCopy, code: string, version = Infinity): LinkState =>
  (log.linkEvents.get(code) ?? [])
    .filter(({ event }) => event.sequence <= version)
    .reduce((state, { event }) => evolveLink(state, event), initialState);

/** The fold of all events of a managed link, with its last version. */
export const managedState = (
  log: LogCopy,
  code: string,
): (ExistingLink & { version: number }) | null => {
  const state = stateOf(log, code);
  const last = log.linkEvents.get(code)?.at(-1);
  return state.status === 'none' || !last ? null : { ...state, version: last.event.sequence };
};

/** Acknowledged changes that the log does not have at the version of the response. */
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
    return holds ? [] : [`${code} does not have ${JSON.stringify(is)} at version ${version}`];
  });

/** Served visits that are missing in the log, or have another version there. */
export const servedFaults = (managed: readonly ManagedLink[], log: LogCopy): readonly string[] =>
  managed.flatMap(({ link: { code }, served }) =>
    [...served].flatMap(([request, url]) => {
      const visit = log.served.get(request);
      if (!visit) return [`${code} redirected ${request}, but the visit is not in the log`];
      const state = stateOf(log, code, visit.version ?? 0);
      return state.status !== 'none' && state.link.url === url
        ? []
        : [
            `${code} redirected ${request} to ${url}, which is not version ${visit.version ?? 'unknown'}`,
          ];
    }),
  );

/** Visits of links with a limit after their deletion: the ledger decides both. */
export const lateClickFaults = (managed: readonly ManagedLink[], log: LogCopy): readonly string[] =>
  managed.flatMap(({ link: { code, maxClicks } }) => {
    const events = log.linkEvents.get(code) ?? [];
    const deleted = events.find(({ event }) => event.type === 'linklog.LinkDeleted.v1')?.event;
    if (maxClicks === null || !deleted) return [];
    const late = (log.visits.get(code) ?? []).filter(({ time }) => time > deleted.time);
    return late.length === 0 ? [] : [`${code}: ${late.length} clicks after its deletion`];
  });
