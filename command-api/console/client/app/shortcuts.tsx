import { useLocation } from 'preact-iso/router';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../../texts.js';
import { Check } from '../components/field.js';
import { Dialog } from '../components/dialog.js';

const text = texts.app;

/** Keys that are typed one after another, such as `g l`, and the page that they open. */
export interface Shortcut {
  readonly keys: string;
  readonly path: string;
  readonly title: string;
  /** Focuses the field for a search on the page. */
  readonly isSearch?: boolean;
}

/** The time between two keys (ms). */
const sequenceMs = 1_500;

const storageKey = 'linklog-shortcuts';

const isOff = (): boolean => localStorage.getItem(storageKey) === 'off';

/** Whether keys are input of the focused element. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
    target.closest('dialog') !== null);

/** Focuses the search field of the page as soon as it exists. */
const focusSearch = (attempts = 20): void => {
  const field = document.querySelector<HTMLInputElement>('input[type=search]');
  if (field) field.focus();
  else if (attempts > 0) {
    setTimeout(() => focusSearch(attempts - 1), 50);
  }
};

/** Handles shortcuts of one key or two. WCAG 2.1.4: the user can switch them off. */
export const Shortcuts = ({ shortcuts }: { readonly shortcuts: readonly Shortcut[] }) => {
  const { route } = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    let previous = { key: '', at: 0 };
    const handle = (event: KeyboardEvent): void => {
      const { key, target, timeStamp: at } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target) || isOff()) return;
      const typed = at - previous.at < sequenceMs ? `${previous.key} ${key}` : key;
      previous = { key, at };
      if (key === '?') setOpen(true);
      const shortcut = shortcuts.find(({ keys }) => keys === typed || keys === key);
      if (!shortcut) return;
      event.preventDefault();
      route(shortcut.path);
      if (shortcut.isSearch === true) focusSearch();
    };
    document.addEventListener('keydown', handle);
    return () => document.removeEventListener('keydown', handle);
  }, [shortcuts, route]);
  return (
    <>
      <button
        type="button"
        class="quiet small keys"
        aria-label={text.shortcuts}
        onClick={() => setOpen(true)}
      >
        <kbd aria-hidden="true">?</kbd>
      </button>
      {isOpen && (
        <Dialog title={text.shortcuts} onClose={() => setOpen(false)}>
          <dl class="data">
            {[...shortcuts, { keys: '?', title: text.shortcuts }].map(({ keys, title }) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{title}</dd>
              </div>
            ))}
          </dl>
          <Check
            defaultChecked={!isOff()}
            onChecked={(isChecked) => localStorage.setItem(storageKey, isChecked ? 'on' : 'off')}
            label={text.useShortcuts}
          />
        </Dialog>
      )}
    </>
  );
};
