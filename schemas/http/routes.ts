/** The table of the routes under /v2, with the rows of links. */
import { batchRequest, batchResponse } from './batch.js';
import { bulkRequest, bulkResponse } from './bulk.js';
import { codeRoutes } from './codes.js';
import { domainRoutes } from './domains.js';
import { messages } from './errors.js';
import { eventRoutes } from './events.js';
import { exportedLink, exportQuery } from './export.js';
import { historyRoutes } from './history.js';
import { importRoutes } from './imports.js';
import { keyRoutes } from './keys.js';
import { changeLinkRequest, linkDetails, linkPage } from './links.js';
import { listLinksQuery } from './list-links.js';
import { peopleRoutes } from './people.js';
import { qrRoutes } from './qr.js';
import { usageRoutes } from './reports.js';
import { call, done, json, linkTo, routeGroup } from './route.js';
import { shareRoutes } from './shares.js';
import { linkResponse, shortenRequest } from './shorten.js';
import { statisticsRoutes } from './statistics.js';
import { listTagsQuery, tagPage } from './tags.js';
import { utmTemplateRoutes } from './utm-templates.js';
import { webhookRoutes } from './webhooks.js';

const exampleLink = {
  shortUrl: 'http://localhost:8081/spring-sale',
  shortCode: 'spring-sale',
  url: 'https://example.com/a?b=c',
  alias: 'spring-sale',
  expiresAt: '2026-05-02T12:00:00.000Z',
  maxClicks: 100,
  createdAt: '2026-05-01T12:00:00.000Z',
};

const taken = { url: 'https://example.com/b', alias: 'taken' };

const exampleRules = [
  {
    name: 'ios-de',
    when: { os: ['iOS'], countries: ['DE', 'AT'] },
    url: 'https://apps.example/de',
  },
  {
    name: 'test',
    when: {},
    split: [
      { name: 'a', url: 'https://example.com/a', weight: 1 },
      { name: 'b', url: 'https://example.com/b', weight: 3 },
    ],
  },
];

const details = {
  ...exampleLink,
  domain: null,
  startsAt: null,
  status: 'active',
  title: 'Spring sale',
  note: null,
  tags: ['sale', 'letter'],
  hasPassword: false,
  clickCount: 12,
  clicksLeft: 88,
  lastAccessed: '2026-05-01T13:30:00.000Z',
  updatedAt: '2026-05-01T12:30:00.000Z',
  rules: null,
  forwardQuery: false,
  version: 2,
};

const changed = { shortCode: exampleLink.shortCode, domain: null, version: 2, status: 'active' };

const withoutRead =
  'without the scope `links:read` gets only `shortCode`, `domain`, `version` and `status` of a link.';

const exportedCsv =
  'domain,code,alias,url,title,note,tags,createdAt,expiresAt,startsAt,maxClicks,clicks,disabled,rules,' +
  'forwardQuery,redirectStatus,expiredUrl,forwardPath,card,codes,hasPassword\r\n,spring-sale,spring-sale,https://example.com/a?b=c,Spring sale,,"sale,letter",' +
  '2026-05-01T12:00:00.000Z,2026-05-02T12:00:00.000Z,,100,12,false,,false,,,,,,false\r\n';

const ifMatch = { 'If-Match': 'The required `ETag` of the link, a list of such, or `*`.' };

const reused = {
  shortUrl: 'http://localhost:8081/9fK3bQzR',
  shortCode: '9fK3bQzR',
  url: exampleLink.url,
  createdAt: exampleLink.createdAt,
};

const createRoutes = routeGroup(
  { tag: 'Links', scope: 'links:create' },
  {
    shorten: call('POST /shorten', 'Create a short link', {
      description:
        'At most 65,536 bytes of body. Costs one link of the month. Custom aliases and ' +
        'passwords require a plan that includes them.',
      isIdempotent: true,
      body: shortenRequest,
      examples: {
        url: { url: 'https://example.com/a?b=c' },
        all: {
          url: 'https://example.com/a?b=c',
          alias: 'spring-sale',
          password: 'open sesame',
          expiresIn: 86_400,
          maxClicks: 100,
          title: 'Spring sale',
          note: 'For the newsletter of May',
          tags: ['sale', 'letter'],
        },
        rules: { url: 'https://example.com/a?b=c', rules: exampleRules, forwardQuery: true },
        domain: { url: 'https://example.com/a?b=c', domain: 'go.example.com' },
        reuse: { url: 'https://example.com/a?b=c', reuse: true },
      },
      returns: {
        200: json(
          'The existing link that `reuse` found.',
          linkResponse,
          { link: reused },
          { headers: ['Linklog-Reused'] },
        ),
        201: json(
          'The link, which redirects on every edge.',
          linkResponse,
          { link: exampleLink },
          {
            links: { stats: linkTo('getStats', 'shortCode'), qr: linkTo('getQrCode', 'shortCode') },
          },
        ),
      },
    }),
    shortenBatch: call('POST /shorten/batch', 'Create up to 50 short links', {
      description:
        'At most 524,288 bytes of body. Costs one call, and one link of the month per created link.',
      isIdempotent: true,
      body: batchRequest,
      bodyLimit: 524_288,
      examples: { two: { urls: [{ url: 'https://example.com/a?b=c' }, taken] } },
      returns: {
        200: json('The outcome of each item, in the same order.', batchResponse, {
          two: {
            results: [
              { index: 0, success: true, ...exampleLink },
              {
                index: 1,
                success: false,
                url: taken.url,
                statusCode: 400,
                message: messages.aliasTaken,
              },
            ],
          },
        }),
      },
    }),
  },
);

const linkRoutes = routeGroup(
  { tag: 'Links', scope: 'links:read' },
  {
    changeLinks: call('POST /links/bulk', 'Change, delete or restore up to 100 short links', {
      scope: 'links:write',
      description:
        'One change for all links; each link succeeds or fails separately. Costs one monthly call per ' +
        'short code, and one call of the minute. Links beyond the monthly limit fail with 429. A key ' +
        withoutRead,
      body: bulkRequest,
      examples: {
        tags: {
          shortCodes: ['spring-sale', 'go.example.com/nothing'],
          change: { addTags: ['old'], removeTags: ['sale'], disabled: true },
        },
        delete: { shortCodes: ['spring-sale'], change: { delete: true } },
        restore: { shortCodes: ['spring-sale'], change: { restore: true } },
      },
      returns: {
        200: json('The outcome of each short code, in the same order.', bulkResponse, {
          two: {
            results: [
              {
                index: 0,
                success: true,
                ...details,
                status: 'disabled',
                tags: ['letter', 'old'],
                version: 4,
              },
              {
                index: 1,
                success: false,
                shortCode: 'go.example.com/nothing',
                statusCode: 404,
                message: 'Short URL not found',
              },
            ],
          },
        }),
      },
    }),
    listLinks: call('GET /links', "List the account's short links", {
      description:
        'Changes are visible within a second. All conditions must match. The order by creation is stable ' +
        'while links are created and changed; in the order by clicks, a link whose count changes ' +
        'meanwhile may be on two pages or on none.',
      query: listLinksQuery,
      returns: {
        200: json('A page of links.', linkPage, {
          links: {
            links: [details],
            next: 'WyJKbGJ5d1BxTWs2cEMiLDAsMTc3NzYzNjgwMDAwMCwic3ByaW5nIl0',
          },
          last: { links: [], next: null },
          counted: { links: [], next: null, count: 0 },
        }),
      },
    }),
    listTags: call('GET /tags', "List the tags of the account's short links", {
      description:
        'Tags that differ only in case are one tag, in the spelling of the newest link. The tags are in the ' +
        'order of their lower-case text. Changes are visible within a second.',
      query: listTagsQuery,
      returns: {
        200: json('A page of tags.', tagPage, {
          tags: { tags: [{ tag: 'spring', links: 12, clicks: 3_204 }], next: null },
        }),
      },
    }),
    exportLinks: call('GET /export', 'Export short links as a file', {
      description:
        'All links that `GET /v2/links` lists for these conditions, newest first, from one snapshot. Costs one ' +
        'call. A file is complete only if the response ends regularly: after an error, or after 30 minutes, the ' +
        'connection is reset. In CSV, an apostrophe precedes each value that starts with `=`, `+`, `-`, `@`, an ' +
        'apostrophe, a tab or CR. An account may run two exports at the same time on each node; a third one gets 503.',
      query: exportQuery,
      returns: {
        200: {
          description: 'The file.',
          schema: null,
          files: {
            'application/x-ndjson': { item: exportedLink },
            'text/csv': { example: exportedCsv },
          },
          headers: ['Content-Disposition'],
        },
      },
    }),
    getLink: call('GET /links/:shortCode', 'Get a short link', {
      description: 'A link of the account, including expired and deleted ones.',
      returns: {
        200: json('The link.', linkDetails, { link: details }, { headers: ['ETag'] }),
      },
    }),
    changeLink: call('PATCH /links/:shortCode', 'Change a short link', {
      scope: 'links:write',
      description:
        'Takes effect on every edge within a second. Fields are validated as for a new link. A new ' +
        'destination, and one to which the link redirects again, is checked for web safety. A key ' +
        withoutRead,
      headers: ifMatch,
      body: changeLinkRequest,
      examples: {
        destination: { url: 'https://example.com/b' },
        rules: { rules: exampleRules },
        more: { expiresIn: null, maxClicks: 200, title: 'Summer sale', tags: [], disabled: true },
      },
      returns: {
        200: json(
          'The changed link.',
          linkDetails,
          { link: details, withoutRead: changed },
          { headers: ['ETag'] },
        ),
      },
      errors: [410, 412],
    }),
    deleteLink: call('DELETE /links/:shortCode', 'Delete a short link', {
      scope: 'links:write',
      description:
        'It can be restored for 30 days. Its code is never given to another link. Its details and statistics remain.',
      headers: ifMatch,
      returns: { 204: done('The link is deleted.') },
      errors: [412],
    }),
    restoreLink: call('POST /links/:shortCode/restore', 'Restore a deleted short link', {
      scope: 'links:write',
      description:
        'For 30 days after its last change. Everything is as it was before the deletion; it costs no link of the ' +
        'month. A link that is not deleted stays as it is. If it redirects again, its destinations are checked for ' +
        'web safety. A key ' +
        withoutRead,
      returns: {
        200: json(
          'The link.',
          linkDetails,
          { link: details, withoutRead: changed },
          { headers: ['ETag'] },
        ),
      },
      errors: [400, 410],
    }),
  },
);

/** Every route under /v2, by operation. */
export const v2Table = {
  ...createRoutes,
  ...linkRoutes,
  ...codeRoutes,
  ...historyRoutes,
  ...qrRoutes,
  ...statisticsRoutes,
  ...shareRoutes,
  ...utmTemplateRoutes,
  ...domainRoutes,
  ...importRoutes,
  ...eventRoutes,
  ...webhookRoutes,
  ...usageRoutes,
  ...keyRoutes,
  ...peopleRoutes,
};

export type V2Operation = keyof typeof v2Table;
