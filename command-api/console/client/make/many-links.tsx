import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { BatchResponse, BatchResult } from '../../../../schemas/http/batch.js';
import { toCsv } from '../../csv.js';
import { linkPage } from '../../link-address.js';
import { formatNumber } from '../../locale.js';
import {
  batchSize,
  inBatches,
  maxLinks,
  type PastedLink,
  type PastedRow,
  type PastedText,
  readPastedLinks,
} from '../../pasted-links.js';
import { splitTags } from '../../tags.js';
import { texts } from '../../all-texts.js';
import { callApi, randomId } from '../app/api.js';
import { fieldsOf, onSubmit, useAction } from '../app/hooks.js';
import { CopyButton } from '../components/copy-button.js';
import { Check, TextArea, withValue } from '../components/field.js';
import { Tags } from '../components/link-texts.js';
import { saveFile } from '../components/save.js';
import { ScrollTable } from '../components/tables.js';
import { Alert, messageOf, Trouble } from '../components/trouble.js';

const { common, make: notes } = texts;

/** The number of lines that the preview shows. */
const maxShown = 100;

const delimiterNames: Readonly<Record<string, string>> = notes.delimiters;

const Row = ({ row }: { readonly row: PastedRow }) => (
  <tr>
    <td class="number">{formatNumber(row.row)}</td>
    {row.type === 'invalid' ? (
      <td colSpan={4} class="bad">
        {row.message} {notes.leftOut}
      </td>
    ) : (
      <>
        <td class="clip">
          <bdi>{row.link.url}</bdi>
        </td>
        <td>
          {row.link.alias === null ? (
            <span class="soft">{notes.generated}</span>
          ) : (
            <bdi>{row.link.alias}</bdi>
          )}
        </td>
        <td>
          <bdi>{row.link.title}</bdi>
        </td>
        <td>
          <bdi>{row.link.tags.join(', ')}</bdi>
        </td>
      </>
    )}
  </tr>
);

interface Props {
  readonly pasted: PastedText;
  readonly isPlain: boolean;
  readonly onPlain: (isPlain: boolean) => void;
}

/** The links that the lines of a text become. */
const PastedPreview = ({ pasted, isPlain, onPlain }: Props) => {
  const { rows, delimiter, unusedColumns, assumedColumns, unnamedColumns } = pasted;
  if (rows.length === 0) return null;
  return (
    <>
      {(delimiter !== null || isPlain) && (
        <Check checked={isPlain} onChecked={onPlain} label={notes.eachLineIsUrl} />
      )}
      <p role="status">
        {[
          ...(delimiter === null
            ? []
            : [notes.columnsBetween(delimiterNames[delimiter] ?? delimiter)]),
          ...(assumedColumns.length > 0 ? [notes.assumedColumns(assumedColumns.join(', '))] : []),
          ...(unusedColumns.length > 0 ? [notes.unused(unusedColumns.join(', '))] : []),
          ...(unnamedColumns > 0 ? [notes.unnamed(unnamedColumns)] : []),
        ].join(' ')}
      </p>
      <ScrollTable
        label={common.preview}
        columns={[
          { number: common.line },
          common.destination,
          common.alias,
          common.title,
          common.tags,
        ]}
        isPreview
      >
        {rows.slice(0, maxShown).map((row) => (
          <Row key={row.row} row={row} />
        ))}
      </ScrollTable>
      {rows.length > maxShown && <p class="hint">{notes.onlyFirstLines(maxShown)}</p>}
    </>
  );
};

const exampleLines = 'https://example.com/one\nhttps://example.com/two';

/** A pending request, with its idempotency key. */
interface Batch {
  readonly id: string;
  /** Bodies of `POST /v2/shorten`. */
  readonly urls: readonly object[];
}

/** The body of a link. @param tags those of all links */
const bodyOf = (link: PastedLink, tags: readonly string[], domain: string | undefined): object => {
  const ownTags = new Set([...link.tags, ...tags]);
  return {
    url: link.url,
    ...(link.alias !== null && { alias: link.alias }),
    ...(link.title !== null && { title: link.title }),
    ...(ownTags.size > 0 && { tags: [...ownTags] }),
    ...(domain !== undefined && { domain }),
  };
};

const shortUrlOf = (result: BatchResult): string => (result.success ? result.shortUrl : '');
const errorOf = (result: BatchResult): string => {
  if (result.success) return '';
  return messageOf('reason' in result ? result : { message: result.message });
};

const save = (results: readonly BatchResult[]): void => {
  const rows = results.map((result) => [result.url ?? '', shortUrlOf(result), errorOf(result)]);
  const table = toCsv([
    [notes.columns.destination, notes.columns.shortLink, notes.columns.error],
    ...rows,
  ]);
  saveFile('links.csv', new Blob([table], { type: 'text/csv' }));
};

const Results = ({ results }: { readonly results: readonly BatchResult[] }) => {
  const created = results.filter(({ success }) => success);
  return (
    <section class="card" aria-label={notes.results}>
      <div class="row spread">
        <h2 aria-live="polite">{notes.created(created.length, results.length)}</h2>
        <div class="row">
          <CopyButton text={created.map(shortUrlOf).join('\n')} what={notes.theShortLinks} />
          <button type="button" class="small" onClick={() => save(results)}>
            {notes.saveCsv}
          </button>
        </div>
      </div>
      <ScrollTable label={notes.tableOfResults} columns={[common.destination, common.shortLink]}>
        {results.map((result, index) => (
          <tr key={index}>
            <td class="clip">
              <bdi>{result.url}</bdi>
            </td>
            <td>
              {result.success ? (
                <a href={linkPage(result)}>{result.shortUrl}</a>
              ) : (
                <span class="bad">{errorOf(result)}</span>
              )}
            </td>
          </tr>
        ))}
      </ScrollTable>
    </section>
  );
};

/** @param domain the field of the domain */
export const ManyLinks = ({ domain }: { readonly domain: ComponentChildren }) => {
  const { isBusy, failure, run } = useAction();
  const [text, setText] = useState('');
  const [isPlain, setPlain] = useState(false);
  const pasted = useMemo(() => readPastedLinks(text, isPlain), [text, isPlain]);
  const links = pasted.rows.flatMap((row) => (row.type === 'link' ? [row.link] : []));
  const count = Math.min(links.length, maxLinks);
  const [results, setResults] = useState<readonly BatchResult[]>([]);
  const [waiting, setWaiting] = useState<readonly Batch[]>([]);
  const isWaiting = waiting.length > 0;

  /** Sends the batches in order. After a failure, the remaining ones can be retried. */
  const work = async (batches: readonly Batch[]): Promise<void> => {
    for (const [index, { id, ...body }] of batches.entries()) {
      setWaiting(batches.slice(index));
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
    if (isWaiting || count === 0) return undefined;
    const { tags, domain: chosen } = fieldsOf(form);
    const bodies = links
      .slice(0, maxLinks)
      .map((link) => bodyOf(link, splitTags(tags ?? ''), chosen));
    setResults([]);
    return work(inBatches(bodies).map((urls) => ({ id: randomId(), urls })));
  });

  const left = waiting.reduce((sum, { urls }) => sum + urls.length, 0);
  return (
    <>
      <form class="card stack" onSubmit={submit}>
        <TextArea
          label={notes.destinations}
          hint={notes.destinationsHint(maxLinks, batchSize)}
          name="urls"
          rows={8}
          required
          spellcheck={false}
          placeholder={exampleLines}
          onInput={withValue(setText)}
        />
        {links.length > maxLinks && <Alert>{notes.tooMany(links.length, maxLinks)}</Alert>}
        <PastedPreview pasted={pasted} isPlain={isPlain} onPlain={setPlain} />
        {domain}
        <Tags hint={notes.tagsOfAll} />
        <button class="primary" aria-disabled={isBusy || isWaiting || count === 0}>
          {notes.createMany(count)}
        </button>
      </form>
      {isWaiting && (
        <div class="card stack">
          <p aria-live="polite">{notes.stillToCreate(left)}</p>
          <Trouble failure={failure} onRetry={() => void work(waiting)} />
          {failure && (
            <button type="button" onClick={() => setWaiting([])}>
              {notes.leaveOut}
            </button>
          )}
        </div>
      )}
      {results.length > 0 && <Results results={results} />}
    </>
  );
};
