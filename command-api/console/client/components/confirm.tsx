import type { ComponentChildren } from 'preact';
import type { Action } from '../app/hooks.js';
import { Dialog } from './dialog.js';
import { Trouble } from './trouble.js';

interface Props {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The text of the confirming button. */
  readonly verb: string;
  readonly action: Action;
  readonly onConfirm: () => unknown;
  readonly onClose: () => void;
}

/** Asks before an action that cannot be undone. */
export const Confirm = ({ title, children, verb, action, onConfirm, onClose }: Props) => (
  <Dialog title={title} onClose={onClose}>
    <div class="stack">
      {children}
      <Trouble failure={action.failure} />
      <div class="row">
        <button
          type="button"
          class="danger"
          aria-disabled={action.isBusy}
          onClick={() => onConfirm()}
        >
          {verb}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </div>
  </Dialog>
);
