import type { Context } from 'koa';
import { z } from 'zod';
import { bodyReader, parseJson } from '../body.js';
import { failure, type Reply } from '../reply.js';

const readBody = bodyReader(65_536);

const firstMessage = (error: z.ZodError): string => error.issues[0]?.message ?? 'Bad Request';

/** Parses an operator's body and answers it, or says what is wrong with it. */
export const withBody = async <Schema extends z.ZodType>(
  ctx: Context,
  schema: Schema,
  answer: (request: z.output<Schema>) => Promise<Reply>,
): Promise<Reply> => {
  const body = await readBody(ctx);
  if (body.type === 'refused') return body.reply;
  const parsed = parseJson(body.text);
  if (parsed.type === 'refused') return parsed.reply;
  const request = schema.safeParse(parsed.json);
  return request.success ? answer(request.data) : failure(400, firstMessage(request.error));
};

/** Parses a query and answers it, or says what is wrong with it. */
export const withQuery = async <Schema extends z.ZodType>(
  ctx: Context,
  schema: Schema,
  answer: (query: z.output<Schema>) => Promise<Reply>,
): Promise<Reply> => {
  const query = schema.safeParse({ ...ctx.query });
  return query.success ? answer(query.data) : failure(400, firstMessage(query.error));
};

const limitMessage = 'limit must be between 1 and 1000';

/** How many of a list come at once. */
export const pageLimit = z
  .string({ error: limitMessage })
  .regex(/^\d{1,4}$/, limitMessage)
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= 1_000, limitMessage);
