import type { Context } from 'koa';
import { messages } from '../../schemas/http/errors.js';
import { linkDomainQuery } from '../../schemas/http/link-address.js';
import { linkCodeOf, subjectOf } from '../../schemas/link-subject.js';
import { failure } from '../http/reply.js';
import { parseQuery, refusedWith, type Read } from '../http/requests.js';

/** The subject of the link that a path with `:shortCode` and its `?domain=` address; 404 if no link can have it. */
export const addressedLink = (ctx: Context, parameter: (name: string) => string): Read<string> => {
  const query = parseQuery(linkDomainQuery, ctx);
  if (query.type === 'refused') return query;
  const { domain = null } = query.value;
  const code = linkCodeOf(parameter('shortCode'));
  return code === null
    ? refusedWith(failure(404, messages.codeNotFound))
    : { type: 'read', value: subjectOf({ domain, code }) };
};
