import type { Context } from 'koa';
import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import { messages } from '../../../schemas/http/errors.js';
import type { KeptAnswer } from '../../ledger/idempotency.js';
import type { ShortenOutcome, ShortenResult } from '../../ledger/shorten.js';
import { bodyReader, parseJson } from '../body.js';
import { unavailable, type Reply } from '../reply.js';
import type { Idempotency, IdempotentRequest } from './idempotency.js';
import type { V2State } from './admitted-call.js';

/** Answers a POST whose body was parsed; `idempotent` is its right to one answer only, if any. */
export type PostWork = (
  json: unknown,
  state: V2State,
  idempotent: IdempotentRequest | null,
) => Promise<Reply>;

/** A POST: its body of at most `bodyLimit` bytes, an earlier answer if there is one, its work. */
export const idempotentPost = (
  idempotency: Idempotency,
  bodyLimit: number,
  work: PostWork,
): ((ctx: Context, state: V2State) => Promise<Reply>) => {
  const readBody = bodyReader(bodyLimit);
  return async (ctx, state) => {
    const body = await readBody(ctx);
    if (body.type === 'refused') return body.reply;
    const header = ctx.headers['idempotency-key'];
    const check = await idempotency.check(header, state.call.key.id, ctx.path, body.text);
    if (check.type === 'reply') return check.reply;
    try {
      const parsed = parseJson(body.text);
      if (parsed.type === 'refused') return parsed.reply;
      return await work(parsed.json, state, check.type === 'first' ? check.request : null);
    } finally {
      if (check.type === 'first') check.release();
    }
  };
};

/** What is to be kept of a success, or nothing where no Idempotency-Key was given. */
export const answerToKeep = (
  idempotent: IdempotentRequest | null,
  status: number,
  body: object,
  outcomes: readonly ShortenOutcome[],
): KeptAnswer | null =>
  idempotent && {
    ...idempotent.scope,
    bodyHash: idempotent.bodyHash,
    status,
    answer: JSON.stringify(body),
    codes: outcomes.flatMap((outcome) =>
      outcome.type === 'created' ? [outcome.event.subject] : [],
    ),
  };

/** How long an answer waits for the log: the client hears within 2 s, come what may. */
const logWithinMs = 1_500;

/**
 * The reply to what was decided, once the log has it; or to the same request, when another node
 * answered it meanwhile.
 */
export const replyTo = async (
  result: ShortenResult,
  idempotent: IdempotentRequest | null,
  {
    idempotency,
    delivery,
  }: { readonly idempotency: Idempotency; readonly delivery: OutboxDelivery },
  reply: (outcomes: readonly ShortenOutcome[]) => Reply,
): Promise<Reply> => {
  if (result.type === 'answered') {
    return idempotent ? idempotency.replay(result.answer, idempotent.bodyHash) : unavailable();
  }
  const logged = await delivery.logged(result.receipt, logWithinMs);
  return logged ? reply(result.outcomes) : unavailable(messages.logUnavailable);
};
