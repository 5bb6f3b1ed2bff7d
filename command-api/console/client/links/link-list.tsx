import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import type { LinkDetails, LinkPage } from '../../../../schemas/http/links.js';
import { ownZoneOf } from '../../format.js';
import {
  apiQueryOf,
  type LinkFilter,
  previousOf,
  readFilter,
  rememberNext,
  writeFilter,
} from '../../link-filter.js';
import { texts } from '../../texts.js';
import { type Loaded, useApi } from '../app/hooks.js';
import { ListPages } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { Filters } from './filters.js';
import { LinkTable, type Selection } from './link-table.js';

const { common, links: text } = texts;

const pageSize = 50;

/** The maximum of `count`. */
const maxCount = 1_000;

interface List<Page> extends Loaded<Page> {
  readonly filter: LinkFilter;
  /** Identifies the filter and the page. */
  readonly query: string;
  /** The address of the first page of another filter. */
  readonly hrefOf: (change: Partial<LinkFilter>) => string;
}

/** Loads the page of links that the address selects. @param hasAccounts for operators */
export const useLinkList = <Page extends LinkPage>(hasAccounts: boolean): List<Page> => {
  const { url } = useLocation();
  const read = readFilter(url.split('?')[1] ?? '');
  const filter = hasAccounts ? read : { ...read, account: '' };
  const query = apiQueryOf(filter, ownZoneOf());
  const base = hasAccounts ? '/admin/links' : '/v2/links';
  const loaded = useApi<Page>(`${base}?limit=${pageSize}&count=1&${query}`);
  const next = loaded.value?.next ?? null;
  if (next !== null && !loaded.isLoading) rememberNext(filter, next);
  const hrefOf = (change: Partial<LinkFilter>): string => {
    const changed = { ...filter, after: '', ...change };
    // Only the links of one account can be ordered by clicks.
    const sort = hasAccounts && changed.account === '' ? 'created' : changed.sort;
    const written = writeFilter({ ...changed, sort });
    return written === '' ? '/console/links' : `/console/links?${written}`;
  };
  return { ...loaded, filter, query, hrefOf };
};

interface Props {
  readonly list: List<LinkPage>;
  /** The links of the page. */
  readonly links: readonly (LinkDetails & { readonly account?: string })[];
  readonly shortUrlHost: string;
  /** For operators, who see the links of all accounts. */
  readonly hasAccounts?: boolean;
  readonly selection?: Selection;
  /** Above the table. */
  readonly children?: ComponentChildren;
}

/** The filters and a page of links. The API may examine many links in several pages. */
export const LinkList = ({ list, links, shortUrlHost, hasAccounts = false, ...rest }: Props) => {
  const { filter, value, failure, isLoading, reload, hrefOf } = list;
  const { route } = useLocation();
  const count = value?.count;
  const next = value?.next ?? null;
  const isEmpty = value !== undefined && links.length === 0;
  const previous = previousOf(filter);
  return (
    <>
      <Filters
        filter={filter}
        shortUrlHost={shortUrlHost}
        hasAccounts={hasAccounts}
        hrefOf={hrefOf}
        onChange={(change) => route(hrefOf(change))}
      />
      <Trouble failure={failure} onRetry={reload} />
      <section class="card stack list" aria-label={common.links} aria-busy={isLoading}>
        {count != null && (
          <p role="status">{(count < maxCount ? text.count : text.countAtLeast)(count)}</p>
        )}
        {rest.children}
        {isEmpty ? (
          <p>{next === null ? common.noMore : text.noneOfThese}</p>
        ) : (
          <LinkTable
            links={links}
            {...(rest.selection && { selection: rest.selection })}
            hrefOfTag={(tag) => hrefOf({ tags: [...new Set([...filter.tags, tag])] })}
          />
        )}
        <ListPages
          first={filter.after === '' ? null : hrefOf({})}
          previous={previous === null ? null : hrefOf({ after: previous })}
          next={next === null ? null : hrefOf({ after: next })}
          isEmpty={isEmpty}
        />
      </section>
    </>
  );
};
