import { expect } from 'chai';
import { readShlinkApi } from '../../../command-api/imports/formats/shlink-api.js';
import { readRecords } from '../../../command-api/testing/import-files.js';
import { rejection } from '../../test/support/waiting.js';
import { CliError } from '../cli/errors.js';
import { readShlink } from './shlink.js';
import { collect, type ApiServer } from './testing/api-server.js';
import { startShlink, type ShlinkLink, type ShlinkState } from './testing/shlink-server.js';

const link = (shortCode: string, fields: Partial<ShlinkLink> = {}): ShlinkLink => ({
  ...{ shortCode, domain: null, visits: [], rules: [] },
  ...fields,
});

const codeOf = (index: number): string => `c${String(index).padStart(4, '0')}`;

const links = (count: number): readonly ShlinkLink[] =>
  Array.from({ length: count }, (_, index) => link(codeOf(index)));

const visits = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ referer: 'https://t.co/', date: '2025-01-02T03:04:05+00:00', userAgent: `agent ${index}` },
    visitLocation: { countryCode: 'DE', cityName: 'Berlin', latitude: 52.5, longitude: 13.4 },
    ...{ potentialBot: false, visitedUrl: 'https://s.test/x', redirectUrl: null },
  }));

const isList = (url: URL, page: number): boolean =>
  url.pathname === '/rest/v3/short-urls' && url.searchParams.get('page') === String(page);

describe('CLI: API of Shlink', () => {
  let state: ShlinkState;
  let server: ApiServer;

  beforeEach(async () => {
    ({ state, server } = await startShlink());
  });

  afterEach(() => {
    server.close();
  });

  const read = (withVisits = false): Promise<readonly string[]> =>
    collect(readShlink(server.connect(), { visits: withVisits }));

  const readCodes = async (): Promise<readonly string[]> =>
    (await read()).map((line) => {
      const { link: listed } = JSON.parse(line) as { link: { shortCode: string } };
      return listed.shortCode;
    });

  /** Changes the links before the first response with a page of the list. */
  const changeBefore = (page: number, change: () => readonly ShlinkLink[]): void => {
    let isChanged = false;
    state.intercept = ({ url }) => {
      if (!isChanged && isList(url, page)) {
        isChanged = true;
        state.links = change();
      }
      return undefined;
    };
  };

  it('reads links of all domains with their rules, as the importer accepts them', async () => {
    const rule = {
      ...{ longUrl: 'https://ios.example/', priority: 1 },
      conditions: [{ type: 'device', matchKey: null, matchValue: 'ios' }],
    };
    state.links = [
      link('docs/käse', { rules: [rule] }),
      link('same'),
      link('same', { domain: 'go.test', rules: [rule], visits: visits(2) }),
    ];
    const records = await readRecords(readShlinkApi, await read());
    const found = records.map((record) =>
      record.type === 'link'
        ? [
            record.link.domain,
            record.link.code,
            record.link.options.rules?.length ?? 0,
            record.link.clicks,
          ]
        : record,
    );
    expect(found).to.have.deep.members([
      ['s.test', 'docs/käse', 1, 0],
      ['s.test', 'same', 0, 0],
      ['go.test', 'same', 1, 2],
    ]);
    expect(server.requests).to.have.members([
      '/rest/v3/short-urls?page=1&itemsPerPage=100&orderBy=shortCode-ASC',
      '/rest/v3/short-urls/docs/k%C3%A4se/redirect-rules',
      '/rest/v3/short-urls/same/redirect-rules?domain=go.test',
    ]);
  });

  it('reads all pages of links, and an installation without links', async () => {
    expect(await readCodes()).to.deep.equal([]);
    state.links = links(250);
    expect(await readCodes()).to.deep.equal(links(250).map(({ shortCode }) => shortCode));
    expect(server.requests).to.have.length(4);
  });

  it('reads all pages of the visits that a link had at the start', async () => {
    state.links = [
      link('none'),
      link('some', { domain: 'go.test', visits: visits(1_200) }),
      link('few', { visits: visits(1) }),
    ];
    const lines = await read(true);
    const records = await readRecords(readShlinkApi, lines);
    const found = records.flatMap((record) => (record.type === 'visit' ? [record.visit] : []));
    expect(found).to.have.length(1_201);
    expect(found.filter(({ domain }) => domain === 'go.test')).to.have.length(1_200);
    expect(new Set(found.map(({ userAgent }) => userAgent))).to.have.property('size', 1_200);
    expect(found[0]).to.deep.equal({
      ...{ code: 'few', domain: 's.test', time: '2025-01-02T03:04:05.000Z' },
      ...{ country: 'DE', referrer: 'https://t.co/', userAgent: 'agent 0' },
    });
    expect(lines.join('')).to.not.match(/Berlin|52\.5/);
    const requested = server.requests.filter((path) => path.includes('/visits?'));
    expect(requested).to.have.length(4);
    for (const path of requested) expect(path).to.match(/&endDate=\d{4}-\d\d-\d\dT/);
    expect(requested.filter((path) => path.includes('/none/'))).to.deep.equal([]);
  });

  it('reads links of versions without redirect rules', async () => {
    state.intercept = ({ url }) => {
      if (url.pathname.endsWith('/redirect-rules')) return { status: 404 };
      const data = [{ shortCode: 'early', longUrl: 'https://example.org/', visitsCount: 0 }];
      return {
        body: { shortUrls: { data, pagination: { currentPage: 1, pagesCount: 1, totalItems: 1 } } },
      };
    };
    expect((await read(true)).map((line) => JSON.parse(line) as unknown)).to.deep.equal([
      {
        link: { shortCode: 'early', longUrl: 'https://example.org/', visitsCount: 0 },
        rules: null,
      },
    ]);
    expect(server.notices).to.deep.equal([]);
  });

  it('ends at a page that is beyond the end after links were deleted', async () => {
    state.links = links(230);
    changeBefore(3, () => links(230).slice(90));
    const codes = await readCodes();
    expect(codes).to.have.members(links(230).map(({ shortCode }) => shortCode));
  });

  it('reports links that were deleted after they were listed', async () => {
    const rules = [{ longUrl: 'https://example.org/', priority: 1, conditions: [] }];
    state.links = [link('a', { rules }), link('b', { visits: visits(1) }), link('c')];
    state.intercept = ({ url }) => {
      if (!isList(url, 1)) state.links = [];
      return undefined;
    };
    const lines = await read(true);
    expect(lines.map((line) => (JSON.parse(line) as { link: object }).link)).to.deep.equal([
      (JSON.parse(lines[0] ?? '') as { link: object }).link,
      (JSON.parse(lines[1] ?? '') as { link: object }).link,
    ]);
    expect(server.notices).to.deep.equal([
      '"a" was not found any more; it was probably deleted',
      '"b" was not found any more; it was probably deleted',
    ]);
  });

  it('fails if a page in the middle fails again and again', async () => {
    state.links = links(250);
    state.intercept = ({ url }) => (isList(url, 2) ? { status: 500 } : undefined);
    const error = await rejection(read());
    expect(error).to.be.instanceOf(CliError);
    expect((error as CliError).message.replaceAll(server.host, 'HOST')).to.equal(
      'HOST/rest/v3/short-urls returned HTTP 500',
    );
  });
});
