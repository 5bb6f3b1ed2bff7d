/** Changes of links by their owners, and the comparison of the changes with the log. */
import { randomUUID } from 'node:crypto';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { evolveLink, initialState, type LinkState } from '../../../schemas/folds/link.js';
import type { HttpResponse, RequestOptions } from '../support/http.js';
import type { LogCopy } from './log-copy.js';
import type { ManagedLink, PromisedVersion, Promises } from './promises.js';
import type { Random } from '../support/random.js';

interface Managing {
  /** Sends a request to an API as the owner. @returns `null` if the outcome is unknown or the response 503 */
  readonly send: (path: string, options?: RequestOptions) => Promise<HttpResponse | null>;
  readonly promises: Promises;
  readonly random: Random;
}

/** @returns whether the change was accepted; 412 with `If-Match` is expected */
const patch = async (
  { send, promises }: Managing,
  { link: { code }, urls }: ManagedLink,
  is: PromisedVersion['is'],
  headers: Record<string, string> = {},
): Promise<boolean> => {
  if (is.url !== undefined) urls.add(is.url);
  const response = await send(`/v2/links/${code}`, { method: 'PATCH', headers, body: is });
  if (response === null || ('If-Match' in headers && response.status === 412)) return false;
  if (response.status !== 200) {
    promises.broken.push(`an edit of ${code} returned ${response.status}: ${response.text}`);
    return false;
  }
  const { version } = response.json() as LinkDetails;
  promises.versions.push({ code, version, is });
  return true;
};

const newUrl = (): string => `https://example.com/${randomUUID()}?of=edit`;

/** Two concurrent edits of one version: at most one is accepted. */
const race = async (managing: Managing, managed: ManagedLink): Promise<void> => {
  const { code } = managed.link;
  const etag = (await managing.send(`/v2/links/${code}`))?.headers.etag;
  if (etag === undefined) return;
  const edit = () => patch(managing, managed, { url: newUrl() }, { 'If-Match': etag });
  const won = await Promise.all([edit(), edit()]);
  if (won[0] && won[1]) {
    managing.promises.broken.push(`${code}: two edits of ${etag} were accepted`);
  }
};

const remove = async ({ send, promises }: Managing, managed: ManagedLink): Promise<void> => {
  const { code } = managed.link;
  managed.deletion = 'requested';
  const response = await send(`/v2/links/${code}`, { method: 'DELETE' });
  if (response === null) return;
  if (response.status === 204) managed.deletion = 'done';
  else promises.broken.push(`the deletion of ${code} returned ${response.status}`);
};

/** Makes a random change of the link, unless another change is in progress. */
export const manage = async (managing: Managing, managed: ManagedLink): Promise<void> => {
  if (managed.isBusy || managed.deletion !== 'none') return;
  const { random } = managing;
  const chosen = random.below(20);
  managed.isBusy = true;
  try {
    if (chosen < 12) await patch(managing, managed, { url: newUrl() });
    else if (chosen < 16) await patch(managing, managed, { disabled: random.below(2) === 0 });
    else if (chosen < 19) await race(managing, managed);
    else await remove(managing, managed);
  } finally {
    managed.isBusy = false;
  }
};

/** The fold of a link's events up to a version. */
const stateOf = (log: LogCopy, code: string, version = Infinity): LinkState =>
  (log.linkEvents.get(code) ?? [])
    .filter(({ sequence }) => sequence <= version)
    .reduce((state, event) => evolveLink(state, event), initialState);

/** Acknowledged changes that the log does not have at the version of the response. */
export const versionFaults = (
  versions: readonly PromisedVersion[],
  log: LogCopy,
): readonly string[] =>
  versions.flatMap(({ code, version, is: { url, disabled } }) => {
    const state = stateOf(log, code, version);
    const last = log.linkEvents.get(code)?.at(-1)?.sequence ?? 0;
    const holds =
      state.status !== 'none' &&
      last >= version &&
      (url === undefined || state.link.url === url) &&
      (disabled === undefined || state.restraints.disabled === disabled);
    return holds ? [] : [`${code} does not have its change at version ${version}`];
  });

/** Served visits that are missing in the log, or have another version there. */
export const servedFaults = (managed: readonly ManagedLink[], log: LogCopy): readonly string[] =>
  managed.flatMap(({ link: { code }, served }) =>
    [...served].flatMap(([request, url]) => {
      const visit = log.served.get(request);
      const state = stateOf(log, code, visit?.version ?? 0);
      return visit && state.status !== 'none' && state.link.url === url
        ? []
        : [`${code} redirected ${request} to ${url}, the log has ${visit?.version ?? 'no visit'}`];
    }),
  );

/** Visits of links with a limit after their deletion: the ledger decides both. */
export const lateClickFaults = (managed: readonly ManagedLink[], log: LogCopy): readonly string[] =>
  managed.flatMap(({ link: { code, maxClicks } }) => {
    const events = log.linkEvents.get(code) ?? [];
    const deleted = events.find(({ type }) => type === 'linklog.LinkDeleted.v1');
    if (maxClicks === null || !deleted) return [];
    const late = (log.visits.get(code) ?? []).filter((time) => time > deleted.time);
    return late.length === 0 ? [] : [`${code}: ${late.length} clicks after its deletion`];
  });
