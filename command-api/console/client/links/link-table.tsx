import { formatNumber } from '../../numbers.js';
import { linkPage, subjectOfLink, textOfShortUrl } from '../../link-address.js';
import type { LinkDetails } from '../app/types.js';
import { CopyButton } from '../components/copy-button.js';

interface Selection {
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

const Row = (props: Omit<Props, 'links'> & { readonly link: Props['links'][number] }) => {
  const { link, selection, hrefOfTag } = props;
  const { shortUrl, url, title, tags, clickCount, status, hasPassword, account } = link;
  return (
    <tr>
      {selection && (
        <td class="select">
          <input
            type="checkbox"
            aria-label={`Select ${subjectOfLink(link)}`}
            checked={selection.selected.includes(link)}
            onChange={(event) => {
              selection.onSelect([subjectOfLink(link)], event.currentTarget.checked);
            }}
          />
        </td>
      )}
      <td class="code">
        <div class="row">
          <a class="clip" href={linkPage(link)}>
            {textOfShortUrl(shortUrl).replace(/^https?:\/\//, '')}
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
      <td class="number">{formatNumber(clickCount)}</td>
      <td class="status">
        <span class={`badge ${status}`}>{status}</span>{' '}
        {hasPassword && <span class="badge">password</span>}
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
        aria-label="Select all on this page"
        checked={selected.length === links.length}
        indeterminate={selected.length > 0 && selected.length < links.length}
        onChange={(event) => {
          onSelect(links.map(subjectOfLink), event.currentTarget.checked);
        }}
      />
    </th>
  );
};

/** A page of a list of links. */
export const LinkTable = ({ links, ...rest }: Props) => (
  <table>
    <caption class="unseen">{formatNumber(links.length)} links on this page</caption>
    <thead>
      <tr>
        {rest.selection && <SelectAll links={links} selection={rest.selection} />}
        <th scope="col" class="code">
          Short link
        </th>
        <th scope="col">Destination</th>
        <th scope="col" class="number">
          Clicks
        </th>
        <th scope="col" class="status">
          Status
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
