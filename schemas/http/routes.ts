/** The table of the routes under /v2, with the rows that create links. */
import { batchRequest, batchResponse } from './batch.js';
import { domainRoutes } from './domains.js';
import { eventRoutes } from './events.js';
import { importRoutes } from './imports.js';
import { keyRoutes } from './keys.js';
import { historyRoutes } from './history.js';
import { exampleLink, exampleRules, linkRoutes } from './link-routes.js';
import { qrRoutes } from './qr.js';
import { usageRoutes } from './reports.js';
import { call, json, linkTo, routeGroup } from './route.js';
import { linkResponse, shortenRequest } from './shorten.js';
import { statisticsRoutes } from './statistics.js';
import { webhookRoutes } from './webhooks.js';

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
      examples: { two: { urls: [{ url: 'https://example.com/a?b=c' }, { url: 'mailto:a@b.c' }] } },
      returns: {
        200: json('The outcome of each item, in the same order.', batchResponse, {
          two: {
            results: [
              { index: 0, success: true, ...exampleLink },
              {
                index: 1,
                success: false,
                url: 'mailto:a@b.c',
                statusCode: 400,
                message: 'Please provide a valid URL',
                reason: 'scheme',
              },
            ],
          },
        }),
      },
    }),
  },
);

/** Every route under /v2, by operation. */
export const v2Table = {
  ...createRoutes,
  ...linkRoutes,
  ...historyRoutes,
  ...qrRoutes,
  ...statisticsRoutes,
  ...domainRoutes,
  ...importRoutes,
  ...eventRoutes,
  ...webhookRoutes,
  ...usageRoutes,
  ...keyRoutes,
};

export type V2Operation = keyof typeof v2Table;
