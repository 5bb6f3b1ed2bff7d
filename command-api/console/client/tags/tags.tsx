import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import type { BulkResponse } from '../../../../schemas/http/bulk.js';
import type { LinkPage } from '../../../../schemas/http/links.js';
import type { TagPage } from '../../../../schemas/http/tags.js';
import { subjectOfLink, withQuery } from '../../link-address.js';
import { noFilter, writeFilter } from '../../link-filter.js';
import { formatNumber } from '../../locale.js';
import { areEqualTags } from '../../tags.js';
import { texts } from '../../all-texts.js';
import { callApi, type Result } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, useApi } from '../app/hooks.js';
import { useScope } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { Dialog } from '../components/dialog.js';
import { Input } from '../components/field.js';
import { useText } from '../components/search-text.js';
import { ListPages, ScrollTable } from '../components/tables.js';
import { Trouble } from '../components/trouble.js';

const { common, tags: text } = texts;

type Tag = TagPage['tags'][number];

/** The maximum of `POST /v2/links/bulk`. */
const groupSize = 100;

interface Refused {
  readonly shortCode: string;
  readonly message: string;
}

/** A change of all links with a tag, group by group. */
interface Work {
  /** The cursor of the next group; `null`: all groups are changed. */
  readonly after: string | null;
  readonly done: number;
  readonly refused: readonly Refused[];
}

/** Changes the tag of the next links that have it. */
const changeGroup = async (
  tag: string,
  newName: string | null,
  { after, done, refused }: Work,
): Promise<Result<Work>> => {
  const page = await callApi<LinkPage>(
    withQuery('/v2/links', { tag, limit: String(groupSize), after: after ?? '' }),
  );
  if (!page.ok) return page;
  const { links } = page.value;
  const shortCodes = links.map(subjectOfLink);
  const next = { after: page.value.next, done, refused };
  if (shortCodes.length === 0) return { ok: true, status: 200, value: next };
  // The filter ignores case.
  const spellings = new Set(
    links.flatMap(({ tags }) => tags.filter((other) => areEqualTags(other, tag))),
  );
  const removeTags = [...spellings].filter((spelling) => spelling !== newName);
  const change = {
    ...(removeTags.length > 0 && { removeTags }),
    ...(newName !== null && { addTags: [newName] }),
  };
  const body = { shortCodes, change };
  const changed = await callApi<BulkResponse>('/v2/links/bulk', { method: 'POST', body });
  if (!changed.ok) return changed;
  const failed = changed.value.results.filter((result) => !result.success);
  const value = {
    ...next,
    done: done + shortCodes.length - failed.length,
    refused: [...refused, ...failed],
  };
  return { ok: true, status: 200, value };
};

interface Props {
  readonly tag: Tag;
  readonly isRenaming: boolean;
  readonly onClose: (hasChanged: boolean) => void;
}

/** Renames or removes a tag on all links that have it. A failure can be retried where it happened. */
const ChangeTag = ({ tag: { tag, links }, isRenaming, onClose }: Props) => {
  const { isBusy, failure, run } = useAction();
  const [work, setWork] = useState<Work>();
  const [newName, setNewName] = useState<string | null>(null);
  const isDone = work?.after === null;

  const proceed = async (from: Work, name: string | null): Promise<void> => {
    let current = from;
    setWork(current);
    while (current.after !== null) {
      const step = await run(() => changeGroup(tag, name, current));
      if (!step) return;
      current = step.value;
      setWork(current);
    }
  };
  const start = onSubmit((form) => {
    const name = isRenaming ? (fieldsOf(form)['name'] ?? '') : null;
    if (work || name === tag) return undefined;
    setNewName(name);
    return proceed({ after: '', done: 0, refused: [] }, name);
  });

  const close = (): void => onClose(work !== undefined);
  return (
    <Dialog title={(isRenaming ? text.renameTag : text.removeTag)(tag)} onClose={close}>
      {work ? (
        <div class="stack">
          {!isDone && <progress max={Math.max(links, work.done)} value={work.done} />}
          <p role="status">
            {isDone ? text.done(work.done) : text.progress(work.done, Math.max(links, work.done))}
          </p>
          {work.refused.length > 0 && (
            <>
              <p>{text.notChanged}</p>
              <ul>
                {work.refused.map(({ shortCode, message }) => (
                  <li key={shortCode}>
                    <strong>{shortCode}</strong>: {message}
                  </li>
                ))}
              </ul>
            </>
          )}
          <Trouble failure={failure} onRetry={() => void proceed(work, newName)} />
          {isDone && (
            <button type="button" class="primary" onClick={close}>
              {texts.components.close}
            </button>
          )}
        </div>
      ) : (
        <form class="stack" onSubmit={start}>
          {isRenaming && (
            <Input
              label={text.newName}
              name="name"
              required
              maxLength={50}
              pattern="[^,]+"
              defaultValue={tag}
            />
          )}
          <p>{text.cost(links)}</p>
          <button class={isRenaming ? 'primary' : 'danger'} aria-disabled={isBusy}>
            {isRenaming ? text.rename : common.remove}
          </button>
        </form>
      )}
    </Dialog>
  );
};

const pageSize = 100;

const addressOf = (tag: string): string =>
  `/console/links?${writeFilter({ ...noFilter, tags: [tag], sort: 'created', after: '' })}`;

const pageOf = (search: string, after: string): string =>
  withQuery('/console/tags', { search, after });

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
      <td class="number">{formatNumber(tag.links)}</td>
      <td class="number">{tag.clicks === null ? common.unknown : formatNumber(tag.clicks)}</td>
      {canWrite && (
        <td>
          <div class="row">
            {actions.map(([isRenaming, verb]) => (
              <button
                key={verb}
                type="button"
                class="small"
                onClick={() => onOpen({ tag, isRenaming })}
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
export const Tags = () => {
  const { query, route } = useLocation();
  const search = query['search'] ?? '';
  const after = query['after'] ?? '';
  const path = withQuery('/v2/tags', { limit: String(pageSize), search, after });
  const { value, failure, isLoading, reload } = useApi<TagPage>(path);
  const [opened, setOpened] = useState<Opened>();
  const canWrite = useScope('links:write');
  const searchText = useText(search, (typed) => route(pageOf(typed, ''), true));
  const submit = onSubmit((form) => {
    const { search: sought } = fieldsOf(form);
    route(pageOf(sought ?? '', ''));
    return undefined;
  });
  return (
    <Page title={common.tags}>
      <search>
        <form class="picker" onSubmit={submit}>
          <Input label={text.search} name="search" type="search" maxLength={50} {...searchText} />
          <button>{common.search}</button>
        </form>
      </search>
      <Trouble failure={failure} onRetry={reload} keepsFocus />
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
