import type { LinkDetails } from '../../../../schemas/http/links.js';
import { formatDate, formatTime } from '../../format.js';
import { linkPage, subjectOfLink, textOfShortUrl } from '../../link-address.js';
import { statuses } from '../../link-filter.js';
import { formatNumber } from '../../locale.js';
import { texts } from '../../texts.js';
import { CopyButton } from '../components/copy-button.js';

const { common, links: text } = texts;

export interface Selection {
  readonly selected: readonly LinkDetails[];
  readonly onSelect: (subjects: readonly string[], isSelected: boolean) => void;
}

interface Props {
  /** With `account` for operators. */
  readonly links: readonly (LinkDetails & { readonly account?: string })[];
  readonly hrefOfTag: (tag: string) => string;
  /** Without it, links cannot be selected. */
  readonly selection?: Selection;
}

/** A short URL without its scheme. In a narrow column, its host is cut, but never its code. */
const ShortUrl = ({ shortUrl }: { readonly shortUrl: string }) => {
  const address = textOfShortUrl(shortUrl).replace(/^https?:\/\//, '');
  const start = address.lastIndexOf('/') + 1;
  return (
    <>
      <span class="clip">{address.slice(0, start)}</span>
      <span>{address.slice(start)}</span>
    </>
  );
};

const Row = (props: Omit<Props, 'links'> & { readonly link: Props['links'][number] }) => {
  const { link, selection, hrefOfTag } = props;
  const { shortUrl, url, title, tags, clickCount, status, hasPassword, account } = link;
  return (
    <tr>
      {selection && (
        <td class="select">
          <input
            type="checkbox"
            aria-label={text.select(subjectOfLink(link))}
            checked={selection.selected.includes(link)}
            onChange={(event) => {
              selection.onSelect([subjectOfLink(link)], event.currentTarget.checked);
            }}
          />
        </td>
      )}
      <td class="code">
        <div class="row">
          <a class="short-url" href={linkPage(link)}>
            <ShortUrl shortUrl={shortUrl} />
          </a>
          <CopyButton text={shortUrl} what={shortUrl} />
        </div>
        {account !== undefined && <p class="clip soft">{account}</p>}
      </td>
      <td class="about">
        {title !== null && (
          <p class="clip">
            <strong>
              <bdi>{title}</bdi>
            </strong>
          </p>
        )}
        <p class="clip soft">
          <bdi>{url}</bdi>
        </p>
        {tags.length > 0 && (
          <p>
            {tags.map((tag) => (
              <a key={tag} class="tag clip" href={hrefOfTag(tag)}>
                <bdi>{tag}</bdi>
              </a>
            ))}
          </p>
        )}
      </td>
      <td class="created">
        <time dateTime={link.createdAt} title={formatTime(link.createdAt)}>
          {formatDate(link.createdAt)}
        </time>
      </td>
      <td class="number">
        {formatNumber(clickCount)} <span class="narrow">{common.clicks}</span>
      </td>
      <td class="status">
        <span class={`badge ${status}`}>{statuses[status]}</span>{' '}
        {hasPassword && <span class="badge">{common.password}</span>}
      </td>
    </tr>
  );
};

const SelectAll = ({ links, selection }: Pick<Props, 'links'> & { selection: Selection }) => {
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

/** A page of a list of links. */
export const LinkTable = ({ links, ...rest }: Props) => (
  <table>
    <caption class="unseen">{text.onThisPage(links.length)}</caption>
    <thead>
      <tr>
        {rest.selection && <SelectAll links={links} selection={rest.selection} />}
        <th scope="col" class="code">
          {common.shortLink}
        </th>
        <th scope="col">{common.destination}</th>
        <th scope="col" class="created">
          {common.created}
        </th>
        <th scope="col" class="number">
          {common.clicks}
        </th>
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
