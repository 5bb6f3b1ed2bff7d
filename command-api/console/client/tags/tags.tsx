import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import type { TagPage } from '../../../../schemas/http/tags.js';
import { noFilter, writeFilter } from '../../link-filter.js';
import { formatNumber } from '../../numbers.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf, onSubmit, useLoad } from '../app/hooks.js';
import { Page } from '../app/shell.js';
import { Input } from '../components/field.js';
import { ListPages } from '../components/list-pages.js';
import { ScrollTable } from '../components/scroll-table.js';
import { Trouble } from '../components/trouble.js';
import type { Scope } from '../../../../schemas/scopes.js';
import { ChangeTag, type Tag } from './change-tag.js';

const { common, tags: text } = texts;

const pageSize = 100;

/** Links of a tag are counted up to this number. */
const maxLinks = 10_000;

const addressOf = (tag: string): string =>
  `/console/links?${writeFilter({ ...noFilter, tags: [tag], sort: 'created', after: '' })}`;

const pageOf = (search: string, after: string): string => {
  const query = new URLSearchParams({
    ...(search !== '' && { search }),
    ...(after !== '' && { after }),
  }).toString();
  return query === '' ? '/console/tags' : `/console/tags?${query}`;
};

interface Opened {
  readonly tag: Tag;
  readonly isRenaming: boolean;
}

const Row = (props: {
  readonly tag: Tag;
  readonly canWrite: boolean;
  readonly onOpen: (opened: Opened) => void;
}) => {
  const { tag, canWrite, onOpen } = props;
  const actions = [
    [true, text.rename],
    [false, common.remove],
  ] as const;
  return (
    <tr>
      <td>
        <a href={addressOf(tag.tag)}>
          <bdi>{tag.tag}</bdi>
        </a>
      </td>
      <td class="number">
        {tag.links < maxLinks ? formatNumber(tag.links) : text.atLeast(tag.links)}
      </td>
      <td class="number">{tag.clicks === null ? common.unknown : formatNumber(tag.clicks)}</td>
      {canWrite && (
        <td>
          <div class="row">
            {actions.map(([isRenaming, verb]) => (
              <button
                key={verb}
                type="button"
                class="small"
                onClick={() => {
                  onOpen({ tag, isRenaming });
                }}
              >
                {verb} <span class="unseen">{tag.tag}</span>
              </button>
            ))}
          </div>
        </td>
      )}
    </tr>
  );
};

/** The tags of the account's links. */
export const Tags = ({ scopes }: { readonly scopes: readonly Scope[] }) => {
  const { query, route } = useLocation();
  const search = query['search'] ?? '';
  const after = query['after'] ?? '';
  const parameters = new URLSearchParams({
    limit: String(pageSize),
    ...(search !== '' && { search }),
    ...(after !== '' && { after }),
  });
  const path = `/v2/tags?${parameters.toString()}`;
  const { value, failure, isLoading, reload } = useLoad(() => callApi<TagPage>(path), path);
  const [opened, setOpened] = useState<Opened>();
  const canWrite = scopes.includes('links:write');
  const submit = onSubmit((form) => {
    const { search: sought } = fieldsOf(form);
    route(pageOf(sought ?? '', ''));
    return undefined;
  });
  return (
    <Page title={common.tags}>
      <search>
        <form class="picker" onSubmit={submit}>
          <Input
            key={search}
            label={text.search}
            name="search"
            type="search"
            maxLength={50}
            defaultValue={search}
          />
          <button>{common.search}</button>
        </form>
      </search>
      <Trouble failure={failure} onRetry={reload} />
      <div class="card stack" aria-busy={isLoading}>
        {value?.tags.length === 0 && (
          <p>{search === '' && after === '' && value.next === null ? text.none : text.noneMatch}</p>
        )}
        {value && value.tags.length > 0 && (
          <ScrollTable
            label={common.tags}
            columns={[
              common.tag,
              { number: common.links },
              { number: common.clicks },
              ...(canWrite ? [common.actions] : []),
            ]}
          >
            {value.tags.map((tag) => (
              <Row key={tag.tag} tag={tag} canWrite={canWrite} onOpen={setOpened} />
            ))}
          </ScrollTable>
        )}
        <ListPages
          first={after === '' ? null : pageOf(search, '')}
          next={value?.next == null ? null : pageOf(search, value.next)}
          isEmpty={value?.tags.length === 0}
        />
      </div>
      {opened && (
        <ChangeTag
          {...opened}
          onClose={(hasChanged) => {
            setOpened(undefined);
            if (hasChanged) reload();
          }}
        />
      )}
    </Page>
  );
};
