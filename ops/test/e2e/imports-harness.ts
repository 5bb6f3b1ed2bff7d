import { expect } from 'chai';
import type { ImportedRow, ImportResponse } from '../../../schemas/http/imports.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { HttpResponse, RequestOptions } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import type { Bench } from './harness.js';

/** For the poll of the import job (0.5 s), retries of an import (5 s), and thousands of rows. */
const endsWithinMs = 60_000;

/** The objects of JSON lines. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name the type of the rows
export const rowsOf = <Row = ImportedRow>({ status, text }: HttpResponse): readonly Row[] => {
  expect(status, text).to.equal(200);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);
};

/** An import that has ended, and the outcomes of its rows. */
interface EndedImport {
  readonly ended: ImportResponse;
  readonly rows: readonly ImportedRow[];
}

/** Lines of a CSV file with a header. */
export const csvFile = (header: string, ...rows: readonly string[]): string =>
  [header, ...rows, ''].join('\n');

/** A row of a CSV file with a code and a URL. */
export const row = (code: string, url = 'https://example.com/imported'): string => `${code},${url}`;

export const manyRows = (prefix: string, count: number): string =>
  csvFile('code,url', ...Array.from({ length: count }, (_, index) => row(`${prefix}-${index}`)));

export const outcomesOf = ({ rows }: Pick<EndedImport, 'rows'>): readonly string[] =>
  rows.map(({ code, outcome }) => `${code ?? ''} ${outcome}`);

/** Requests about imports to a running product: of a key, or of operators (`null`). */
export const importCalls = (bench: Bench) => {
  const call = (
    path: string,
    key: string | null,
    options: RequestOptions,
  ): Promise<HttpResponse> =>
    key === null
      ? bench.admin(options.method ?? 'GET', `/admin/imports${path}`, options.body, options.headers)
      : bench.api(`/v2/imports${path}`, key, options);

  const send = (
    file: string | Buffer,
    key: string | null,
    query = '',
    headers: Record<string, string> = {},
  ): Promise<HttpResponse> => call(query, key, { method: 'POST', body: file, headers });

  const start = async (...request: Parameters<typeof send>): Promise<ImportResponse> => {
    const response = await send(...request);
    expect(response.status, response.text).to.equal(202);
    return response.json() as ImportResponse;
  };

  const show = async (id: string, key: string | null): Promise<ImportResponse> => {
    const response = await call(`/${id}`, key, {});
    expect(response.status, response.text).to.equal(200);
    return response.json() as ImportResponse;
  };

  const waitForEnd = async (id: string, key: string | null): Promise<EndedImport> => {
    await eventuallyPasses(async () => {
      expect(await show(id, key)).to.not.include({ status: 'running' });
    }, endsWithinMs);
    return { ended: await show(id, key), rows: rowsOf(await call(`/${id}/rows`, key, {})) };
  };

  return {
    call,
    send,
    start,
    show,
    waitForEnd,
    stop: async (id: string, key: string | null): Promise<number> =>
      (await call(`/${id}`, key, { method: 'DELETE' })).status,
    /** Imports a file and waits for the end. */
    run: async (...request: Parameters<typeof send>): Promise<EndedImport> => {
      const { id } = await start(...request);
      return waitForEnd(id, request[1]);
    },
    /** A link of the key's account. */
    details: async (code: string, key: string, domain?: string): Promise<LinkDetails> => {
      const query = domain === undefined ? '' : `?domain=${domain}`;
      const response = await bench.api(`/v2/links/${encodeURIComponent(code)}${query}`, key);
      expect(response.status, response.text).to.equal(200);
      return response.json() as LinkDetails;
    },
  };
};
