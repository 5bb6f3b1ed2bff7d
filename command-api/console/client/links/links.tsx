import { useEffect, useRef, useState } from 'preact/hooks';
import type { BulkResponse } from '../../../../schemas/http/bulk.js';
import type { LinkDetails, LinkPage } from '../../../../schemas/http/links.js';
import { ownZoneOf } from '../../format.js';
import { subjectOfLink } from '../../link-address.js';
import { apiQueryOf, type LinkFilter, showsAll } from '../../link-filter.js';
import { splitTags } from '../../tags.js';
import { texts } from '../../all-texts.js';
import { callApi, type Result } from '../app/api.js';
import { fieldsOf } from '../app/hooks.js';
import { useScope } from '../app/owner.js';
import { Page } from '../app/shell.js';
import { type Action, question, useActions } from '../components/actions.js';
import { Begin } from '../components/begin.js';
import { Tags } from '../components/link-texts.js';
import { messageOf } from '../components/trouble.js';
import { LinkList, useLinkList } from './link-list.js';

const { common, links: text } = texts;

type Change =
  | { readonly addTags: readonly string[] }
  | { readonly removeTags: readonly string[] }
  | { readonly tags: readonly string[] }
  | { readonly disabled: boolean }
  | { readonly delete: true }
  | { readonly restore: true };

type Failed = Extract<BulkResponse['results'][number], { readonly success: false }>;

interface Props {
  readonly selected: readonly LinkDetails[];
  readonly onChanged: (changed: readonly LinkDetails[], failed: readonly Failed[]) => void;
}

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

/** A change of some links. */
interface Step {
  readonly change: Change;
  readonly links: readonly LinkDetails[];
}

interface Outcome {
  readonly changed: readonly LinkDetails[];
  readonly failed: readonly Failed[];
  /** The steps that undo it. */
  readonly inverse: readonly Step[];
}

/** The change that undoes another one; `null`: the link was not changed, or by others too. */
const inverseOf = (change: Change, before: LinkDetails, after: LinkDetails): Change | null => {
  if (after.version !== before.version + 1) return null;
  if ('disabled' in change) return { disabled: !change.disabled };
  if ('delete' in change) return { restore: true };
  if ('restore' in change) return { delete: true };
  const without = (tags: readonly string[], others: readonly string[]) =>
    tags.filter((tag) => !others.includes(tag));
  if ('addTags' in change) return { removeTags: without(after.tags, before.tags) };
  const addTags = without(before.tags, after.tags);
  // Tags are added at the end. One request for each former order restores the others.
  const isFormer = String([...after.tags, ...addTags]) === String(before.tags);
  return isFormer ? { addTags } : { tags: before.tags };
};

/** @param isUndo whether links that were changed since are refused */
const send = async ({ change, links }: Step, isUndo = false): Promise<Result<Outcome>> => {
  const shortCodes = links.map(subjectOfLink);
  const versions = isUndo && { versions: links.map(({ version }) => version) };
  const body = { shortCodes, change, ...versions };
  const response = await callApi<BulkResponse>('/v2/links/bulk', { method: 'POST', body });
  if (!response.ok) return response;
  const { results } = response.value;
  const steps = new Map<string, Step>();
  // Without the scope links:read, the response has only a few fields of each link.
  const changed = results.flatMap((result) => {
    const before = links[result.index];
    if (!result.success || !before) return [];
    const after = { ...before, ...result };
    const inverse = inverseOf(change, before, after);
    const key = JSON.stringify(inverse);
    const others = steps.get(key)?.links ?? [];
    if (inverse) steps.set(key, { change: inverse, links: [...others, after] });
    return [after];
  });
  const failed = results.filter((result) => !result.success);
  return { ...response, value: { changed, failed, inverse: [...steps.values()] } };
};

/** Undoes a change, unless a request fails. */
const undoAll = async (steps: readonly Step[]): Promise<Result<Outcome>> => {
  const results = await Promise.all(steps.map((step) => send(step, true)));
  const outcomes: Outcome[] = [];
  for (const result of results) {
    if (!result.ok) return result;
    outcomes.push(result.value);
  }
  const changed = outcomes.flatMap((outcome) => outcome.changed);
  const failed = outcomes.flatMap((outcome) => outcome.failed);
  return { ok: true, status: 200, value: { changed, failed, inverse: [] } };
};

/** Changes the selected links. Each one succeeds or fails separately. */
const Bulk = ({ selected, onChanged }: Props) => {
  const tools = useActions(() => undefined);
  /** The steps that undo the last change. */
  const [steps, setSteps] = useState<readonly Step[]>([]);
  const onDone = ({ changed, failed, inverse }: Outcome): void => {
    setSteps(inverse);
    onChanged(changed, failed);
  };
  const call = (change: Change) => send({ change, links: selected });
  const tagsIn = (data: FormData) => splitTags(fieldsOf(data)['tags'] ?? '');
  const count = selected.length;
  const undoable = steps.flatMap(({ links }) => links).length;
  const undo: Action = { verb: text.undo, call: () => undoAll(steps), onDone };
  const restore: Action = { verb: common.restore, call: () => call({ restore: true }), onDone };
  const changes: readonly Action[] = [
    {
      verb: text.addTags,
      dialog: { title: text.addTagsTo(count), verb: text.add, content: <Tags required /> },
      call: (data) => call({ addTags: tagsIn(data) }),
      onDone,
    },
    {
      verb: text.removeTags,
      dialog: {
        title: text.removeTagsFrom(count),
        verb: common.remove,
        content: <Tags required />,
      },
      call: (data) => call({ removeTags: tagsIn(data) }),
      onDone,
    },
    { verb: common.disable, call: () => call({ disabled: true }), onDone },
    { verb: common.enable, call: () => call({ disabled: false }), onDone },
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
      call: () => call({ delete: true }),
      onDone,
    },
  ];
  const actions = selected.every(({ status }) => status === 'deleted') ? [restore] : changes;
  return (
    <div class="stack">
      <div class="row bulk" role="group" aria-label={text.changeSelected}>
        <span role="status">{count === 0 ? text.selectSome : text.selected(count)}</span>
        {count > 0 && tools.buttons(actions)}
      </div>
      {undoable > 0 && (
        <p class="row" role="status">
          <span>{text.changed(undoable)}</span> {tools.buttons([undo])}
        </p>
      )}
      {tools.feedback}
      {tools.dialogs}
    </div>
  );
};

/** The address of a file with all links of a filter. */
const exportAddressOf = (filter: LinkFilter): string =>
  `/console/v2/export?format=csv&${apiQueryOf({ ...filter, sort: 'created', after: '' }, ownZoneOf())}`;

const Failures = ({ failed }: { readonly failed: readonly Failed[] }) => (
  <div class="trouble" role="alert">
    <ul>
      {failed.map(({ shortCode, message }) => (
        <li key={shortCode}>
          <strong>{shortCode}</strong>: {messageOf({ message })}
        </li>
      ))}
    </ul>
  </div>
);

export const Links = () => {
  const list = useLinkList<LinkPage>(false);
  const { filter, query, value, isLoading } = list;
  const canCreate = useScope('links:create');
  const canWrite = useScope('links:write');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const lastClicked = useRef('');
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
    .filter(({ status }) => (status === 'deleted') === (filter.status === 'deleted'));
  const selected = links.filter((link) => chosen.has(subjectOfLink(link)));

  const select = (clicked: readonly string[], isSelected: boolean, isRange = false): void => {
    const order = links.map(subjectOfLink);
    const ends = [lastClicked.current, ...clicked].map((subject) => order.indexOf(subject));
    const isKnown = isRange && !ends.includes(-1);
    const subjects = isKnown ? order.slice(Math.min(...ends), Math.max(...ends) + 1) : clicked;
    lastClicked.current = clicked.at(-1) ?? '';
    const others = [...chosen].filter((subject) => !subjects.includes(subject));
    setChosen(new Set(isSelected ? [...others, ...subjects] : others));
  };
  const show = (now: readonly LinkDetails[], notChanged: readonly Failed[]): void => {
    setChanged(new Map([...changed, ...now.map((link) => [subjectOfLink(link), link] as const)]));
    setFailed(notChanged);
    setChosen(new Set(notChanged.map(({ shortCode }) => shortCode)));
  };

  // After a change, its report stays, even if no link is left.
  const isUnchanged = changed.size === 0;
  const isEmpty = value !== undefined && links.length === 0;
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
          {canCreate && (
            <a class="button primary" href="/console/new">
              {common.newLink}
            </a>
          )}
        </div>
      }
    >
      {isWhole && isUnchanged && isEmpty && canCreate ? (
        <Begin />
      ) : (
        <LinkList
          list={list}
          links={links}
          {...(canWrite && { selection: { selected, onSelect: select } })}
        >
          {canWrite && !(isEmpty && isUnchanged) && <Bulk selected={selected} onChanged={show} />}
          {failed.length > 0 && <Failures failed={failed} />}
        </LinkList>
      )}
    </Page>
  );
};
