/** The life cycle of a key that its owner creates, and the expected responses to calls with it. */
import { randomUUID } from 'node:crypto';
import type { HttpResponse, RequestOptions } from '../support/http.js';
import { keyMarker } from './log-copy.js';
import type { Promises } from './promises.js';

export interface KeyCalls {
  /** Sends a request as the owner, to any API. @returns `null` if the outcome is unknown */
  readonly send: (path: string, options: RequestOptions) => Promise<HttpResponse | null>;
  /** Sends a request with a key to each API. @returns the statuses of the responses */
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

/** Revokes keys that remained after missing responses. */
const revokeAll = async ({ send }: KeyCalls, rootId: string): Promise<void> => {
  const page = await send('/v2/keys?limit=100', {});
  if (page?.status !== 200) return;
  const { keys } = page.json() as { readonly keys: readonly { readonly id: string }[] };
  for (const { id } of keys) {
    if (id !== rootId) await send(`/v2/keys/${id}`, { method: 'DELETE' });
  }
};

/**
 * Creates a key, narrows its scopes, rotates and revokes it. Checks each API after each step. Ends early if a response
 * is missing.
 */
export const liveKey = async (
  calls: KeyCalls,
  rootId: string,
  promises: Promises,
): Promise<void> => {
  const { send, everywhere } = calls;
  const expected = (
    what: string,
    status: number,
    response: HttpResponse | null,
  ): response is HttpResponse => {
    if (response === null) return false;
    if (response.status === status) return true;
    promises.broken.push(`${what} returned ${response.status}: ${response.text}`);
    return false;
  };
  const expectStatus = async (
    what: string,
    status: number,
    key: string,
    path = '/v2/usage',
    options: RequestOptions = {},
  ): Promise<void> => {
    for (const found of await everywhere(key, path, options)) {
      if (found !== status) promises.broken.push(`${what}: a call returned ${found}`);
    }
  };
  const note = (marker: string): void => {
    promises.changes.push({ marker, published: true });
  };

  const [name, renamed] = [randomUUID(), randomUUID()];
  const body = { name, scopes: ['links:create', 'stats:read'] };
  const creation = await send('/v2/keys', { method: 'POST', body });
  if (creation?.status === 400 && creation.text.includes(mostKeys)) return revokeAll(calls, rootId);
  if (!expected('a key', 201, creation)) return;
  note(name);
  const { id, key } = creation.json() as Secret;
  await expectStatus('a new key', 200, key);

  const path = `/v2/keys/${id}`;
  const narrower = { name: renamed, scopes: ['stats:read'] };
  if (!expected(path, 200, await send(path, { method: 'PATCH', body: narrower }))) return;
  note(renamed);
  const link = { method: 'POST', body: { url: 'https://example.com/no-scope' } };
  await expectStatus('a key without links:create', 403, key, '/v2/shorten', link);

  const rotation = await send(`${path}/rotate`, { method: 'POST', body: {} });
  if (!expected('a rotation', 200, rotation)) return;
  note(keyMarker({ type: 'linklog.ApiKeyRotated.v1', subject: id }));
  const rotated = rotation.json() as Secret;
  await expectStatus('a rotated key', 401, key);
  await expectStatus('the new secret of a key', 200, rotated.key);

  if (!expected('a revocation', 204, await send(path, { method: 'DELETE' }))) return;
  note(keyMarker({ type: 'linklog.ApiKeyRevoked.v1', subject: id }));
  await expectStatus('a revoked key', 401, rotated.key);
};
