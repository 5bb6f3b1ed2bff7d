import { csvRow } from '../../../schemas/csv.js';
import {
  exportedLink,
  type ExportedLink,
  type ExportFormat,
} from '../../../schemas/http/export.js';
import { linkOfSubject } from '../../../schemas/link-subject.js';
import type { ListedLink } from '../list/link-list.js';

export interface Format {
  readonly contentType: string;
  /** The start of the file. */
  readonly head: string;
  /** One link, with its line end. */
  readonly line: (link: ExportedLink) => string;
}

export const exportedLinkOf = ({ link: state, clicks }: ListedLink): ExportedLink => {
  const { link, restraints } = state;
  const { domain, code } = linkOfSubject(link.subject);
  return {
    domain,
    code,
    alias: link.custom ? code : null,
    url: link.url,
    title: link.title,
    note: link.note,
    tags: link.tags,
    createdAt: link.createdAt,
    expiresAt: link.expiresAt,
    startsAt: link.startsAt,
    maxClicks: link.maxClicks,
    clicks: clicks.clicks,
    disabled: restraints.disabled,
    rules: link.rules,
    forwardQuery: link.forwardQuery,
    hasPassword: link.passwordHash !== null,
  };
};

const columns = Object.keys(exportedLink.shape) as readonly (keyof ExportedLink)[];

/** A cell: empty for `null`; tags have no commas; rules are JSON. */
const cellOf = (link: ExportedLink, name: keyof ExportedLink): string => {
  if (name === 'tags') return link.tags.join();
  if (name === 'rules') return link.rules === null ? '' : JSON.stringify(link.rules);
  return String(link[name] ?? '');
};

export const formats: Readonly<Record<ExportFormat, Format>> = {
  jsonl: {
    contentType: 'application/x-ndjson; charset=utf-8',
    head: '',
    line: (link) => `${JSON.stringify(link)}\n`,
  },
  csv: {
    contentType: 'text/csv; charset=utf-8',
    head: csvRow(columns),
    line: (link) => csvRow(columns.map((name) => cellOf(link, name))),
  },
};

const { csv } = formats;

/** With a byte order mark before a table, without which Excel guesses its encoding. */
export const markedFormats: typeof formats = {
  ...formats,
  csv: { ...csv, head: `\ufeff${csv.head}` },
};
