import { useState } from 'preact/hooks';
import { subjectOfLink } from '../../link-address.js';
import { splitTags } from '../../tags.js';
import { texts } from '../../texts.js';
import { callApi, type Result } from '../app/api.js';
import { fieldsOf, onSubmit, useAction, type Action } from '../app/hooks.js';
import type { BulkResponse, LinkDetails } from '../app/types.js';
import { Confirm } from '../components/confirm.js';
import { Dialog } from '../components/dialog.js';
import { Tags } from '../components/link-texts.js';
import { Trouble } from '../components/trouble.js';

type Change =
  | { readonly addTags: readonly string[] }
  | { readonly removeTags: readonly string[] }
  | { readonly disabled: boolean }
  | { readonly delete: true };

export type Failed = Extract<BulkResponse['results'][number], { readonly success: false }>;

interface Props {
  readonly selected: readonly LinkDetails[];
  readonly onChanged: (changed: readonly LinkDetails[], failed: readonly Failed[]) => void;
}

const text = texts.links;

const TagsDialog = (props: {
  readonly title: string;
  readonly verb: string;
  readonly action: Action;
  readonly onTags: (tags: readonly string[]) => Promise<void>;
  readonly onClose: () => void;
}) => {
  const { title, verb, action, onTags, onClose } = props;
  const submit = onSubmit((form) => onTags(splitTags(fieldsOf(form)['tags'] ?? '')));
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <Tags required />
        <Trouble failure={action.failure} />
        <button class="primary" aria-disabled={action.isBusy}>
          {verb}
        </button>
      </form>
    </Dialog>
  );
};

/** The number of links that the dialog names. */
const maxNamed = 5;

const DeleteDialog = (props: {
  readonly selected: readonly LinkDetails[];
  readonly call: () => Promise<Result<BulkResponse>>;
  readonly onDone: (response: BulkResponse) => void;
  readonly onClose: () => void;
}) => {
  const { selected } = props;
  const more = selected.length - maxNamed;
  return (
    <Confirm title={text.deleteLinks(selected.length)} verb={text.delete} {...props}>
      <ul>
        {selected.slice(0, maxNamed).map((link) => (
          <li key={subjectOfLink(link)}>
            <div class="clip">
              <strong>{subjectOfLink(link)}</strong> <bdi class="soft">{link.title}</bdi>
            </div>
          </li>
        ))}
        {more > 0 && <li>{text.andMore(more)}</li>}
      </ul>
      <p>{text.deleteWarning}</p>
    </Confirm>
  );
};

type Opened = 'add' | 'remove' | 'delete' | null;

/** Changes the selected links. Each one succeeds or fails separately. */
export const Bulk = ({ selected, onChanged }: Props) => {
  const [opened, setOpened] = useState<Opened>(null);
  // Each action shows its failure where the user started it.
  const switching = useAction();
  const tagging = useAction();

  const send = (change: Change) => {
    const body = { shortCodes: selected.map(subjectOfLink), change };
    return callApi<BulkResponse>('/v2/links/bulk', { method: 'POST', body });
  };
  const show = ({ results }: BulkResponse): void => {
    setOpened(null);
    onChanged(
      // Without the scope links:read, the response has only a few fields of each link.
      results.flatMap((result) => {
        const link = selected[result.index];
        return result.success && link ? [{ ...link, ...result }] : [];
      }),
      results.filter((result) => !result.success),
    );
  };
  const change = async ({ run }: Action, requested: Change): Promise<void> => {
    const done = await run(() => send(requested));
    if (done) show(done.value);
  };

  const close = (): void => {
    setOpened(null);
  };
  const open = (what: Opened) => () => {
    setOpened(what);
  };
  const switchAll = (disabled: boolean) => () => void change(switching, { disabled });

  return (
    <div class="stack">
      <div class="row bulk" role="group" aria-label={text.changeSelected}>
        <span role="status">
          {selected.length === 0 ? text.selectSome : text.selected(selected.length)}
        </span>
        {selected.length > 0 && (
          <>
            <button type="button" class="small" onClick={open('add')}>
              {text.addTags}
            </button>
            <button type="button" class="small" onClick={open('remove')}>
              {text.removeTags}
            </button>
            <button type="button" class="small" onClick={switchAll(true)}>
              {text.disable}
            </button>
            <button type="button" class="small" onClick={switchAll(false)}>
              {text.enable}
            </button>
            <button type="button" class="small danger" onClick={open('delete')}>
              {text.delete}
            </button>
          </>
        )}
      </div>
      <Trouble failure={switching.failure} />
      {opened === 'add' && (
        <TagsDialog
          title={text.addTagsTo(selected.length)}
          verb={text.add}
          action={tagging}
          onTags={(addTags) => change(tagging, { addTags })}
          onClose={close}
        />
      )}
      {opened === 'remove' && (
        <TagsDialog
          title={text.removeTagsFrom(selected.length)}
          verb={text.remove}
          action={tagging}
          onTags={(removeTags) => change(tagging, { removeTags })}
          onClose={close}
        />
      )}
      {opened === 'delete' && (
        <DeleteDialog
          selected={selected}
          call={() => send({ delete: true })}
          onDone={show}
          onClose={close}
        />
      )}
    </div>
  );
};
