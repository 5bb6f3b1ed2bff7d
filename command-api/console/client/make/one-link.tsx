import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LinkResponse } from '../../../../schemas/http/shorten.js';
import { bookmarkletOf, type UtmValues, withScheme, withUtm } from '../../destination.js';
import { linkPage } from '../../link-address.js';
import { readEnd } from '../../link-end.js';
import { changedOptions } from '../../option-form.js';
import { fromLocalTime, type RuleForm, toRequest } from '../../rules-form.js';
import { splitTags } from '../../tags.js';
import { texts } from '../../all-texts.js';
import { callApi, randomId } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { ClippedUrl } from '../components/clipped.js';
import { CopyButton } from '../components/copy-button.js';
import { LimitFields } from '../components/end-fields.js';
import { Input, withValue, UrlInput } from '../components/field.js';
import { LinkTexts } from '../components/link-texts.js';
import { OptionFields } from '../components/option-fields.js';
import { richText } from '../components/rich-text.js';
import { Trouble } from '../components/trouble.js';
import { LeaveGuard } from '../components/unsaved.js';
import { RuleEditor } from '../rules/rule-editor.js';
import { UtmFields } from './utm-fields.js';

const { common, make: text } = texts;

/** A link for the bookmarks bar. The content security policy of this page forbids its code, but not that of others. */
const Bookmarklet = () => {
  const [note, setNote] = useState('');
  return (
    <details class="card">
      <summary>{text.bookmarklet}</summary>
      <div class="stack">
        <p>{text.bookmarkletHint}</p>
        <p class="row">
          <a
            class="button"
            href={bookmarkletOf(location.origin)}
            onClick={(event) => {
              event.preventDefault();
              setNote(text.dragIt);
            }}
          >
            {text.bookmarkletName}
          </a>
          <span role="status">{note}</span>
        </p>
      </div>
    </details>
  );
};

const exampleUrl = 'https://example.com/a-long-address';

const bodyOf = (
  url: string,
  fields: ReturnType<typeof fieldsOf>,
  rules: readonly RuleForm[],
  utm: UtmValues,
): object => {
  const { alias, password, domain, title, note, tags, maxClicks, startsAt } = fields;
  const end = readEnd(fields);
  const tagged = rules.map((rule) => ({
    ...rule,
    entries: rule.entries.map((entry) => ({ ...entry, url: withUtm(entry.url, utm) })),
  }));
  return {
    url,
    ...{ alias, password, domain, title, note },
    ...(tags !== undefined && { tags: splitTags(tags) }),
    ...(startsAt !== undefined && { startsAt: fromLocalTime(startsAt) }),
    ...(('expiresIn' in end || end.expiresAt !== null) && end),
    ...(maxClicks !== undefined && { maxClicks: Number(maxClicks) }),
    ...(rules.length > 0 && { rules: toRequest(tagged) }),
    ...changedOptions(fields),
  };
};

/** The copy button gets the focus, because most users need it next. */
const CreatedLink = ({ link }: { readonly link: LinkResponse }) => {
  const actions = useRef<HTMLParagraphElement>(null);
  useEffect(() => actions.current?.querySelector('button')?.focus(), [link]);
  return (
    <section class="card made" aria-live="polite">
      <h2>{text.isLive}</h2>
      <p class="row" ref={actions}>
        <a class="figure clip" href={link.shortUrl} target="_blank" rel="noreferrer">
          {link.shortUrl}
        </a>
        <CopyButton text={link.shortUrl} what={texts.components.theShortLink} />
      </p>
      <p class="soft row nowrap">
        {richText(common.redirectsTo, { url: <ClippedUrl url={link.url} /> })}
      </p>
      <p class="row">
        <a href={linkPage(link)}>{common.statistics}</a>
        <a href={linkPage(link, 'qr')}>{common.qrCode}</a>
      </p>
    </section>
  );
};

interface Prefilled {
  readonly url: string;
  readonly title: string;
}

const Form = (props: {
  readonly domain: ComponentChildren;
  readonly prefilled: Prefilled;
  /** Whether the first field gets the focus. */
  readonly isFirst: boolean;
  readonly onCreated: (link: LinkResponse) => void;
}) => {
  const { domain, prefilled, isFirst, onCreated } = props;
  const { isBusy, failure, run } = useAction();
  const [typed, setTyped] = useState(prefilled.url);
  const [utm, setUtm] = useState<UtmValues>({});
  const [rules, setRules] = useState<readonly RuleForm[]>([]);
  const [isChanged, setChanged] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  /** Repeating the same request does not create a second link, even if the response was lost. */
  const attempt = useRef({ text: '', id: '' });
  const url = withUtm(withScheme(typed), utm);

  useEffect(() => {
    if (isFirst) form.current?.querySelector<HTMLInputElement>('input[name=url]')?.focus();
  }, []);

  const submit = onSubmit(async (element) => {
    const body = JSON.stringify(bodyOf(url, fieldsOf(element), rules, utm));
    if (attempt.current.text !== body) attempt.current = { text: body, id: randomId() };
    const call = {
      method: 'POST',
      body: JSON.parse(body) as unknown,
      headers: { 'Idempotency-Key': attempt.current.id },
    } as const;
    const done = await run(() => callApi<LinkResponse>('/v2/shorten', call));
    if (!done) return;
    onCreated(done.value);
  });

  return (
    <>
      {isChanged && <LeaveGuard />}
      <form ref={form} class="card stack" onSubmit={submit} onInput={() => setChanged(true)}>
        <UrlInput
          label={common.destination}
          name="url"
          required
          placeholder={exampleUrl}
          value={typed}
          onInput={withValue(setTyped)}
          onChange={() => setTyped(withScheme(typed))}
        />
        {typed !== '' && url !== typed.trim() && (
          <p class="hint long">{richText(text.result, { url: <bdi>{url}</bdi> })}</p>
        )}
        {domain}
        <Input
          label={common.alias}
          name="alias"
          minLength={3}
          maxLength={50}
          hint={text.aliasHint}
        />
        <details open={prefilled.title !== ''}>
          <summary>{text.more}</summary>
          <div class="stack">
            <LimitFields />
            <LinkTexts link={{ title: prefilled.title, note: null, tags: [] }} />
          </div>
        </details>
        <UtmFields values={utm} onChange={setUtm} />
        <OptionFields />
        <RuleEditor
          rules={rules}
          url={withScheme(typed)}
          onChange={(changed) => {
            setRules(changed);
            setChanged(true);
          }}
        />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          {text.create}
        </button>
      </form>
    </>
  );
};

interface Props {
  readonly domain: ComponentChildren;
  /** The values of the first form. */
  readonly prefilled: Prefilled;
}

export const OneLink = ({ domain, prefilled }: Props) => {
  const [created, setCreated] = useState<LinkResponse>();
  const [count, setCount] = useState(0);
  return (
    <>
      {created && <CreatedLink link={created} />}
      {/* Another link has an empty form. */}
      <Form
        key={count}
        domain={domain}
        isFirst={count === 0}
        prefilled={count === 0 ? prefilled : { url: '', title: '' }}
        onCreated={(link) => {
          setCreated(link);
          setCount(count + 1);
        }}
      />
      <Bookmarklet />
    </>
  );
};
