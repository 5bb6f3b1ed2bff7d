import type { Context } from 'koa';
import { linksWithCodes } from '../../ops/ledger/codes.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { messages } from '../../schemas/http/errors.js';
import { linkDomainQuery } from '../../schemas/http/link-address.js';
import { linkCodeOf, subjectOf } from '../../schemas/link-subject.js';
import type { RequestState } from '../http/app.js';
import { failure } from '../http/reply.js';
import { parseQuery, refusedWith, type Read } from '../http/requests.js';

/** The entity tag of a link's version. */
export const etagOf = (version: number): string => `"${version}"`;

/** Weak tags match too, because compressing proxies weaken tags. */
const entityTag = /^(?:W\/)?"([1-9]\d*)"$/;

/** The versions in `If-Match` (RFC 9110); `null` (no header, or `*`): any version. */
export const ifMatch = (header: string | undefined): readonly number[] | null => {
  if (header === undefined || header.trim() === '*') return null;
  return header.split(',').flatMap((tag) => {
    const version = entityTag.exec(tag.trim())?.[1];
    return version === undefined ? [] : [Number(version)];
  });
};

/** The domain that a request names; `null`: the default domain. */
export const namedDomain = (
  name: string | null | undefined,
  { defaultDomain }: Pick<RequestState, 'defaultDomain'>,
): string | null => (name === defaultDomain ? null : (name ?? null));

/** A query with the domain that it names, if it names one. */
export const withNamedDomain = <Query extends { readonly domain?: string | undefined }>(
  query: Query,
  state: Pick<RequestState, 'defaultDomain'>,
): Omit<Query, 'domain'> & { readonly domain?: string | null | undefined } =>
  query.domain === undefined ? query : { ...query, domain: namedDomain(query.domain, state) };

/** The subject that a path with `:shortCode` and its `?domain=` address; 404 if no code can be it. */
export const addressedCode = (ctx: Context, parameter: (name: string) => string): Read<string> => {
  const query = parseQuery(linkDomainQuery, ctx);
  if (query.type === 'refused') return query;
  const domain = namedDomain(query.value.domain, ctx.state);
  const code = linkCodeOf(parameter('shortCode'));
  return code === null
    ? refusedWith(failure(404, messages.codeNotFound))
    : { type: 'read', value: subjectOf({ domain, code }, (ctx.state as RequestState).ignoresCase) };
};

/** The subject of the link that has the addressed code, as its first or a further one. */
export const addressedLink = async (
  { pool }: { readonly pool: Pool },
  ctx: Context,
  parameter: (name: string) => string,
): Promise<Read<string>> => {
  const code = addressedCode(ctx, parameter);
  if (code.type === 'refused') return code;
  const [value = code.value] = await linksWithCodes(pool, [code.value]);
  return { type: 'read', value };
};
