import type { ComponentChildren } from 'preact';
import type { Result } from '../app/api.js';
import { useAction } from '../app/hooks.js';
import { Dialog } from './dialog.js';
import { Trouble } from './trouble.js';
import { texts } from '../../texts.js';

interface Props<Value> {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The text of the confirming button. */
  readonly verb: string;
  readonly call: () => Promise<Result<Value>>;
  readonly onDone: (value: Value) => void;
  readonly onClose: () => void;
}

/** Asks before a call that cannot be undone. */
export const Confirm = <Value,>(props: Props<Value>) => {
  const { title, children, verb, call, onDone, onClose } = props;
  const { isBusy, failure, run } = useAction();
  const confirm = async (): Promise<void> => {
    const done = await run(call);
    if (done) onDone(done.value);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        {children}
        <Trouble failure={failure} />
        <div class="row">
          <button
            type="button"
            class="danger"
            aria-disabled={isBusy}
            onClick={() => void confirm()}
          >
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            {texts.components.cancel}
          </button>
        </div>
      </div>
    </Dialog>
  );
};
