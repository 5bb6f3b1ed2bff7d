import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { toCsv } from '../../csv.js';
import { formatNumber } from '../../format.js';
import { linkPage } from '../../link-address.js';
import { batchSize, inBatches, maxUrls, pastedUrls } from '../../pasted-urls.js';
import { splitTags } from '../../tags.js';
import { callApi, randomId } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import type { BatchResponse, BatchResult } from '../app/types.js';
import { CopyButton } from '../components/copy-button.js';
import { Field } from '../components/field.js';
import { Tags } from '../components/link-texts.js';
import { saveFile } from '../components/save.js';
import { Trouble } from '../components/trouble.js';

/** A pending request, with its idempotency key. */
interface Batch {
  readonly id: string;
  readonly urls: readonly string[];
  /** The other fields of each link. */
  readonly options: { readonly tags?: readonly string[]; readonly domain?: string };
}

const shortUrlOf = (result: BatchResult): string => (result.success ? result.shortUrl : '');
const errorOf = (result: BatchResult): string => (result.success ? '' : result.message);

const save = (results: readonly BatchResult[]): void => {
  const rows = results.map((result) => [result.url ?? '', shortUrlOf(result), errorOf(result)]);
  const table = toCsv([['destination', 'short link', 'error'], ...rows]);
  saveFile('links.csv', new Blob([table], { type: 'text/csv' }));
};

const Results = ({ results }: { readonly results: readonly BatchResult[] }) => {
  const created = results.filter(({ success }) => success);
  return (
    <section class="card" aria-label="Results">
      <div class="row spread">
        <h2 aria-live="polite">
          {formatNumber(created.length)} of {formatNumber(results.length)} made
        </h2>
        <div class="row">
          <CopyButton text={created.map(shortUrlOf).join('\n')} what="the short links" />
          <button
            type="button"
            class="small"
            onClick={() => {
              save(results);
            }}
          >
            Save as CSV
          </button>
        </div>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of results">
        <table>
          <thead>
            <tr>
              <th scope="col">Destination</th>
              <th scope="col">Short link</th>
            </tr>
          </thead>
          <tbody>
            {results.map((result, index) => (
              <tr key={index}>
                <td class="clip">
                  <bdi>{result.url}</bdi>
                </td>
                <td>
                  {result.success ? (
                    <a href={linkPage(result)}>{result.shortUrl}</a>
                  ) : (
                    <span class="bad">{result.message}</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
};

/** @param domain the field of the domain */
export const ManyLinks = ({ domain }: { readonly domain: ComponentChildren }) => {
  const { isBusy, failure, run } = useAction();
  const [count, setCount] = useState(0);
  const [results, setResults] = useState<readonly BatchResult[]>([]);
  const [waiting, setWaiting] = useState<readonly Batch[]>([]);
  const isWaiting = waiting.length > 0;

  /** Sends the batches in order. After a failure, the remaining ones can be retried. */
  const work = async (batches: readonly Batch[]): Promise<void> => {
    for (const [index, { id, urls, options }] of batches.entries()) {
      setWaiting(batches.slice(index));
      const body = { urls: urls.map((url) => ({ url, ...options })) };
      const headers = { 'Idempotency-Key': id };
      const done = await run(() =>
        callApi<BatchResponse>('/v2/shorten/batch', { method: 'POST', body, headers }),
      );
      if (!done) return;
      setResults((before) => [...before, ...done.value.results]);
    }
    setWaiting([]);
  };

  const submit = onSubmit((form) => {
    if (isWaiting) return undefined;
    const fields = fieldsOf(form);
    const urls = pastedUrls(fields['urls'] ?? '').slice(0, maxUrls);
    const tags = splitTags(fields['tags'] ?? '');
    const { domain: chosen } = fields;
    const options = {
      ...(tags.length > 0 && { tags }),
      ...(chosen !== undefined && { domain: chosen }),
    };
    setResults([]);
    return work(inBatches(urls).map((batch) => ({ id: randomId(), urls: batch, options })));
  });

  const left = waiting.reduce((sum, { urls }) => sum + urls.length, 0);
  return (
    <>
      <form class="card stack" onSubmit={submit}>
        <Field
          label="Destinations"
          hint={`One a line, at most ${formatNumber(maxUrls)}. ${batchSize} links cost one call; each link counts.`}
        >
          {(control) => (
            <textarea
              {...control}
              name="urls"
              rows={8}
              required
              spellcheck={false}
              placeholder={'https://example.com/one\nhttps://example.com/two'}
              onInput={(event) => {
                setCount(pastedUrls(event.currentTarget.value).length);
              }}
            />
          )}
        </Field>
        {count > maxUrls && (
          <p class="bad" role="alert">
            These are {formatNumber(count)} lines. Only the first {formatNumber(maxUrls)} are used.
          </p>
        )}
        {domain}
        <Tags hint="Of all these links." />
        <button class="primary" aria-disabled={isBusy || isWaiting}>
          {count === 1 ? 'Make one link' : `Make ${formatNumber(Math.min(count, maxUrls))} links`}
        </button>
      </form>
      {isWaiting && (
        <div class="card stack">
          <p aria-live="polite">{formatNumber(left)} are still to be made.</p>
          <Trouble failure={failure} onRetry={() => void work(waiting)} />
          {failure && (
            <button
              type="button"
              onClick={() => {
                setWaiting([]);
              }}
            >
              Leave the others out
            </button>
          )}
        </div>
      )}
      {results.length > 0 && <Results results={results} />}
    </>
  );
};
