import { expect } from 'chai';
import { readKuttJson } from '../../../command-api/imports/formats/json.js';
import { readRecords } from '../../../command-api/testing/import-files.js';
import { readKutt } from './other-service.js';
import {
  collect,
  startApiServer,
  type ApiReply,
  type ApiRequest,
  type ApiServer,
} from './testing/api-server.js';

const link = (number: number): object => ({
  ...{ id: `id-${number}`, address: `a${number}`, banned: false, password: false },
  ...{ created_at: '2025-01-02T03:04:05.000Z', updated_at: '2025-01-02T03:04:05.000Z' },
  ...{ description: null, expire_in: null, target: 'https://example.org/', visit_count: 0 },
  ...{ domain: null, link: `https://kutt.test/a${number}` },
});

/** Newest first. */
const numbers = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => count - index);

describe('CLI: API of Kutt', () => {
  let server: ApiServer;
  let links: readonly number[];
  let intercept: (request: ApiRequest) => ApiReply | undefined;

  beforeEach(async () => {
    links = [];
    intercept = () => undefined;
    server = await startApiServer((request) => {
      const { searchParams, pathname } = request.url;
      if (request.headers['x-api-key'] !== 'the-key') return { status: 401 };
      if (pathname !== '/api/v2/links') return { status: 404 };
      const reply = intercept(request);
      if (reply) return reply;
      const limit = Math.min(50, Number(searchParams.get('limit')));
      const skip = Number(searchParams.get('skip'));
      const data = links.slice(skip, skip + limit).map(link);
      return { body: { total: links.length, limit, skip, data } };
    });
  });

  afterEach(() => {
    server.close();
  });

  const readCodes = async (): Promise<readonly string[]> => {
    const records = await readRecords(readKuttJson, await collect(readKutt(server.connect())));
    return records.map((record) => (record.type === 'link' ? record.link.code : record.type));
  };

  const codes = (list: readonly number[]): string[] => list.map((number) => `a${number}`);

  it('reads all pages, with some links of the page before', async () => {
    links = numbers(120);
    expect(await readCodes()).to.deep.equal(codes(links));
    expect(server.requests).to.deep.equal([
      '/api/v2/links?limit=50&skip=0',
      '/api/v2/links?limit=50&skip=40',
      '/api/v2/links?limit=50&skip=80',
    ]);
  });

  it('passes a link on whose other fields are invalid', async () => {
    intercept = () => ({ body: { total: 2, data: [{ id: 'x', address: null }, link(1)] } });
    expect(await readCodes()).to.deep.equal(['invalid', 'a1']);
  });
});
