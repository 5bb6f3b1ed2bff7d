import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { topics } from '../../../schemas/events/topics.js';
import { messages } from '../../../schemas/http/errors.js';
import { findAnswers, type IdempotentRequest, type KeptAnswer } from '../../ledger/kept-answers.js';
import { noteIgnoredFields } from '../ignored-fields.js';
import { failure, json, type Reply } from '../reply.js';
import { parseJson, type Handler } from '../requests.js';
import type { V2State } from './admitted-call.js';

const maxKeyLength = 255;

/** Answers a POST by its parsed body; `request` is `null` without an Idempotency-Key. */
type PostWork = (
  json: unknown,
  state: V2State,
  request: IdempotentRequest | null,
) => Promise<Reply>;

/** Finds the answers that were kept, and knows the requests of this process that are in flight. */
export const createIdempotency = (pool: Pool, clock: LedgerClock, delivery: OutboxDelivery) => {
  const inFlight = new Set<string>();

  /** A kept answer once more: 422 if it was another body's, 409 until the log has its links. */
  const replay = async (answer: KeptAnswer, bodyHash: Buffer): Promise<Reply> => {
    if (!answer.bodyHash.equals(bodyHash)) return failure(422, messages.idempotencyMismatch);
    return (await delivery.hasLoggedFirst(topics.links.name, answer.codes))
      ? json(answer.status, answer.answer, { 'Idempotency-Replayed': 'true' })
      : failure(409, messages.idempotencyInFlight);
  };

  const answerOnce = async (
    request: IdempotentRequest,
    work: () => Promise<Reply>,
  ): Promise<Reply> => {
    const name = JSON.stringify(request.scope);
    if (inFlight.has(name)) return failure(409, messages.idempotencyInFlight);
    inFlight.add(name);
    try {
      const [answer] = await findAnswers(pool, [request.scope], clock);
      return await (answer ? replay(answer, request.bodyHash) : work());
    } finally {
      inFlight.delete(name);
    }
  };

  return {
    replay,
    /** A POST: replays an earlier answer, or does its work. Both name the fields that the schema strips. */
    post(schema: z.ZodType, work: PostWork): Handler<V2State> {
      return (ctx, state) => {
        const parsed = parseJson(state.body);
        if (parsed.type === 'read') noteIgnoredFields(state, schema, parsed.value);
        const run = (request: IdempotentRequest | null): Promise<Reply> | Reply =>
          parsed.type === 'read' ? work(parsed.value, state, request) : parsed.reply;
        const key = ctx.headers['idempotency-key'];
        if (key === undefined) return run(null);
        if (typeof key !== 'string' || key.length < 1 || key.length > maxKeyLength) {
          return failure(400, messages.idempotencyKey);
        }
        const request = {
          scope: { keyId: state.call.key.id, path: ctx.path, idempotencyKey: key },
          bodyHash: createHash('sha256').update(state.body).digest(),
        };
        return answerOnce(request, async () => run(request));
      };
    },
  };
};
