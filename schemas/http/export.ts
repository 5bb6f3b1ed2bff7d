import { z } from 'zod';
import { named } from '../components.js';
import { accountName } from './keys.js';
import { linkDetails } from './links.js';
import { shownOptions } from './link-options.js';
import { listLinksQuery } from './list-links.js';

export const exportFormats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** GET /v2/export: the filters of GET /v2/links. */
export const exportQuery = listLinksQuery
  .omit({ limit: true, after: true, sort: true, count: true, dailyClicks: true })
  .extend({
    format: z
      .enum(exportFormats, { error: `format must be either ${exportFormats.join(' or ')}` })
      .default('jsonl')
      .describe('`jsonl`: one JSON object per line. `csv`: a header and one row per link.'),
  });
export type ExportQuery = z.output<typeof exportQuery>;

export const operatorsExportQuery = exportQuery.extend({
  account: accountName.default('default'),
});

const { shape } = linkDetails;

/** A link of an export. The order of the fields is that of the columns. */
export const exportedLink = named('ExportedLink', {
  domain: shape.domain,
  code: shape.shortCode,
  alias: shape.alias.describe('The code, if the client chose it.'),
  url: shape.url,
  title: shape.title,
  note: shape.note,
  tags: shape.tags,
  createdAt: shape.createdAt,
  expiresAt: shape.expiresAt,
  startsAt: shape.startsAt,
  maxClicks: shape.maxClicks,
  clicks: shape.clickCount,
  disabled: z.boolean().describe('Whether the owner disabled the link, whatever its status is.'),
  ...shownOptions,
  codes: z
    .array(z.string())
    .readonly()
    .exactOptional()
    .describe('Further codes, `code` or `domain/code`. Absent: none.'),
  hasPassword: shape.hasPassword,
});
export type ExportedLink = z.infer<typeof exportedLink>;
