import { useLocation } from 'preact-iso/router';
import type { OperatorsLinkPage } from '../../../../schemas/http/operators.js';
import type { LinkIdentity } from '../../../../schemas/link-subject.js';
import { pastedLink } from '../../../../schemas/pasted-code.js';
import { ownZoneOf } from '../../format.js';
import { linkPage } from '../../link-address.js';
import { apiQueryOf, readFilter, writeFilter, type LinkFilter } from '../../link-filter.js';
import { callApi, isServedDomain, type Failure, type Result } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { Input } from '../components/field.js';
import { ListPages } from '../components/list-pages.js';
import { Trouble } from '../components/trouble.js';
import { Filters } from '../links/filters.js';
import { LinkCount } from '../links/link-count.js';
import { LinkTable } from '../links/link-table.js';
import { texts } from '../../texts.js';

const text = texts.operators;

const pageSize = 50;

/** The link that a text names. As at the edge, a host that is not an active domain is the default domain. */
const readLink = async (text: string, shortUrlHost: string): Promise<Result<LinkIdentity>> => {
  const failures: Failure[] = [];
  const isActive = async (name: string): Promise<boolean> => {
    // It is served, too.
    if (name === new URL(shortUrlHost).hostname) return false;
    const served = await isServedDomain(name);
    if (!served.ok) failures.push(served.failure);
    return served.ok && served.value;
  };
  const value = await pastedLink(text, { shortUrlHost, isActive });
  const [failure] = failures;
  return failure ? { ok: false, failure } : { ok: true, status: 200, value };
};

/** Opens the page of a link by its code. */
const Find = ({ shortUrlHost }: { readonly shortUrlHost: string }) => {
  const { route } = useLocation();
  const { failure, run } = useAction();
  const submit = onSubmit(async (form) => {
    const { code: text = '' } = fieldsOf(form);
    const found = await run(() => readLink(text, shortUrlHost));
    if (found) route(linkPage({ shortCode: found.value.code, domain: found.value.domain }));
  });
  return (
    <form class="picker" onSubmit={submit} aria-label={text.oneLink}>
      <Input label={text.codeOrUrl} name="code" required />
      <button>{text.showLink}</button>
      <Trouble failure={failure} />
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
  const query = apiQueryOf(filter, ownZoneOf());
  const { value, failure, isLoading, reload } = useLoad(
    () => callApi<OperatorsLinkPage>(`/admin/links?limit=${pageSize}&count=1&${query}`),
    query,
  );
  const hrefOf = (change: Partial<LinkFilter>): string =>
    addressOf({ ...filter, after: '', ...change });
  const isEmpty = value?.links.length === 0;
  const next = value?.next ?? null;
  return (
    <Page title={texts.app.links}>
      <Find shortUrlHost={shortUrlHost} />
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
        <section class="card stack list" aria-label={texts.app.links} aria-busy={isLoading}>
          <LinkCount count={value.count} />
          {isEmpty ? (
            <p>{next === null ? text.noMore : text.noneHere}</p>
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
