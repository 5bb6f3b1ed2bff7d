/** Which links a page of the list shows, as the address bar has it. */

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

/** An empty text filters nothing. */
export interface LinkFilter {
  readonly search: string;
  readonly tags: readonly string[];
  readonly status: Status | '';
  readonly domain: string;
  /** Of operators alone: developers see the links of their own. */
  readonly account: string;
  readonly sort: Order;
  /** Where the page begins: the `next` of the page before; empty on the first one. */
  readonly after: string;
}

const isOneOf = <Name extends string>(
  names: Readonly<Record<Name, string>>,
  name: string,
): name is Name => Object.hasOwn(names, name);

/** What the query of an address asks for; what is wrong or missing in it is the default. */
export const readFilter = (query: string): LinkFilter => {
  const asked = new URLSearchParams(query);
  const text = (name: string): string => (asked.get(name) ?? '').trim();
  const status = text('status');
  const sort = text('sort');
  return {
    search: text('search'),
    tags: [...new Set(asked.getAll('tag').filter((tag) => tag !== ''))],
    status: isOneOf(statuses, status) ? status : '',
    domain: text('domain'),
    account: text('account'),
    sort: isOneOf(orders, sort) ? sort : 'created',
    after: text('after'),
  };
};

/** The query that `readFilter` reads as this filter, and that the API takes. */
export const writeFilter = (filter: LinkFilter): string => {
  const { search, tags, status, domain, account, sort, after } = filter;
  const query = new URLSearchParams();
  if (search !== '') query.set('search', search);
  for (const tag of tags) query.append('tag', tag);
  if (status !== '') query.set('status', status);
  if (domain !== '') query.set('domain', domain);
  if (account !== '') query.set('account', account);
  if (sort !== 'created') query.set('sort', sort);
  if (after !== '') query.set('after', after);
  return query.toString();
};

/** Whether it shows all links, in whatever order and on whatever page. */
export const showsAll = ({ search, tags, status, domain, account }: LinkFilter): boolean =>
  search === '' && tags.length === 0 && status === '' && domain === '' && account === '';
