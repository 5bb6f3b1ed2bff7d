import { useLocation } from 'preact-iso/router';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { texts } from '../../texts.js';
import {
  areShortcutsOff,
  type ConsolePage,
  isApple,
  paletteKeys,
  useOffered,
} from '../app/shell.js';
import { Dialog } from '../components/dialog.js';
import { Icon } from '../components/icon.js';
import { lazy } from '../components/lazy.js';

const text = texts.common;

const Entries = lazy(async () => (await import('./entries.js')).Entries);

/** The button that opens the command palette, like Ctrl K, or Cmd K on systems of Apple. */
export const Palette = ({ pages }: { readonly pages: readonly ConsolePage[] }) => {
  const { url } = useLocation();
  const [isOpen, setOpen] = useState(false);
  const offered = useOffered(pages);
  const close = (): void => setOpen(false);
  useLayoutEffect(close, [url]);
  useEffect(() => {
    const openByKeys = (event: KeyboardEvent): void => {
      const { key, altKey, shiftKey } = event;
      const isModified = isApple ? event.metaKey : event.ctrlKey;
      if (key.toLowerCase() !== 'k' || !isModified || altKey || shiftKey || areShortcutsOff())
        return;
      event.preventDefault();
      // Another dialog must be closed first.
      if (!document.querySelector(':modal')) setOpen(true);
    };
    document.addEventListener('keydown', openByKeys);
    return () => document.removeEventListener('keydown', openByKeys);
  }, []);
  return (
    <>
      <button type="button" class="search" onClick={() => setOpen(true)}>
        <Icon name="search" />
        <span>{text.search}…</span>
        <kbd aria-hidden="true">{paletteKeys}</kbd>
      </button>
      {isOpen && (
        <Dialog title={text.search} onClose={close}>
          <Entries pages={offered} onClose={close} />
        </Dialog>
      )}
    </>
  );
};
