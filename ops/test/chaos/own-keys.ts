/** The life of a key that its owner makes, and what each call with it must be answered. */
import { randomUUID } from 'node:crypto';
import type { HttpResponse, RequestOptions } from '../support/http.js';
import { keyMarker } from './log-copy.js';
import type { Promises } from './promises.js';

/** Asks each API, or the first of them that answers; `null` where it is unknown what was done. */
export interface KeyCalls {
  /** As the owner. */
  readonly send: (path: string, options: RequestOptions) => Promise<HttpResponse | null>;
  /** With a key, at each API: the statuses of those that answered. */
  readonly everywhere: (
    key: string,
    path: string,
    options?: RequestOptions,
  ) => Promise<readonly number[]>;
}

interface Secret {
  readonly id: string;
  readonly key: string;
}

const mostKeys = 'At most 100 keys an account';

/** Revokes what was left where an answer was lacking. */
const sweep = async ({ send: ask }: KeyCalls, rootId: string): Promise<void> => {
  const page = await ask('/v2/keys?limit=100', {});
  if (page?.status !== 200) return;
  const { keys } = page.json() as { readonly keys: readonly { readonly id: string }[] };
  for (const { id } of keys) {
    if (id !== rootId) await ask(`/v2/keys/${id}`, { method: 'DELETE' });
  }
};

/**
 * Makes a key, narrows its scopes, rotates and revokes it; sees after each step what each API makes of
 * it. Ends where an answer is lacking.
 */
export const liveKey = async (
  calls: KeyCalls,
  rootId: string,
  promises: Promises,
): Promise<void> => {
  const { send: ask, everywhere } = calls;
  const expected = (
    what: string,
    status: number,
    answer: HttpResponse | null,
  ): answer is HttpResponse => {
    if (answer === null) return false;
    if (answer.status === status) return true;
    promises.broken.push(`${what} was answered ${answer.status}: ${answer.text}`);
    return false;
  };
  const refusedOrNot = async (
    what: string,
    status: number,
    key: string,
    path = '/v2/usage',
    options: RequestOptions = {},
  ): Promise<void> => {
    for (const found of await everywhere(key, path, options)) {
      if (found !== status) promises.broken.push(`${what}: a call was answered ${found}`);
    }
  };
  const note = (marker: string): void => {
    promises.changes.push({ marker, published: true });
  };

  const [name, renamed] = [randomUUID(), randomUUID()];
  const body = { name, scopes: ['links:create', 'stats:read'] };
  const made = await ask('/v2/keys', { method: 'POST', body });
  if (made?.status === 400 && made.text.includes(mostKeys)) return sweep(calls, rootId);
  if (!expected('a key', 201, made)) return;
  note(name);
  const { id, key } = made.json() as Secret;
  await refusedOrNot('a new key', 200, key);

  const path = `/v2/keys/${id}`;
  const narrower = { name: renamed, scopes: ['stats:read'] };
  if (!expected(path, 200, await ask(path, { method: 'PATCH', body: narrower }))) return;
  note(renamed);
  const creation = { method: 'POST', body: { url: 'https://example.com/no-scope' } };
  await refusedOrNot('a key without links:create', 403, key, '/v2/shorten', creation);

  const rotation = await ask(`${path}/rotate`, { method: 'POST', body: {} });
  if (!expected('a rotation', 200, rotation)) return;
  note(keyMarker({ type: 'linklog.ApiKeyRotated.v1', subject: id }));
  const rotated = rotation.json() as Secret;
  await refusedOrNot('a rotated key', 401, key);
  await refusedOrNot('the new secret of a key', 200, rotated.key);

  if (!expected('the end of a key', 204, await ask(path, { method: 'DELETE' }))) return;
  note(keyMarker({ type: 'linklog.ApiKeyRevoked.v1', subject: id }));
  await refusedOrNot('a revoked key', 401, rotated.key);
};
