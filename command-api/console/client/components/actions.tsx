import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.js';
import { callApi, type Result } from '../app/api.js';
import { fieldsOf, useAction } from '../app/hooks.js';
import { useOwner } from '../app/owner.js';
import { CopyButton } from './copy-button.js';
import { Dialog } from './dialog.js';
import { Select } from './field.js';
import { CallForm, Confirm, FormDialog } from './forms.js';
import { Trouble } from './trouble.js';

const { common, components: text } = texts;

/**
 * Reports the success of a change, to screen readers too. With `takesFocus`, the report gets the focus, because the
 * element that had it is removed.
 */
const useNotice = () => {
  const [shown, show] = useState({ text: '', takesFocus: false, count: 0 });
  const element = useRef<HTMLParagraphElement>(null);
  const announce = useCallback((text: string, takesFocus = false) => {
    show(({ count }) => ({ text, takesFocus, count: count + 1 }));
  }, []);
  useEffect(() => {
    if (shown.takesFocus) element.current?.focus();
  }, [shown]);
  const notice = (
    <p class="notice" role="status" tabIndex={-1} ref={element}>
      {/* A new element, so that a repeated text is announced again. */}
      {shown.text !== '' && <span key={shown.count}>{shown.text}</span>}
    </p>
  );
  return { notice, announce };
};

const secrets = {
  key: { title: text.keepKey, use: text.keyUse, name: text.theKey },
  secret: { title: text.keepSecret, use: text.secretUse, name: text.theSecret },
  url: { title: text.keepUrl, use: text.urlUse, name: text.theUrl },
} as const;

/** A change that the user can make, with the request that it sends. */
export interface Action {
  /** The text of the button. */
  readonly verb: string;
  /** Only for screen readers, after the verb. */
  readonly unseen?: string;
  readonly isDanger?: boolean;
  /** Opened by the button. Without it, the button sends the request. */
  readonly dialog?: {
    readonly title: string;
    /** The fields of a form, or the text of a question. */
    readonly content: ComponentChildren;
    /** The text of the button, if it is not that of the action. */
    readonly verb?: string;
    readonly isQuestion?: boolean;
    readonly isDanger?: boolean;
  };
  /** Returns `null` if nothing is to be sent. */
  readonly call: (data: FormData) => Promise<Result<unknown>> | null;
  /** The report of the success, if it is not the usual one. */
  readonly done?: string | ((value: never) => string);
  /** Whether the button disappears with its item: the report gets the focus. */
  readonly isRemoval?: boolean;
  /** The field of the response that is shown once. */
  readonly secret?: keyof typeof secrets;
  /** What the secret is for, if it is not the usual use. */
  readonly secretUse?: string;
  /** Replaces the report and the reload. */
  readonly onDone?: (value: never) => void;
}

/** The properties of an action that asks before a call that is hard to undo. */
export const question = (title: string, content: ComponentChildren) => ({
  dialog: { title, content, isQuestion: true },
});

const overlaps = [
  ['0', text.now],
  ['3600', text.inAnHour],
  ['86400', text.inADay],
  ['604800', text.inAWeek],
] as const;

interface Rotation {
  readonly verb: string;
  readonly title: string;
  readonly content: ComponentChildren;
}

/** Replaces the secret of a key or webhook. @param path of the key or webhook */
export const rotation = (
  secret: keyof typeof secrets,
  path: string,
  { verb, title, content }: Rotation,
): Action => ({
  verb,
  secret,
  dialog: {
    title,
    verb: common.rotate,
    content: (
      <>
        <p>{content}</p>
        <Select label={text.oldSecretEnds} name="overlapSeconds" value="0" options={overlaps} />
      </>
    ),
  },
  call: (data) => {
    const body = { overlapSeconds: Number(fieldsOf(data)['overlapSeconds']) };
    return callApi(`${path}/rotate`, { method: 'POST', body });
  },
});

interface NewSecretProps {
  readonly kind: keyof typeof secrets;
  readonly use?: string | undefined;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A new key or secret, which cannot be shown again. */
const NewSecret = ({ kind, use = secrets[kind].use, secret, onClose }: NewSecretProps) => (
  <Dialog title={secrets[kind].title}>
    <div class="stack">
      <p>
        {text.shownOnce} {use}
      </p>
      <p class="row">
        <code class="long">{secret}</code> <CopyButton text={secret} what={secrets[kind].name} />
      </p>
      <button type="button" class="primary" onClick={onClose}>
        {text.stored}
      </button>
    </div>
  </Dialog>
);

interface Finished {
  readonly action: Action;
  readonly value: unknown;
}

const secretOf = ({ action: { secret = 'key' }, value }: Finished): string =>
  (value as Readonly<Record<string, string>>)[secret] ?? '';

const reportOf = ({ action, value }: Finished): string => {
  const { done = action.secret ? '' : text.done } = action;
  return typeof done === 'string' ? done : done(value as never);
};

/** The actions of a page: their buttons, forms, dialogs, reports and errors. @param reload loads the changed data */
export const useActions = (reload: () => void) => {
  const { isReadOnly } = useOwner();
  const { isBusy, failure, run } = useAction();
  const { notice, announce } = useNotice();
  const [opened, setOpened] = useState<Action | null>(null);
  const [withSecret, setWithSecret] = useState<Finished | null>(null);
  /** A new number empties the form. */
  const [formNumber, setFormNumber] = useState(0);
  const close = (): void => setOpened(null);
  /** Reports a success, and loads the changed data. */
  const succeed = (message: string, takesFocus: boolean): void => {
    announce(message, takesFocus);
    reload();
  };
  const finish = (finished: Finished, takesFocus = finished.action.isRemoval ?? false): void => {
    close();
    if (finished.action.secret) setWithSecret(finished);
    else if (finished.action.onDone) finished.action.onDone(finished.value as never);
    else succeed(reportOf(finished), takesFocus);
  };
  const send = async (action: Action): Promise<void> => {
    announce('');
    const done = await run(() => action.call(new FormData()));
    if (done) finish({ action, value: done.value });
  };
  const DialogOfAction = opened?.dialog?.isQuestion === true ? Confirm : FormDialog;
  return {
    run,
    isBusy,
    succeed,
    /** Sends the request of an action without a dialog. */
    start: (action: Action): void => void send(action),
    /** Buttons for actions, none for auditors. Equal positions keep their focus. */
    buttons: (actions: readonly Action[], style = 'small') =>
      (isReadOnly ? [] : actions).map((action, index) => (
        <button
          key={index}
          type="button"
          class={action.isDanger === true ? `${style} danger` : style}
          aria-disabled={isBusy && !action.dialog}
          onClick={() => {
            if (action.dialog) setOpened(action);
            else void send(action);
          }}
        >
          {action.verb}
          {action.unseen !== undefined && <span class="unseen"> {action.unseen}</span>}
        </button>
      )),
    form: (action: Action) => (
      <CallForm
        key={formNumber}
        title={action.dialog?.title ?? action.verb}
        verb={action.verb}
        call={action.call}
        onDone={(value) => {
          setFormNumber(formNumber + 1);
          // The form with the focus is replaced.
          finish({ action, value }, true);
        }}
      >
        {action.dialog?.content}
      </CallForm>
    ),
    feedback: (
      <>
        {notice}
        <Trouble failure={failure} />
      </>
    ),
    dialogs: (
      <>
        {opened?.dialog && (
          <DialogOfAction
            title={opened.dialog.title}
            verb={opened.dialog.verb ?? opened.verb}
            call={opened.call}
            isDanger={opened.dialog.isDanger ?? false}
            onDone={(value) => finish({ action: opened, value })}
            onClose={close}
          >
            {opened.dialog.content}
          </DialogOfAction>
        )}
        {withSecret?.action.secret && (
          <NewSecret
            kind={withSecret.action.secret}
            use={withSecret.action.secretUse}
            secret={secretOf(withSecret)}
            onClose={() => {
              setWithSecret(null);
              // Not before, because the rotated key may be the session's, which ends then.
              const report = reportOf(withSecret);
              succeed(report, report !== '');
            }}
          />
        )}
      </>
    ),
  };
};
