/** The filter of a list of links, in the query of the page's address. */

export const statuses = {
  active: 'Active',
  disabled: 'Disabled',
  scheduled: 'Scheduled',
  expired: 'Expired',
  blocked: 'Blocked',
  deleted: 'Deleted',
} as const;
export type Status = keyof typeof statuses;

export const orders = { created: 'Newest first', clicks: 'Most clicked first' } as const;
export type Order = keyof typeof orders;

/** An empty text does not filter. */
export interface LinkFilter {
  readonly search: string;
  readonly tags: readonly string[];
  readonly status: Status | '';
  readonly destination: string;
  readonly domain: string;
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
  const status = text('status');
  const sort = text('sort');
  return {
    search: text('search'),
    tags: [...new Set(parameters.getAll('tag').filter((tag) => tag !== ''))],
    status: isOneOf(statuses, status) ? status : '',
    destination: text('destination'),
    domain: text('domain'),
    account: text('account'),
    sort: isOneOf(orders, sort) ? sort : 'created',
    after: text('after'),
  };
};

/** The inverse of `readFilter`; also the query of the API. */
export const writeFilter = (filter: LinkFilter): string => {
  const { search, tags, status, destination, domain, account, sort, after } = filter;
  const query = new URLSearchParams();
  if (search !== '') query.set('search', search);
  for (const tag of tags) query.append('tag', tag);
  if (status !== '') query.set('status', status);
  if (destination !== '') query.set('destination', destination);
  if (domain !== '') query.set('domain', domain);
  if (account !== '') query.set('account', account);
  if (sort !== 'created') query.set('sort', sort);
  if (after !== '') query.set('after', after);
  return query.toString();
};

/** The filter that shows all links. */
export const noFilter = {
  search: '',
  tags: [],
  status: '',
  destination: '',
  domain: '',
  account: '',
} as const satisfies Partial<LinkFilter>;

export const showsAll = (filter: LinkFilter): boolean =>
  writeFilter({ ...filter, sort: 'created', after: '' }) === '';
