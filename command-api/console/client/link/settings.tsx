import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LinkDetails } from '../../../../schemas/http/links.js';
import { withScheme } from '../../destination.js';
import { formatTime } from '../../format.js';
import { subjectOfLink } from '../../link-address.js';
import { changeOfEnd, changeOfStart, restorableUntil } from '../../link-end.js';
import { changedOptions } from '../../option-form.js';
import { haveEqualRules, type RuleForm, toForm, toRequest } from '../../rules-form.js';
import { splitTags } from '../../tags.js';
import { texts } from '../../all-texts.js';
import { callApi, type Result } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { question, useActions } from '../components/actions.js';
import { LimitFields } from '../components/end-fields.js';
import { Check, Input } from '../components/field.js';
import { LinkTexts } from '../components/link-texts.js';
import { OptionFields } from '../components/option-fields.js';
import { Trouble } from '../components/trouble.js';
import { LeaveGuard } from '../components/unsaved.js';
import { RuleEditor } from '../rules/rule-editor.js';

const { common, link: text } = texts;

interface Changed {
  readonly link: Pick<LinkDetails, 'version'>;
  /** The path and query of the link in `/v2` or `/admin`. */
  readonly path: string;
}

/** Changes a link, unless its version has changed. */
export const sendChange = (
  { link, path }: Changed,
  method: 'PATCH' | 'DELETE',
  body?: unknown,
): Promise<Result<LinkDetails | undefined>> =>
  callApi(path, {
    method,
    headers: { 'If-Match': `"${link.version}"` },
    ...(body !== undefined && { body }),
  });

/** @param path the path and query of the link in `/v2` or `/admin` */
export const sendRestore = (path: string): Promise<Result<unknown>> =>
  callApi(path.replace(/\?|$/, '/restore$&'), { method: 'POST' });

/** Why a deleted link does not redirect. */
export const deletedText = (link: LinkDetails): string => {
  const until = restorableUntil(link);
  return until === null ? text.isDeleted : text.isDeletedUntil(formatTime(until));
};

interface Props {
  readonly link: LinkDetails;
  /** The path and query of the link in `/v2` or `/admin`. */
  readonly path: string;
  readonly onChanged: () => void;
  /** Sections before that of the end. */
  readonly children?: ComponentChildren;
}

/** The changed values of a form, as the body of a PATCH. */
const changeOf = (
  fields: ReturnType<typeof fieldsOf>,
  rules: readonly RuleForm[],
  link: LinkDetails,
): Readonly<Record<string, unknown>> => {
  const { title = null, note = null, password } = fields;
  const url = withScheme(fields['url'] ?? '');
  const tags = splitTags(fields['tags'] ?? '');
  const { maxClicks: limit } = fields;
  const maxClicks = limit === undefined ? null : Number(limit);
  return {
    ...(url !== link.url && { url }),
    ...(title !== link.title && { title }),
    ...(note !== link.note && { note }),
    ...(tags.join() !== link.tags.join() && { tags }),
    ...changeOfStart(fields['startsAt'], link.startsAt),
    ...changeOfEnd(fields, link.expiresAt),
    ...(maxClicks !== link.maxClicks && { maxClicks }),
    ...(!haveEqualRules(rules, toForm(link.rules)) && { rules: toRequest(rules) }),
    ...changedOptions(fields, link),
    ...(fields['open'] !== undefined ? { password: null } : password !== undefined && { password }),
  };
};

const Fields = ({ link }: { readonly link: LinkDetails }) => (
  <>
    <Input
      label={common.destination}
      name="url"
      required
      maxLength={2_048}
      defaultValue={link.url}
    />
    <LinkTexts link={link} />
    <details
      open={
        link.hasPassword || [link.startsAt, link.expiresAt, link.maxClicks].some((v) => v !== null)
      }
    >
      <summary>{text.limits}</summary>
      <div class="stack">
        <LimitFields link={link} />
        {link.hasPassword && <Check name="open" label={text.removePassword} />}
      </div>
    </details>
    <OptionFields link={link} />
  </>
);

const Edit = (props: Props) => {
  const { path, onChanged } = props;
  const { isBusy, failure, run } = useAction();
  const [note, setNote] = useState('');
  const [isChanged, setChanged] = useState(false);
  const edits = useRef(0);
  const shown = useRef(props.link);
  /** Fields of another user's version are new elements. After a save, they stay, with the focus. */
  const version = useRef(props.link.version);
  // Another user's change of the link must not replace what this one has typed.
  if (!isChanged && props.link.version > shown.current.version) {
    shown.current = props.link;
    version.current = props.link.version;
  }
  const link = shown.current;
  const [rules, setRules] = useState(() => toForm(link.rules));
  const button = useRef<HTMLButtonElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) {
      if (version.current === link.version) setRules(toForm(link.rules));
      // The focused field was replaced.
      if (document.activeElement === document.body) button.current?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [link.version]);

  const touch = (): void => {
    edits.current += 1;
    setChanged(true);
    setNote('');
  };
  const finish = (report: string): void => {
    setChanged(false);
    setNote(report);
    onChanged();
  };
  const loadTheirs = async (): Promise<void> => {
    if (!(await run(() => callApi(path)))) return;
    finish(text.theirsLoaded);
    // The focused button is removed.
    button.current?.focus();
  };
  /** @param isForced whether the change is made to any version of the link */
  const save = async (form: HTMLFormElement, isForced = false): Promise<void> => {
    const data = new FormData(form);
    const change = changeOf(fieldsOf(data), rules, link);
    const saved = edits.current;
    setNote('');
    if (Object.keys(change).length === 0) {
      setChanged(false);
      setNote(text.nothingChanged);
      return;
    }
    const send = () =>
      isForced
        ? callApi<LinkDetails | undefined>(path, { method: 'PATCH', body: change })
        : sendChange({ path, link }, 'PATCH', change);
    const done = await run(send);
    if (!done) return;
    if (done.value) {
      shown.current = done.value;
      // Another user changed other fields.
      if (isForced) version.current = done.value.version;
    }
    const password = form.querySelector<HTMLInputElement>('[name=password]');
    if (password?.value === data.get('password')) password.value = '';
    finish(text.saved);
    setChanged(edits.current !== saved);
  };
  return (
    <>
      {isChanged && !isBusy && <LeaveGuard />}
      <form class="card stack" onSubmit={onSubmit((_, form) => save(form))} onInput={touch}>
        <Fields key={version.current} link={link} />
        <RuleEditor
          rules={rules}
          url={link.url}
          onChange={(changed) => {
            setRules(changed);
            touch();
          }}
        />
        <Trouble failure={failure} />
        {failure?.kind === 'refused' && failure.status === 412 && (
          <div class="row" role="group" aria-label={text.conflict}>
            <button type="button" aria-disabled={isBusy} onClick={() => void loadTheirs()}>
              {text.loadTheirs}
            </button>
            <button
              type="button"
              aria-disabled={isBusy}
              onClick={({ currentTarget: { form } }) => form && void save(form, true)}
            >
              {text.keepMine}
            </button>
            <span class="hint">{text.keepMineHint}</span>
          </div>
        )}
        <p class="row">
          <button ref={button} class="primary" aria-disabled={isBusy}>
            {common.save}
          </button>
          <span role="status">{note}</span>
        </p>
      </form>
    </>
  );
};

export const Settings = (props: Props) => {
  const { link, onChanged } = props;
  const tools = useActions(onChanged);
  if (link.status === 'deleted') {
    const restore = { verb: common.restore, call: () => sendRestore(props.path) };
    return (
      <div class="card stack">
        <p>{deletedText(link)}</p>
        {tools.feedback}
        {restorableUntil(link) !== null && <div class="row">{tools.buttons([restore], '')}</div>}
      </div>
    );
  }
  const isDisabled = link.status === 'disabled';
  return (
    <div class="stack">
      <Edit {...props} />
      {props.children}
      <section class="card stack" aria-labelledby="end">
        <h2 id="end">{text.stop}</h2>
        <p class="hint">{text.disableHint}</p>
        {tools.feedback}
        <div class="row">
          {tools.buttons(
            [
              {
                verb: isDisabled ? common.enable : common.disable,
                call: () => sendChange(props, 'PATCH', { disabled: !isDisabled }),
              },
              {
                verb: common.delete,
                isDanger: true,
                ...question(text.deleteLink(subjectOfLink(link)), <p>{text.deleteWarning}</p>),
                call: () => sendChange(props, 'DELETE'),
              },
            ],
            '',
          )}
        </div>
      </section>
      {tools.dialogs}
    </div>
  );
};
