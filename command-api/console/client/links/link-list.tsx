import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso/router';
import type { LinkDetails, LinkPage } from '../../../../schemas/http/links.js';
import { formatDate, formatTime, ownZoneOf } from '../../format.js';
import { linkPage, subjectOfLink } from '../../link-address.js';
import {
  apiQueryOf,
  type LinkFilter,
  type Order,
  orders,
  previousOf,
  readFilter,
  rememberNext,
  statuses,
  writeFilter,
} from '../../link-filter.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../all-texts.js';
import { type Loaded, useApi } from '../app/hooks.js';
import { useScope } from '../app/owner.js';
import { ClippedUrl } from '../components/clipped.js';
import { CopyButton } from '../components/copy-button.js';
import { ListPages } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';
import { Filters } from './filters.js';

const { common, links: text } = texts;

interface Selection {
  readonly selected: readonly LinkDetails[];
  /** @param isRange whether the links between the last selected one and this one are selected too */
  readonly onSelect: (subjects: readonly string[], isSelected: boolean, isRange?: boolean) => void;
}

interface TableProps {
  /** Operators see the `account`. */
  readonly links: readonly (LinkDetails & { readonly account?: string })[];
  readonly hrefOfTag: (tag: string) => string;
  /** Absent: links cannot be selected. */
  readonly selection?: Selection;
}

/** The code of a link after its domain. In a narrow column, the domain is cut, but never the code. */
const Subject = ({ subject }: { readonly subject: string }) => {
  const start = subject.lastIndexOf('/') + 1;
  return (
    <>
      {start > 0 && <span>{subject.slice(0, start)}</span>}
      <span>{subject.slice(start)}</span>
    </>
  );
};

const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0);

/** The others are counted. */
const maxTags = 3;

const TagList = ({
  tags,
  hrefOfTag,
}: Pick<TableProps, 'hrefOfTag'> & Pick<LinkDetails, 'tags'>) => {
  const others = tags.slice(maxTags);
  return (
    <>
      {tags.slice(0, maxTags).map((tag) => (
        <a key={tag} class="tag clip" href={hrefOfTag(tag)}>
          <bdi>{tag}</bdi>
        </a>
      ))}
      {others.length > 0 && (
        <span class="tag clip">
          +{formatNumber(others.length)}
          <span class="unseen"> {others.join(', ')}</span>
        </span>
      )}
    </>
  );
};

/** The clicks of the last 30 days, as a number and by the day; without the scope stats:read, those of all time. */
const Clicks = ({ clickCount, dailyClicks }: LinkDetails) => {
  if (!dailyClicks) return <>{formatNumber(clickCount)}</>;
  const most = Math.max(1, ...dailyClicks);
  const numbers = dailyClicks.map(formatNumber).join(', ');
  return (
    <>
      {formatNumber(sumOf(dailyClicks))}
      <svg
        class="spark"
        viewBox={`0 0 ${dailyClicks.length - 1} ${most}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <title>{text.byDay(numbers, clickCount)}</title>
        <path
          d={`M${dailyClicks.map((clicks, day) => `${day} ${most - clicks}`).join('L')}`}
          vector-effect="non-scaling-stroke"
        />
      </svg>
    </>
  );
};

const Row = (props: Omit<TableProps, 'links'> & { readonly link: TableProps['links'][number] }) => {
  const { link, selection, hrefOfTag } = props;
  const { shortUrl, url, title, tags, status, hasPassword, account, createdAt } = link;
  const subject = subjectOfLink(link);
  return (
    <tr>
      {selection && (
        <td class="select">
          <input
            type="checkbox"
            aria-label={text.select(subject)}
            checked={selection.selected.includes(link)}
            onClick={({ currentTarget, shiftKey }) => {
              selection.onSelect([subject], currentTarget.checked, shiftKey);
            }}
          />
        </td>
      )}
      <td class="code">
        <div class="row nowrap">
          <a class="middle" href={linkPage(link)}>
            <Subject subject={subject} />
          </a>
          <CopyButton text={shortUrl} what={shortUrl} isIcon />
        </div>
      </td>
      <td class="about">
        <div class="row nowrap">
          {account !== undefined && <span class="clip soft">{account}</span>}
          <span class="clip text">
            {title === null ? <ClippedUrl url={url} /> : <bdi>{title}</bdi>}
          </span>
          <TagList tags={tags} hrefOfTag={hrefOfTag} />
          {hasPassword && <span class="badge">{common.password}</span>}
        </div>
      </td>
      <td class="number">
        <Clicks {...link} />
      </td>
      <td class="created soft" title={formatTime(createdAt)}>
        {formatDate(createdAt)}
      </td>
      <td class="status">
        <span class={`badge ${status}`}>{statuses[status]}</span>
      </td>
    </tr>
  );
};

const SelectAll = ({ links, selection }: Pick<TableProps, 'links'> & { selection: Selection }) => {
  const { selected, onSelect } = selection;
  return (
    <th scope="col" class="select">
      <input
        type="checkbox"
        aria-label={text.selectAll}
        checked={links.length > 0 && selected.length === links.length}
        indeterminate={selected.length > 0 && selected.length < links.length}
        onChange={(event) => onSelect(links.map(subjectOfLink), event.currentTarget.checked)}
      />
    </th>
  );
};

/** The head of a column by which the list can be sorted. */
const SortHead = (
  props: Pick<List<LinkPage>, 'filter' | 'hrefOf'> & { order: Order; name: string; class: string },
) => {
  const { filter, hrefOf, order, name } = props;
  return (
    <th
      scope="col"
      class={props.class}
      aria-sort={filter.sort === order ? 'descending' : undefined}
    >
      <a href={hrefOf({ sort: order })} title={orders[order]}>
        {name}
      </a>
    </th>
  );
};

const LinkTable = ({ links, list, ...rest }: TableProps & Pick<Props, 'list'>) => (
  <table>
    <caption class="unseen">{text.onThisPage(links.length)}</caption>
    <thead>
      <tr>
        {rest.selection && <SelectAll links={links} selection={rest.selection} />}
        <th scope="col" class="code">
          {common.shortLink}
        </th>
        <th scope="col" class="about">
          {text.titleOrDestination}
        </th>
        <SortHead
          {...list}
          class="number"
          order="clicks"
          name={links[0]?.dailyClicks ? text.clicksOf30Days : common.clicks}
        />
        <SortHead {...list} class="created" order="created" name={common.created} />
        <th scope="col" class="status">
          {text.status}
        </th>
      </tr>
    </thead>
    <tbody>
      {links.map((link) => (
        <Row key={subjectOfLink(link)} link={link} {...rest} />
      ))}
    </tbody>
  </table>
);

const pageSize = 50;

const maxCount = 100_000;

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
  const days = useScope('stats:read') || hasAccounts ? '&dailyClicks=1' : '';
  const loaded = useApi<Page>(`${base}?limit=${pageSize}&count=1${days}&${query}`);
  const next = loaded.value?.next ?? null;
  if (next !== null && !loaded.isLoading) rememberNext(filter, next);
  const hrefOf = (change: Partial<LinkFilter>): string => {
    const written = writeFilter({ ...filter, after: '', ...change });
    return written === '' ? '/console/links' : `/console/links?${written}`;
  };
  return { ...loaded, filter, query, hrefOf };
};

interface Props {
  readonly list: List<LinkPage>;
  readonly links: readonly (LinkDetails & { readonly account?: string })[];
  /** Whether the links are those of all accounts, for operators. */
  readonly hasAccounts?: boolean;
  readonly selection?: Selection;
  /** Shown above the table. */
  readonly children?: ComponentChildren;
}

/** The filters and a page of links. The API may examine many links in several pages. */
export const LinkList = ({ list, links, hasAccounts = false, ...rest }: Props) => {
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
        hasAccounts={hasAccounts}
        hrefOf={hrefOf}
        onChange={(change, isTyping) => route(hrefOf(change), isTyping)}
      />
      <Trouble failure={failure} onRetry={reload} keepsFocus />
      <section class="card stack list" aria-label={common.links} aria-busy={isLoading}>
        {count != null && (
          <p role="status">{count > maxCount ? text.countAbove(maxCount) : text.count(count)}</p>
        )}
        {rest.children}
        {isEmpty ? (
          count !== 0 && <p>{next === null ? common.noMore : text.noneOfThese}</p>
        ) : (
          <LinkTable
            {...{ links, list }}
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
