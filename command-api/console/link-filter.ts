/** The filter of a list of links, in the query of the page's address. */
import { addDays, isDay } from './periods.js';
import { texts } from './texts.js';

export const { statuses, orders } = texts.values;
export type Status = keyof typeof statuses;
export type Order = keyof typeof orders;

/** An empty text does not filter. */
export interface LinkFilter {
  /** Terms, separated by white space. */
  readonly search: string;
  readonly tags: readonly string[];
  readonly status: Status | '';
  readonly destination: string;
  readonly domain: string;
  /** The first and the last day of creation, in the time zone of the browser. */
  readonly from: string;
  readonly to: string;
  /** Only for operators. */
  readonly account: string;
  readonly sort: Order;
  /** The cursor from `next` of the previous page; empty on the first page. */
  readonly after: string;
}

const isOneOf = <Name extends string>(
  names: Readonly<Record<Name, string>>,
  name: string,
): name is Name => Object.hasOwn(names, name);

/** Reads a filter. Invalid and missing values become the default. */
export const readFilter = (query: string): LinkFilter => {
  const parameters = new URLSearchParams(query);
  const text = (name: string): string => (parameters.get(name) ?? '').trim();
  const day = (name: string): string => (isDay(text(name)) ? text(name) : '');
  const status = text('status');
  const sort = text('sort');
  return {
    search: text('search'),
    tags: [...new Set(parameters.getAll('tag').filter((tag) => tag !== ''))],
    status: isOneOf(statuses, status) ? status : '',
    destination: text('destination'),
    domain: text('domain'),
    from: day('from'),
    to: day('to'),
    account: text('account'),
    sort: isOneOf(orders, sort) ? sort : 'created',
    after: text('after'),
  };
};

/** @param period the parameters of the days of creation */
const write = (
  filter: LinkFilter,
  period: readonly (readonly [name: string, value: string])[],
): string => {
  const { search, tags, status, destination, domain, account, sort, after } = filter;
  const parameters = [
    ['search', search],
    ...tags.map((tag) => ['tag', tag] as const),
    ['status', status],
    ['destination', destination],
    ['domain', domain],
    ...period,
    ['account', account],
    ['sort', sort === 'created' ? '' : sort],
    ['after', after],
  ] as const;
  const query = new URLSearchParams();
  for (const [name, value] of parameters) if (value !== '') query.append(name, value);
  return query.toString();
};

/** The inverse of `readFilter`. */
export const writeFilter = (filter: LinkFilter): string =>
  write(filter, [
    ['from', filter.from],
    ['to', filter.to],
  ]);

/** The query of the API. @param tz the time zone of the days */
export const apiQueryOf = (filter: LinkFilter, tz: string): string =>
  write(filter, [
    ['createdAfter', filter.from],
    ['createdBefore', filter.to && addDays(filter.to, 1)],
    ['tz', filter.from + filter.to && tz],
  ]);

export const noFilter = {
  search: '',
  tags: [],
  status: '',
  destination: '',
  domain: '',
  from: '',
  to: '',
  account: '',
} as const satisfies Partial<LinkFilter>;

export const showsAll = (filter: LinkFilter): boolean =>
  writeFilter({ ...filter, sort: 'created', after: '' }) === '';

/** The host that a text names, which may be a whole URL, also without scheme. */
export const hostIn = (text: string): string => {
  const host = text.trim();
  const url = /^https?:\/\//i.test(host) ? host : `https://${host}`;
  return host.includes('/') && URL.canParse(url) ? new URL(url).hostname : host;
};

/** The cursors of the pages that were shown, by the query of the page that follows. */
const cursors = new Map<string, string>();

/** Remembers that a page leads to another one. */
export const rememberNext = (filter: LinkFilter, next: string): void => {
  cursors.set(writeFilter({ ...filter, after: next }), filter.after);
};

/** The cursor of the page before; empty for the first one, `null` if it was not shown since the console was opened. */
export const previousOf = (filter: LinkFilter): string | null =>
  filter.after === '' ? null : (cursors.get(writeFilter(filter)) ?? null);
