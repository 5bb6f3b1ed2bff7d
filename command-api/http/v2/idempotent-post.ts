import type { Context } from 'koa';
import type { KeptAnswer } from '../../ledger/idempotency.js';
import type { ShortenResult } from '../../ledger/shorten.js';
import { bodyReader, parseJson } from '../body.js';
import { unavailable, type Reply } from '../reply.js';
import { replay, type IdempotencyDesk, type IdempotentRequest } from './idempotency.js';
import type { V2State } from './pass.js';

/** Answers a POST whose body was parsed; `idempotent` is its claim to be answered once, if any. */
export type PostWork = (
  json: unknown,
  state: V2State,
  idempotent: IdempotentRequest | null,
) => Promise<Reply>;

/** A POST: its body of at most `bodyLimit` bytes, an earlier answer if there is one, its work. */
export const idempotentPost = (
  desk: IdempotencyDesk,
  bodyLimit: number,
  work: PostWork,
): ((ctx: Context, state: V2State) => Promise<Reply>) => {
  const readBody = bodyReader(bodyLimit);
  return async (ctx, state) => {
    const body = await readBody(ctx);
    if (body.type === 'refused') return body.reply;
    const header = ctx.headers['idempotency-key'];
    const check = await desk.check(header, state.pass.key.id, ctx.path, body.text);
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
): KeptAnswer | null =>
  idempotent && {
    ...idempotent.scope,
    bodyHash: idempotent.bodyHash,
    status,
    answer: JSON.stringify(body),
  };

/** The reply to an answer that another node gave to the same request meanwhile. */
export const replayResult = (
  { answer }: Extract<ShortenResult, { type: 'answered' }>,
  idempotent: IdempotentRequest | null,
): Reply => (idempotent ? replay(answer, idempotent.bodyHash) : unavailable());
