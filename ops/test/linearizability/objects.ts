import { customAlphabet } from 'nanoid';
import type { RequestOptions } from '../support/http.js';
import { bearer, type Target } from '../chaos/setup.js';
import { issueKey, type IssuedKey } from '../support/product.js';
import type { Random } from '../support/random.js';

/** An operation, as the checker reads it: `op` names its step in the model. */
interface Input {
  readonly op: string;
  readonly url?: string;
  readonly maxClicks?: number;
  readonly ifMatch?: number;
  /** The links of the key. */
  readonly limit?: number;
}

/** An operation, and its request: visits are sent to an edge, the others to an API. */
export interface Request {
  readonly input: Input;
  readonly path: string;
  readonly options?: RequestOptions;
}

/** Returns a request. `version` is that of the last response. */
export type Choice = (version: number) => Request;

/** An object that several processes use concurrently. */
export interface Subject {
  readonly key: string;
  /** Creates the object, before other operations; `null`: the processes create it. */
  readonly first: Request | null;
  /** Requests that change nothing. */
  readonly reads: readonly Choice[];
  /** Requests that a process may choose, some of them more than once. */
  readonly requests: readonly Choice[];
}

/** The links of a month of the plan FREE. */
export const monthlyLinks = 8;

const maxLimit = 20;
/** Without vowels, so that an alias contains no reserved word. */
const newAlias = customAlphabet('bcdfghjkmnpqrvwxz', 20);

const repeated = <Item>(count: number, item: Item): readonly Item[] =>
  Array.from({ length: count }, () => item);

interface Context {
  readonly target: Target;
  /** The key of links; quotas have keys of their own. */
  readonly pro: IssuedKey;
  readonly random: Random;
}

/** The requests for the links of a key. */
const requestsOf = ({ pro, random }: Context) => {
  const key = newAlias();
  const path = `/v2/links/${key}`;
  const as = { headers: bearer(pro) };
  const newUrl = (): string => `https://example.com/${newAlias()}`;
  return {
    key,
    visit: (): Request => ({ input: { op: 'visit' }, path: `/${key}` }),
    get: (): Request => ({ input: { op: 'get' }, path, options: as }),
    delete: (): Request => ({
      input: { op: 'delete' },
      path,
      options: { ...as, method: 'DELETE' },
    }),
    create: (more: { readonly maxClicks?: number } = {}): Request => {
      const link = { url: newUrl(), ...more };
      const options = { ...as, method: 'POST', body: { ...link, alias: key } };
      return { input: { op: 'create', ...link }, path: '/v2/shorten', options };
    },
    setLimit: (): Request => {
      const body = { maxClicks: 1 + random.below(maxLimit) };
      return { input: { op: 'patch', ...body }, path, options: { ...as, method: 'PATCH', body } };
    },
    setUrl: (version?: number): Request => {
      const body = { url: newUrl() };
      const condition = version === undefined ? {} : { ifMatch: version };
      const headers = version === undefined ? {} : { 'If-Match': `"${version}"` };
      return {
        input: { op: 'patch', ...body, ...condition },
        path,
        options: { method: 'PATCH', body, headers: { ...as.headers, ...headers } },
      };
    },
  };
};

/** A fault prevents a key, or its event (202). @throws other errors */
const nullIfUnavailable = (error: unknown): null => {
  if (!(error instanceof Error)) throw error;
  if (!('code' in error) && !/^no key: (?:202|503) /.test(error.message)) throw error;
  return null;
};

/** The kinds of objects; each call returns a new one. */
export const kinds = {
  alias(context) {
    const { key, visit, get, ...writes } = requestsOf(context);
    const requests = [
      ...repeated(10, visit),
      ...repeated(4, get),
      ...repeated(3, () => writes.create()),
    ];
    return { key, first: null, reads: [visit, get], requests: [...requests, writes.delete] };
  },
  limit(context) {
    const { key, visit, get, create, setLimit } = requestsOf(context);
    const first = create({ maxClicks: 1 + context.random.below(maxLimit) });
    const requests = [...repeated(4, visit), ...repeated(2, get), setLimit];
    return { key, first, reads: [get], requests };
  },
  destination(context) {
    const { key, visit, get, create, setUrl } = requestsOf(context);
    const requests = [...repeated(4, visit), ...repeated(2, get), () => setUrl(), setUrl];
    return { key, first: create(), reads: [visit, get], requests };
  },
  async quota({ target }) {
    const key = await issueKey(target, { plan: 'FREE' }).catch(nullIfUnavailable);
    if (key === null) return null;
    const as = { headers: bearer(key) };
    const body = { url: 'https://example.com/' };
    const usage = (): Request => ({ input: { op: 'usage' }, path: '/v2/usage', options: as });
    const create = (): Request => ({
      ...{ input: { op: 'create', limit: monthlyLinks }, path: '/v2/shorten' },
      options: { ...as, method: 'POST', body },
    });
    return { key: key.id, first: null, reads: [usage], requests: [create, usage] };
  },
} satisfies Record<string, (context: Context) => Subject | Promise<Subject | null>>;

export type Kind = keyof typeof kinds;

export const kindNames = Object.keys(kinds) as Kind[];
