import type { BulkResponse } from '../../../../schemas/http/bulk.js';
import type { LinkDetails } from '../../../../schemas/http/links.js';
import { subjectOfLink } from '../../link-address.js';
import { splitTags } from '../../tags.js';
import { texts } from '../../texts.js';
import { callApi } from '../app/api.js';
import { fieldsOf } from '../app/hooks.js';
import { question, useActions, type Action } from '../components/actions.js';
import { Tags } from '../components/link-texts.js';

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

const { common, links: text } = texts;

/** The number of links that the dialog names. */
const maxNamed = 5;

const Named = ({ selected }: Pick<Props, 'selected'>) => {
  const more = selected.length - maxNamed;
  return (
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
  );
};

/** Changes the selected links. Each one succeeds or fails separately. */
export const Bulk = ({ selected, onChanged }: Props) => {
  const tools = useActions(() => undefined);
  const send = (change: Change) => {
    const body = { shortCodes: selected.map(subjectOfLink), change };
    return callApi<BulkResponse>('/v2/links/bulk', { method: 'POST', body });
  };
  const onDone = ({ results }: BulkResponse): void => {
    onChanged(
      // Without the scope links:read, the response has only a few fields of each link.
      results.flatMap((result) => {
        const link = selected[result.index];
        return result.success && link ? [{ ...link, ...result }] : [];
      }),
      results.filter((result) => !result.success),
    );
  };
  const tagsIn = (data: FormData) => splitTags(fieldsOf(data)['tags'] ?? '');
  const count = selected.length;
  const actions: readonly Action[] = [
    {
      verb: text.addTags,
      dialog: { title: text.addTagsTo(count), verb: text.add, content: <Tags required /> },
      call: (data) => send({ addTags: tagsIn(data) }),
      onDone,
    },
    {
      verb: text.removeTags,
      dialog: {
        title: text.removeTagsFrom(count),
        verb: common.remove,
        content: <Tags required />,
      },
      call: (data) => send({ removeTags: tagsIn(data) }),
      onDone,
    },
    { verb: common.disable, call: () => send({ disabled: true }), onDone },
    { verb: common.enable, call: () => send({ disabled: false }), onDone },
    {
      verb: common.delete,
      isDanger: true,
      ...question(
        text.deleteLinks(count),
        <>
          <Named selected={selected} />
          <p>{text.deleteWarning}</p>
        </>,
      ),
      call: () => send({ delete: true }),
      onDone,
    },
  ];
  return (
    <div class="stack">
      <div class="row bulk" role="group" aria-label={text.changeSelected}>
        <span role="status">{count === 0 ? text.selectSome : text.selected(count)}</span>
        {count > 0 && tools.buttons(actions)}
      </div>
      {tools.feedback}
      {tools.dialogs}
    </div>
  );
};
