import { useState } from 'preact/hooks';
import type { BulkResponse } from '../../../../schemas/http/bulk.js';
import type { LinkPage } from '../../../../schemas/http/links.js';
import type { TagPage } from '../../../../schemas/http/tags.js';
import { subjectOfLink } from '../../link-address.js';
import { areEqualTags } from '../../tags.js';
import { texts } from '../../texts.js';
import { callApi, type Result } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { Dialog } from '../components/dialog.js';
import { Input } from '../components/field.js';
import { Trouble } from '../components/trouble.js';

const { common, tags: text } = texts;

export type Tag = TagPage['tags'][number];

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
  const query = new URLSearchParams({ tag, limit: String(groupSize) });
  if (after !== null && after !== '') query.set('after', after);
  const page = await callApi<LinkPage>(`/v2/links?${query.toString()}`);
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
export const ChangeTag = ({ tag: { tag, links }, isRenaming, onClose }: Props) => {
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

  const close = (): void => {
    onClose(work !== undefined);
  };
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
