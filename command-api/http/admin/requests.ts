import type { Context } from 'koa';
import { z } from 'zod';
import type { OutboxDelivery, Receipt } from '../../../ops/platform/outbox/port.js';
import type { Actor } from '../../../schemas/decision.js';
import type { RequestState } from '../app.js';
import { json, type Reply } from '../reply.js';
import { bodyReader, parseAs, parseJson } from '../requests.js';

/** A request of an operator whose token was right. */
export interface AdminState extends RequestState {
  actor: Actor;
}

const readBody = bodyReader(65_536);

/** Parses an operator's body and answers it, or says what is wrong with it. */
export const withBody = async <Schema extends z.ZodType>(
  ctx: Context,
  schema: Schema,
  answer: (request: z.output<Schema>) => Promise<Reply>,
): Promise<Reply> => {
  const body = await readBody(ctx);
  if (body.type === 'refused') return body.reply;
  const parsed = parseJson(body.value);
  if (parsed.type === 'refused') return parsed.reply;
  const request = parseAs(schema, parsed.value);
  return request.type === 'read' ? answer(request.value) : request.reply;
};

/** Parses a query and answers it, or says what is wrong with it. */
export const withQuery = async <Schema extends z.ZodType>(
  ctx: Context,
  schema: Schema,
  answer: (query: z.output<Schema>) => Promise<Reply>,
): Promise<Reply> => {
  const query = parseAs(schema, { ...ctx.query });
  return query.type === 'read' ? answer(query.value) : query.reply;
};

const limitMessage = 'limit must be between 1 and 1000';

/** The entries of one page. */
export const pageLimit = z
  .string({ error: limitMessage })
  .regex(/^\d{1,4}$/, limitMessage)
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= 1_000, limitMessage);

/** Milliseconds that a change which has taken effect waits for the log. */
const logWithinMs = 2_000;

/** Answers a change that is in effect: with its status, or with 202 while the log lacks its event. */
export type Settle = (receipt: Receipt, status: 200 | 201, body: object) => Promise<Reply>;

export const createSettle =
  (delivery: OutboxDelivery): Settle =>
  async (receipt, status, body) =>
    json((await delivery.logged(receipt, logWithinMs)) ? status : 202, body);
