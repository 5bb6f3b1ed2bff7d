/** Checks the records of an import file, except against the ledger. Texts are adapted, with a message in the outcome. */
import type { z } from 'zod';
import { fitsInLink, linkTooLarge } from '../../schemas/link-size.js';
import { hostNameOf } from '../../schemas/domain-name.js';
import {
  canonicalText,
  destination,
  maxTags,
  note,
  tagOr,
  title,
  urlFaultOf,
  type Destinations,
  type UrlFault,
} from '../../schemas/http/link-fields.js';
import type { ImportedRow, RowOutcome } from '../../schemas/http/imports.js';
import { optionsRequest } from '../../schemas/http/link-options.js';
import { conflictOf } from '../../schemas/link-options.js';
import { maxCodes } from '../../schemas/folds/link.js';
import { subjectIn } from '../../schemas/http/link-address.js';
import { codeOn, linkCodeOf, type IgnoresCase } from '../../schemas/link-subject.js';
import type { ImportedLink } from './command.js';
import {
  invalidRecord,
  optionFault,
  quote,
  type SourceLink,
  type SourceRecord,
} from './formats/records.js';
import { isLimit, limitKind } from './formats/values.js';

/** A link that can be created as far as its record shows. */
export interface ReadyRow {
  readonly type: 'ready';
  readonly row: number;
  /** Its name in the file, which its visits have. */
  readonly source: Pick<SourceLink, 'domain' | 'code'>;
  readonly domain: string | null;
  readonly code: string;
  /** The subjects of its further codes. */
  readonly codes: readonly string[];
  readonly link: Omit<ImportedLink, 'visits' | 'keyId' | 'account' | 'importId' | 'source'>;
  readonly messages: readonly string[];
}

export type CheckedRow = ReadyRow | { readonly type: 'refused'; readonly outcome: ImportedRow };

const faults: Readonly<Record<UrlFault, string>> = {
  missing: 'it is empty',
  scheme: 'it does not start with http:// or https://',
  userinfo: 'it has a user name or an @ before its path',
  backslash: 'it has a backslash before its query',
  ownHost: 'it leads to this service',
  host: 'its host is not valid',
  whitespace: 'it has control characters, or white space in its host',
  tooLong: 'it has more than 2,048 characters',
};

/** The limit of the ledger. */
const maxCount = 2_000_000_000;

const cut = (text: string, length: number): string =>
  text.length <= length ? text : canonicalText(Array.from(text).slice(0, length).join(''));

interface TextForm {
  readonly name: string;
  /** Characters that become spaces. */
  readonly controls: RegExp;
  /** The maximum in code points, as that of requests. */
  readonly length: number;
  readonly schema: z.ZodType;
}

const titleForm: TextForm = {
  ...{ name: 'title', controls: /[\u0000-\u001f\u007f-\u009f]+/g, length: 200, schema: title },
};
const noteForm: TextForm = {
  ...{ name: 'note', controls: /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]+/g },
  ...{ length: 2_000, schema: note },
};
/** Requests separate tags by commas. */
const tagForm: TextForm = {
  ...{ name: 'tag', controls: /[,\u0000-\u001f\u007f-\u009f]+/g, length: 50, schema: tagOr('') },
};

/** A text that can be stored; `null` if nothing remains of it. */
const readText = (text: string, form: TextForm, messages: string[]): string | null => {
  const clean = canonicalText(text.replace(form.controls, ' '));
  if (clean === '') return null;
  const stored = cut(clean, form.length);
  if (stored.length < clean.length) {
    messages.push(`The ${form.name} was cut to ${form.length.toLocaleString('en')} characters.`);
  }
  if (form.schema.safeParse(stored).success) return stored;
  messages.push(`The ${form.name} was left out, because it cannot be stored.`);
  return null;
};

const readTags = (tags: readonly string[], messages: string[]): readonly string[] => {
  const stored = new Set<string>();
  for (const text of tags) {
    const clean = readText(text, tagForm, messages);
    if (clean === null || stored.has(clean)) continue;
    if (stored.size === maxTags) {
      messages.push(`Only the first ${maxTags} tags were imported.`);
      break;
    }
    stored.add(clean);
  }
  return [...stored];
};

/** The subjects of the further codes, without those that no link can have. */
const readCodes = (
  codes: readonly string[],
  defaultDomain: string | null,
  { ignoresCase }: DomainChoice,
  messages: string[],
): readonly string[] => {
  const subjects = new Set<string>();
  for (const text of codes) {
    const subject = subjectIn(text, defaultDomain, ignoresCase);
    if (subject === null || subjects.size === maxCodes) {
      messages.push(
        `The code ${quote(text)} was left out: ${subject === null ? 'no link can have it' : `a link has at most ${maxCodes}`}.`,
      );
    } else subjects.add(subject);
  }
  return [...subjects];
};

const readClicks = (clicks: number, messages: string[]): number => {
  if (clicks <= maxCount) return clicks;
  messages.push(`The clicks were reduced to ${maxCount}.`);
  return maxCount;
};

/** The domain of a link in its canonical form, as accounts have it; `null`: the file has none. */
export const domainOf = ({ domain }: SourceLink): string | null =>
  domain === null ? null : (hostNameOf(domain) ?? domain);

interface RowCheckDeps {
  /** The name of the default domain; `null`: none that files can use. */
  readonly defaultDomain: string | null;
  readonly destinations: Destinations;
}

/** Where the links of an import go. */
export interface DomainChoice {
  /** The domain of all links; `null`: that of each row. */
  readonly domain: string | null;
  /** Whether a domain is active for the account. */
  readonly isActive: (domain: string) => boolean;
  readonly ignoresCase: IgnoresCase;
  /** Whether a row of another domain is invalid: the file is an export of Linklog, whose domains are meant. */
  readonly isStrict: boolean;
}

export const refusedRow = (
  row: number,
  { code, url }: { readonly code: string | null; readonly url: string | null },
  outcome: RowOutcome,
  messages: readonly string[],
): CheckedRow => ({
  type: 'refused',
  outcome: { row, code, url, outcome, message: messages.join(' ') },
});

export const createRowCheck = ({ defaultDomain, destinations }: RowCheckDeps) => {
  const url = destination(destinations);
  const optionsSchema = optionsRequest(destinations);

  const checkLink = (row: number, source: SourceLink, domains: DomainChoice): CheckedRow => {
    const messages = [...source.messages];
    const invalid = (message: string): CheckedRow =>
      refusedRow(row, invalidRecord(row, message, source), 'invalid', [message, ...messages]);

    const name = domains.domain ?? domainOf(source);
    const named = name === defaultDomain ? null : name;
    const isActive = named === null || domains.isActive(named);
    const domain = isActive ? named : null;
    const requested = linkCodeOf(source.code);
    const code = requested && linkCodeOf(codeOn(domain, requested, domains.ignoresCase));
    if (code === null) return invalid('No link can have this code.');
    const target = url.safeParse(source.url);
    if (!target.success) {
      const [issue] = target.error.issues;
      const fault = (issue && urlFaultOf(issue)) ?? 'missing';
      return invalid(`The destination is not valid: ${faults[fault]}.`);
    }
    const options = optionsSchema.safeParse(source.options);
    if (!options.success) {
      const [issue] = options.error.issues;
      return invalid(issue ? optionFault(issue) : 'An option is not valid.');
    }
    const { startsAt, expiresAt, maxClicks } = source;
    if (maxClicks !== null && !isLimit(maxClicks)) {
      return invalid(`The value ${maxClicks} of maxClicks is not ${limitKind.name}.`);
    }
    if (startsAt !== null && expiresAt !== null && startsAt >= expiresAt) {
      return invalid('The link starts after its end.');
    }
    const { hasPassword } = source;
    const conflict = conflictOf({
      url: target.data,
      options: options.data,
      maxClicks,
      hasPassword,
    });
    if (conflict !== null) return invalid(`${conflict}.`);
    if (!isActive && (domains.isStrict || domains.domain !== null)) {
      return invalid(`The domain ${named} is not active for the account.`);
    }
    if (!isActive) {
      messages.push(
        `The link is on the default domain, because ${named} is not a domain of the account.`,
      );
    }
    if (source.hasPassword) {
      messages.push('The link is disabled, because its password is unknown.');
    }
    const link = {
      url: target.data,
      custom: source.isCustom,
      title: source.title === null ? null : readText(source.title, titleForm, messages),
      note: source.note === null ? null : readText(source.note, noteForm, messages),
      tags: readTags(source.tags, messages),
      createdAt: source.createdAt,
      startsAt,
      expiresAt,
      maxClicks,
      clicks: readClicks(source.clicks, messages),
      disabled: source.disabled || source.hasPassword,
      options: options.data,
    };
    if (!fitsInLink(link)) {
      return invalid(`${linkTooLarge}.`);
    }
    return {
      ...{ type: 'ready', row, code, link, messages },
      codes: readCodes(source.codes, defaultDomain, domains, messages),
      source: { domain: source.domain, code: source.code },
      domain,
    };
  };

  return (
    record: Exclude<SourceRecord, { readonly type: 'visit' }>,
    domains: DomainChoice,
  ): CheckedRow =>
    record.type === 'invalid'
      ? refusedRow(record.row, record, 'invalid', [record.message])
      : checkLink(record.row, record.link, domains);
};

/** The code with a number: `sale-2`; `null` if no link can have it. */
export const suffixed = (code: string, number: number): string | null =>
  linkCodeOf(`${code}-${number}`);
