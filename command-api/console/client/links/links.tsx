import { useLocation } from 'preact-iso/router';
import { useEffect, useState } from 'preact/hooks';
import type { LinkDetails, LinkPage } from '../../../../schemas/http/links.js';
import { ownZoneOf } from '../../format.js';
import { subjectOfLink } from '../../link-address.js';
import {
  apiQueryOf,
  previousOf,
  readFilter,
  rememberNext,
  showsAll,
  writeFilter,
  type LinkFilter,
} from '../../link-filter.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { Begin } from '../components/begin.js';
import { ListPages } from '../components/list-pages.js';
import { Trouble } from '../components/trouble.js';
import { Bulk, type Failed } from './bulk.js';
import { Filters } from './filters.js';
import { LinkCount } from './link-count.js';
import { LinkTable } from './link-table.js';

const text = texts.links;

const pageSize = 50;

const addressOf = (filter: LinkFilter): string => {
  const query = writeFilter(filter);
  return query === '' ? '/console/links' : `/console/links?${query}`;
};

/** The address of a file with all links of a filter. */
const exportAddressOf = (filter: LinkFilter): string =>
  `/console/v2/export?format=csv&${apiQueryOf({ ...filter, sort: 'created', after: '' }, ownZoneOf())}`;

const Failures = ({ failed }: { readonly failed: readonly Failed[] }) => (
  <div class="trouble" role="alert">
    <ul>
      {failed.map(({ shortCode, message }) => (
        <li key={shortCode}>
          <strong>{shortCode}</strong>: {message}
        </li>
      ))}
    </ul>
  </div>
);

/** The links of the account, page by page. */
export const Links = ({ shortUrlHost }: { readonly shortUrlHost: string }) => {
  const { url, route } = useLocation();
  const filter = { ...readFilter(url.split('?')[1] ?? ''), account: '' };
  const query = apiQueryOf(filter, ownZoneOf());
  const { value, failure, isLoading, reload } = useLoad(
    () => callApi<LinkPage>(`/v2/links?limit=${pageSize}&count=1&${query}`),
    query,
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  /** The results of bulk changes, because the list may be outdated for a second. */
  const [changed, setChanged] = useState<ReadonlyMap<string, LinkDetails>>(new Map());
  const [failed, setFailed] = useState<readonly Failed[]>([]);
  useEffect(() => {
    setChosen(new Set());
    setFailed([]);
  }, [query]);

  const hrefOf = (change: Partial<LinkFilter>): string =>
    addressOf({ ...filter, after: '', ...change });

  const newest = (link: LinkDetails): LinkDetails => {
    const other = changed.get(subjectOfLink(link));
    return other && other.version > link.version ? other : link;
  };
  const links = (value?.links ?? [])
    .map(newest)
    .filter(({ status }) => status !== 'deleted' || filter.status === 'deleted');
  const selected = links.filter((link) => chosen.has(subjectOfLink(link)));

  const select = (subjects: readonly string[], isSelected: boolean): void => {
    const others = [...chosen].filter((subject) => !subjects.includes(subject));
    setChosen(new Set(isSelected ? [...others, ...subjects] : others));
  };
  const show = (now: readonly LinkDetails[], notChanged: readonly Failed[]): void => {
    setChanged(new Map([...changed, ...now.map((link) => [subjectOfLink(link), link] as const)]));
    setFailed(notChanged);
    setChosen(new Set(notChanged.map(({ shortCode }) => shortCode)));
  };

  const isEmpty = value !== undefined && links.length === 0;
  const isFirstPage = filter.after === '';
  /** The API may examine many links in several pages. */
  const next = value?.next ?? null;
  const hasNext = next !== null;
  if (hasNext && !isLoading) rememberNext(filter, next);
  const previous = previousOf(filter);
  return (
    <Page
      title={text.links}
      aside={
        <div class="row">
          <a class="button" href="/console/tags">
            {text.tags}
          </a>
          <a class="button" href={exportAddressOf(filter)} download>
            {text.export}
          </a>
          <a class="button primary" href="/console/new">
            {text.newLink}
          </a>
        </div>
      }
    >
      {isEmpty && isFirstPage && !hasNext && showsAll(filter) && !isLoading ? (
        <Begin />
      ) : (
        <>
          <Filters
            filter={filter}
            shortUrlHost={shortUrlHost}
            hrefOf={hrefOf}
            onChange={(change) => {
              route(hrefOf(change));
            }}
          />
          <Trouble failure={failure} onRetry={reload} />
          <section class="card stack list" aria-label={text.links} aria-busy={isLoading}>
            <LinkCount count={value?.count} />
            <Bulk selected={selected} onChanged={show} />
            {failed.length > 0 && <Failures failed={failed} />}
            {isEmpty ? (
              <p>{hasNext ? text.noneOfThese : text.noMore}</p>
            ) : (
              <LinkTable
                links={links}
                selection={{ selected, onSelect: select }}
                hrefOfTag={(tag) => hrefOf({ tags: [...new Set([...filter.tags, tag])] })}
              />
            )}
            <ListPages
              first={isFirstPage ? null : hrefOf({})}
              previous={previous === null ? null : hrefOf({ after: previous })}
              next={hasNext ? hrefOf({ after: next }) : null}
              isEmpty={isEmpty}
            />
          </section>
        </>
      )}
    </Page>
  );
};
