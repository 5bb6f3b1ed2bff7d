import { expect } from 'chai';
import { messages } from '../../../schemas/http/errors.js';
import { tagsMessage } from '../../../schemas/http/link-fields.js';
import { createTexts } from '../texts.js';
import * as laterGerman from './de/later-texts.js';
import * as firstGerman from './de/texts.js';
import * as laterEnglish from './en/later-texts.js';
import * as firstEnglish from './en/texts.js';

const englishTexts = { ...firstEnglish, ...laterEnglish };
const germanTexts: typeof englishTexts = { ...firstGerman, ...laterGerman };

type Entry = readonly [path: string, text: unknown];

/** The texts of a catalogue by path, such as `app.signIn`. */
const entriesOf = (value: unknown, path = ''): readonly Entry[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) =>
        entriesOf(inner, path === '' ? name : `${path}.${name}`),
      )
    : [[path, value]];

const placeholdersOf = (text: string): readonly string[] => (text.match(/\{\w+\}/g) ?? []).sort();

describe('texts of the console', () => {
  // A language has other words for some messages of the API only.
  const textsOf = (catalogue: typeof englishTexts) =>
    entriesOf(createTexts(catalogue, String)).filter(([path]) => !path.includes('.apiErrors.'));
  const english = textsOf(englishTexts);
  const german = new Map(textsOf(germanTexts));

  it('translate messages of the API', () => {
    const known = [...Object.values(messages), tagsMessage];
    for (const catalogue of [englishTexts, germanTexts]) {
      const { apiErrors } = createTexts(catalogue, String).components;
      expect(known).to.include.members(Object.keys(apiErrors));
    }
  });

  it('exist in both languages, and are of the same type', () => {
    expect([...german.keys()]).to.have.members(english.map(([path]) => path));
    const typeOf = ([path, text]: Entry) => [path, typeof text];
    expect([...german].map(typeOf)).to.have.deep.members(english.map(typeOf));
  });

  it('have the same placeholders', () => {
    for (const [path, text] of english) {
      const translated = german.get(path);
      if (typeof text !== 'string' || typeof translated !== 'string') continue;
      expect(placeholdersOf(translated), path).to.deep.equal(placeholdersOf(text));
    }
  });

  it('count one thing in the singular', () => {
    const month = { calls: 1, links: 1, qrCodes: 1 };
    const usage = [englishTexts, germanTexts].map((catalogue) =>
      createTexts(catalogue, String).operators.usage(month, {
        ...{ used: 2, limit: 60 },
      }),
    );
    expect(usage).to.deep.equal([
      'This month: 1 call, 1 link, 1 QR code; this minute: 2 of 60 calls.',
      'Dieser Monat: 1 Aufruf, 1 Link, 1 QR-Code; diese Minute: 2 von 60 Aufrufen.',
    ]);
  });

  it('are not empty', () => {
    for (const [path, text] of [...english, ...german]) expect(text, path).not.to.equal('');
  });

  it('are translated, except for names and words that German shares', () => {
    const shared = new Set([
      ...['API', 'Alias', 'Bot', 'Bots', 'Browser', 'Code', 'Desktop', 'Domain', 'Domains'],
      ...['Format', 'Import', 'Link', 'Linklog', 'Links', 'Live', 'Logo', 'Medium', 'Name'],
      ...['Person', 'Status', 'TV', 'Tablet', 'Tag', 'Tags', 'URL', 'Webhook', 'Webhooks'],
    ]);
    const untranslated = english.filter(
      ([path, text]) => typeof text === 'string' && german.get(path) === text && !shared.has(text),
    );
    expect(untranslated).to.deep.equal([]);
  });
});
