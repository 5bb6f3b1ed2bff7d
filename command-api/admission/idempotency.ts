import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';
import type { BatchResponse } from '../../schemas/http/batch.js';
import { messages } from '../../schemas/http/errors.js';
import { answerOfOutline, type BatchOutline } from '../links/create/command.js';
import {
  findRecords,
  type IdempotentRequest,
  type IdempotencyRecord,
} from './idempotency-records.js';
import { noteIgnoredFields } from '../http/ignored-fields.js';
import { failure, json, unavailable, type Reply } from '../http/reply.js';
import { readCreatedLinks } from '../links/create/created-links.js';
import { parseJson, type Handler } from '../http/requests.js';
import type { V2State } from './admitted-call.js';

const maxKeyLength = 255;
/** Its 200 is the answer of `reuse`. */
const shortenPath = '/v2/shorten';

export const reusedHeader = { 'Linklog-Reused': 'true' };

/** Answers a POST by its parsed body; `request` is `null` without an Idempotency-Key. */
type PostWork = (
  json: unknown,
  state: V2State,
  request: IdempotentRequest | null,
) => Promise<Reply>;

interface IdempotencyDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly delivery: OutboxDelivery;
  readonly shortUrlHost: string;
}

/** Finds the answers that were kept, and knows the requests of this process that are in flight. */
export const createIdempotency = (deps: IdempotencyDeps) => {
  const { pool, outbox, clock, delivery, shortUrlHost } = deps;
  const inFlight = new Set<string>();

  /**
   * The body of the first answer: equal byte for byte, whatever happened to the links since, unless SHORT_URL_HOST was
   * changed. `null` if the event that created one of the links is in no projection.
   */
  const bodyOf = async (
    { answer, isOutline, codes }: IdempotencyRecord,
    body: string,
  ): Promise<string | BatchResponse | null> => {
    if (!isOutline) return answer;
    const outline = JSON.parse(answer) as BatchOutline;
    // Its hash is that of the first request, which was valid.
    const { urls } = JSON.parse(body) as { readonly urls: readonly unknown[] };
    const created = await readCreatedLinks(pool, outbox, codes);
    return answerOfOutline(outline, urls, created, shortUrlHost);
  };

  /** A stored answer: 422 if it is another body's, 409 until the log has its links. */
  const replay = async (
    answer: IdempotencyRecord,
    { bodyHash }: IdempotentRequest,
    body: string,
  ): Promise<Reply> => {
    if (!answer.bodyHash.equals(bodyHash)) return failure(422, messages.idempotencyMismatch);
    if (!(await delivery.hasPublishedFirst(topics.links.name, answer.codes))) {
      return failure(409, messages.idempotencyInFlight);
    }
    const first = await bodyOf(answer, body);
    if (first === null) return unavailable();
    const isReused = answer.status === 200 && answer.path === shortenPath;
    return json(answer.status, first, {
      'Idempotency-Replayed': 'true',
      ...(isReused && reusedHeader),
    });
  };

  const answerOnce = async (
    request: IdempotentRequest,
    body: string,
    work: () => Promise<Reply>,
  ): Promise<Reply> => {
    const name = JSON.stringify(request.scope);
    if (inFlight.has(name)) return failure(409, messages.idempotencyInFlight);
    inFlight.add(name);
    try {
      const [answer] = await findRecords(pool, [request.scope], clock);
      return await (answer ? replay(answer, request, body) : work());
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
        return answerOnce(request, state.body, async () => run(request));
      };
    },
  };
};
