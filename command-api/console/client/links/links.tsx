import { useEffect, useState } from 'preact/hooks';
import type { LinkDetails, LinkPage } from '../../../../schemas/http/links.js';
import { ownZoneOf } from '../../format.js';
import { subjectOfLink } from '../../link-address.js';
import { apiQueryOf, showsAll, type LinkFilter } from '../../link-filter.js';
import { texts } from '../../texts.js';
import { Page } from '../app/shell.js';
import { Begin } from '../components/begin.js';
import { Bulk, type Failed } from './bulk.js';
import { LinkList, useLinkList } from './link-list.js';

const { common, links: text } = texts;

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
  const list = useLinkList<LinkPage>(false);
  const { filter, query, value, isLoading } = list;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  /** The results of bulk changes, because the list may be outdated for a second. */
  const [changed, setChanged] = useState<ReadonlyMap<string, LinkDetails>>(new Map());
  const [failed, setFailed] = useState<readonly Failed[]>([]);
  useEffect(() => {
    setChosen(new Set());
    setFailed([]);
  }, [query]);

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

  const isWhole = filter.after === '' && value?.next === null && showsAll(filter) && !isLoading;
  return (
    <Page
      title={common.links}
      aside={
        <div class="row">
          <a class="button" href="/console/tags">
            {common.tags}
          </a>
          <a class="button" href={exportAddressOf(filter)} download>
            {text.export}
          </a>
          <a class="button primary" href="/console/new">
            {common.newLink}
          </a>
        </div>
      }
    >
      {isWhole && links.length === 0 ? (
        <Begin />
      ) : (
        <LinkList
          list={list}
          links={links}
          shortUrlHost={shortUrlHost}
          selection={{ selected, onSelect: select }}
        >
          <Bulk selected={selected} onChanged={show} />
          {failed.length > 0 && <Failures failed={failed} />}
        </LinkList>
      )}
    </Page>
  );
};
