import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { linkPage } from '../../link-address.js';
import { toRequest, type RuleForm } from '../../rules-form.js';
import { splitTags } from '../../tags.js';
import { callApi, randomId } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import type { LinkResponse } from '../app/types.js';
import { CopyButton } from '../components/copy-button.js';
import { Input, Select } from '../components/field.js';
import { LinkTexts } from '../components/link-texts.js';
import { Trouble } from '../components/trouble.js';
import { RuleEditor } from '../rules/rule-editor.js';

export const lifetimes = [
  ['', 'Never'],
  ['3600', 'In an hour'],
  ['86400', 'In a day'],
  ['604800', 'In a week'],
  ['2592000', 'In 30 days'],
  ['31536000', 'In a year'],
] as const;

const bodyOf = (fields: ReturnType<typeof fieldsOf>, rules: readonly RuleForm[]) => {
  const { expiresIn, maxClicks, tags, forwardQuery, ...texts } = fields;
  return {
    ...texts,
    ...(tags !== undefined && { tags: splitTags(tags) }),
    ...(expiresIn !== undefined && { expiresIn: Number(expiresIn) }),
    ...(maxClicks !== undefined && { maxClicks: Number(maxClicks) }),
    ...(rules.length > 0 && { rules: toRequest(rules) }),
    ...(forwardQuery !== undefined && { forwardQuery: true }),
  };
};

const CreatedLink = ({ link }: { readonly link: LinkResponse }) => (
  <section class="card made" aria-live="polite">
    <h2>Your link is live</h2>
    <p class="row">
      <a class="figure clip" href={link.shortUrl} target="_blank" rel="noreferrer">
        {link.shortUrl}
      </a>
      <CopyButton text={link.shortUrl} what="the short link" />
    </p>
    <p class="soft clip">
      leads to <bdi>{link.url}</bdi>
    </p>
    <p class="row">
      <a href={linkPage(link)}>Statistics</a>
      <a href={linkPage(link, 'qr')}>QR code</a>
    </p>
  </section>
);

/** @param domain the field of the domain */
export const OneLink = ({ domain }: { readonly domain: ComponentChildren }) => {
  const { isBusy, failure, run } = useAction();
  const [created, setCreated] = useState<LinkResponse>();
  const [rules, setRules] = useState<readonly RuleForm[]>([]);
  /** Repeating the same request does not create a second link, even if the response was lost. */
  const attempt = useRef({ text: '', id: '' });

  const submit = onSubmit(async (form) => {
    const body = bodyOf(fieldsOf(form), rules);
    const text = JSON.stringify(body);
    if (attempt.current.text !== text) attempt.current = { text, id: randomId() };
    const headers = { 'Idempotency-Key': attempt.current.id };
    const done = await run(() =>
      callApi<LinkResponse>('/v2/shorten', { method: 'POST', body, headers }),
    );
    if (!done) return;
    attempt.current = { text: '', id: '' };
    setCreated(done.value);
    form.reset();
    setRules([]);
  });

  return (
    <>
      {created && <CreatedLink link={created} />}
      <form class="card stack" onSubmit={submit}>
        <Input
          label="Destination"
          name="url"
          inputMode="url"
          required
          maxLength={2_048}
          placeholder="https://example.com/a-long-address"
        />
        {domain}
        <Input
          label="Alias"
          name="alias"
          minLength={3}
          maxLength={50}
          hint="The end of the short link. Letters, digits, hyphens and underscores. Without it, Linklog makes one up."
        />
        <details>
          <summary>More</summary>
          <div class="columns">
            <Select label="Expires" name="expiresIn" options={lifetimes} />
            <Input label="Clicks at most" name="maxClicks" type="number" min={1} max={1e9} />
            <Input
              label="Password"
              name="password"
              type="password"
              autocomplete="new-password"
              minLength={4}
              maxLength={100}
              hint="Visitors must enter it."
            />
          </div>
          <LinkTexts />
        </details>
        <RuleEditor rules={rules} onChange={setRules} />
        <Trouble failure={failure} />
        <button class="primary" aria-disabled={isBusy}>
          Make the link
        </button>
      </form>
    </>
  );
};
