/** Forms that send a request. They own the call, the busy state and the error. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { texts } from '../../texts.js';
import type { Result } from '../app/api.js';
import { onSubmit, useAction } from '../app/hooks.js';
import { Dialog } from './dialog.js';
import { Trouble } from './trouble.js';

interface CallProps<Value> {
  /** The text of the button. */
  readonly verb: string;
  readonly isDanger?: boolean;
  /** Returns `null` if nothing is to be sent. */
  readonly call: (data: FormData) => Promise<Result<Value>> | null;
  readonly onDone?: (value: Value, form: HTMLFormElement) => void;
  readonly children?: ComponentChildren;
}

interface FormProps<Value> extends CallProps<Value> {
  readonly title?: string;
  readonly isCard?: boolean;
  /** Called when nothing is to be sent. */
  readonly onUnchanged?: () => void;
  /** Adds a second button. */
  readonly onCancel?: (() => void) | undefined;
  /** The text of the second button. */
  readonly cancel?: string;
}

export const CallForm = <Value,>(props: FormProps<Value>) => {
  const { verb, isDanger = false, call, onDone, onUnchanged, onCancel, title, children } = props;
  const { isCard = title !== undefined, cancel = texts.components.cancel } = props;
  const { isBusy, failure, run } = useAction();
  const id = useId();
  const submit = onSubmit(async (data, form) => {
    const done = await run(() => {
      const request = call(data);
      if (request === null) onUnchanged?.();
      return request;
    });
    if (done) onDone?.(done.value, form);
  });
  const button = (
    <button class={isDanger ? 'danger' : 'primary'} aria-disabled={isBusy}>
      {verb}
    </button>
  );
  return (
    <form
      class={isCard ? 'card stack' : 'stack'}
      onSubmit={submit}
      aria-labelledby={title === undefined ? undefined : id}
    >
      {title !== undefined && <h2 id={id}>{title}</h2>}
      {children}
      <Trouble failure={failure} />
      {onCancel ? (
        <div class="row">
          {button}
          <button type="button" onClick={onCancel}>
            {cancel}
          </button>
        </div>
      ) : (
        button
      )}
    </form>
  );
};

interface DialogProps<Value> extends CallProps<Value> {
  readonly title: string;
  readonly onClose: () => void;
}

/** A form in a dialog, which closes if nothing is to be sent. */
export const FormDialog = <Value,>({ title, onClose, ...form }: DialogProps<Value>) => (
  <Dialog title={title} onClose={onClose}>
    <CallForm {...form} onUnchanged={onClose} />
  </Dialog>
);

/** Asks before a call that is hard to undo. */
export const Confirm = <Value,>({ title, onClose, ...form }: DialogProps<Value>) => (
  <Dialog title={title} onClose={onClose}>
    <CallForm {...form} isDanger onCancel={onClose} />
  </Dialog>
);
