import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.js';
import type { Loaded } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import type { Action, useActions } from './actions.js';
import { Trouble } from './trouble.js';

/** How an item of a list is shown, and what the user can do with it. */
export interface Description {
  readonly id: string;
  /** The name of the item, for screen readers; `id` if it is absent. */
  readonly name?: string;
  readonly heading: ComponentChildren;
  readonly actions?: readonly Action[];
  readonly content: ComponentChildren;
}

interface Props<Item> {
  readonly tools: ReturnType<typeof useActions>;
  readonly loaded: Pick<Loaded<unknown>, 'failure' | 'reload'>;
  readonly items: readonly Item[] | undefined;
  readonly describe: (item: Item) => Description;
  /** Shown without items. */
  readonly none?: string;
  readonly layout?: 'stack' | 'columns wide';
  /** Creates an item, in a form below the list. */
  readonly create?: Action | undefined;
  /** The address of the next page. */
  readonly next?: string | null;
}

/** The address of the page that follows a loaded one. @param list the address of the list */
export const nextPage = (
  list: string,
  page: { readonly next: string | null } | undefined,
): string | null => (page?.next == null ? null : `${list}?after=${page.next}`);

/** A list of resources with their actions, the form of a new one, and the dialogs of all of them. */
export const ResourceList = <Item,>(props: Props<Item>) => {
  const { tools, loaded, items, describe, none, layout = 'stack', create, next = null } = props;
  const { isReadOnly } = useOwner();
  return (
    <>
      {tools.feedback}
      <Trouble failure={loaded.failure} onRetry={loaded.reload} />
      {none !== undefined && items?.length === 0 && <p class="soft">{none}</p>}
      <ul class={`plain ${layout}`}>
        {items?.map(describe).map(({ id, name = id, heading, actions, content }) => (
          <li key={id} class="card stack">
            <div class="row spread">
              {heading}
              {actions && !isReadOnly && (
                <div class="row" role="group" aria-label={name}>
                  {tools.buttons(actions)}
                </div>
              )}
            </div>
            {content}
          </li>
        ))}
      </ul>
      {next !== null && (
        <p>
          <a class="button" href={next}>
            {texts.components.nextPage}
          </a>
        </p>
      )}
      {create && items && tools.form(create)}
      {tools.dialogs}
    </>
  );
};
