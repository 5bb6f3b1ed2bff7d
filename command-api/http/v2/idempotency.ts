import { createHash } from 'node:crypto';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import { topics } from '../../../schemas/events/topics.js';
import { messages } from '../../../schemas/http/errors.js';
import { findAnswers, type IdempotencyScope, type KeptAnswer } from '../../ledger/idempotency.js';
import { failure, json, type Reply } from '../reply.js';

const maxKeyLength = 255;

/** A request that is answered once. */
export interface IdempotentRequest {
  readonly scope: IdempotencyScope;
  readonly bodyHash: Buffer;
}

export type IdempotencyCheck =
  /** No Idempotency-Key: each request is its own. */
  | { readonly type: 'none' }
  | { readonly type: 'first'; readonly request: IdempotentRequest; readonly release: () => void }
  | { readonly type: 'reply'; readonly reply: Reply };

export interface Idempotency {
  /** The scope stays in flight, and rivals get 409, until `release` is called. */
  check(
    header: string | readonly string[] | undefined,
    keyId: string,
    path: string,
    body: string,
  ): Promise<IdempotencyCheck>;
  /** A kept answer once more; 422 when it was another body's, 409 until the log has its links. */
  replay(answer: KeptAnswer, bodyHash: Buffer): Promise<Reply>;
}

/** Knows the answers that are kept, and the requests of this process that are in flight. */
export const createIdempotency = (pool: Pool, delivery: OutboxDelivery): Idempotency => {
  const inFlight = new Set<string>();

  const replay = async (answer: KeptAnswer, bodyHash: Buffer): Promise<Reply> => {
    if (!answer.bodyHash.equals(bodyHash)) return failure(422, messages.idempotencyMismatch);
    return (await delivery.hasLoggedFirst(topics.links.name, answer.codes))
      ? json(answer.status, answer.answer, { 'Idempotency-Replayed': 'true' })
      : failure(409, messages.idempotencyInFlight);
  };

  return {
    replay,
    async check(header, keyId, path, body) {
      if (header === undefined) return { type: 'none' };
      if (typeof header !== 'string' || header.length < 1 || header.length > maxKeyLength) {
        return { type: 'reply', reply: failure(400, messages.idempotencyKey) };
      }
      const scope = { keyId, path, idempotencyKey: header };
      const name = JSON.stringify(scope);
      if (inFlight.has(name)) {
        return { type: 'reply', reply: failure(409, messages.idempotencyInFlight) };
      }
      inFlight.add(name);
      const release = (): void => {
        inFlight.delete(name);
      };
      const bodyHash = createHash('sha256').update(body).digest();
      try {
        const [answer] = await findAnswers(pool, [scope]);
        if (!answer) return { type: 'first', request: { scope, bodyHash }, release };
        const reply = await replay(answer, bodyHash);
        release();
        return { type: 'reply', reply };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
};
