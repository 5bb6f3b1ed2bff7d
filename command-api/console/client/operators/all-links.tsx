import { useLocation } from 'preact-iso/router';
import { pastedCode } from '../../../../schemas/pasted-code.js';
import { readFilter, writeFilter, type LinkFilter } from '../../link-filter.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import type { OperatorsLinkPage } from '../app/types.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';
import { Filters } from '../links/filters.js';
import { LinkTable, ListPages } from '../links/link-table.js';

const pageSize = 50;

/** Opens the page of a link by its code. */
const Find = () => {
  const { route } = useLocation();
  const submit = onSubmit((form) => {
    const { code } = fieldsOf(form);
    if (code !== undefined) route(`/console/links/${encodeURIComponent(pastedCode(code))}`);
    return undefined;
  });
  return (
    <form class="picker" onSubmit={submit} aria-label="One link">
      <Input label="Short code or short URL" name="code" required />
      <button>Show the link</button>
    </form>
  );
};

const addressOf = (filter: LinkFilter): string => {
  // Only the links of one account can be ordered by clicks.
  const sort = filter.account === '' ? 'created' : filter.sort;
  const query = writeFilter({ ...filter, sort });
  return query === '' ? '/console/links' : `/console/links?${query}`;
};

/** The links of all accounts, in the order of accounts. */
export const AllLinks = ({ shortUrlHost }: { readonly shortUrlHost: string }) => {
  const { url, route } = useLocation();
  const filter = readFilter(url.split('?')[1] ?? '');
  const query = writeFilter(filter);
  const { value, failure, isLoading, reload } = useLoad(
    () => callApi<OperatorsLinkPage>(`/admin/links?limit=${pageSize}&${query}`),
    query,
  );
  const hrefOf = (change: Partial<LinkFilter>): string =>
    addressOf({ ...filter, after: '', ...change });
  const isEmpty = value?.links.length === 0;
  const next = value?.next ?? null;
  return (
    <Page title="Links">
      <Find />
      <Filters
        filter={filter}
        shortUrlHost={shortUrlHost}
        hasAccounts
        hrefOf={hrefOf}
        onChange={(change) => {
          route(hrefOf(change));
        }}
      />
      <Trouble failure={failure} onRetry={reload} />
      {value && (
        <section class="card stack list" aria-label="Links" aria-busy={isLoading}>
          {isEmpty ? (
            <p>{next === null ? 'No more links match.' : 'None of these match.'}</p>
          ) : (
            <LinkTable
              links={value.links}
              hrefOfTag={(tag) => hrefOf({ tags: [...new Set([...filter.tags, tag])] })}
            />
          )}
          <ListPages
            first={filter.after === '' ? null : hrefOf({})}
            next={next === null ? null : hrefOf({ after: next })}
            isEmpty={isEmpty}
          />
        </section>
      )}
    </Page>
  );
};
