import { expect } from 'chai';
import fc from 'fast-check';
import { reservedAliases } from './reserved-alias.js';
import { readReservedWords } from './forbidden-aliases.js';

/** The digits that look like a letter. */
const lookAlikes: Readonly<Record<string, readonly string[]>> = {
  ...{ a: ['4'], b: ['8'], e: ['3'], g: ['6', '9'], i: ['1'] },
  ...{ l: ['1'], o: ['0'], s: ['5'], t: ['7'], z: ['2'] },
};

/** All spellings of a word. */
const spellings = (word: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...Array.from(word, (character) =>
        fc.tuple(
          fc.constantFrom(character, character.toUpperCase(), ...(lookAlikes[character] ?? [])),
          fc.constantFrom('', '', '', '-', '_'),
        ),
      ),
    )
    .map((parts) => parts.flat().join(''));

/** Ordinary words for links. */
const ordinary = (
  'apple-pie archive bank-holiday budget campaign chasedream delivery discount event gravity ' +
  'holiday insight newsletter orange pineapple podcast purchase report spring summer window'
).split(' ');

const legitimate = [
  ...['pine-apple-cake', 'apple-pie-recipe', 'annual-report-2025', 'q3-results', 'team-offsite'],
  ...['black-friday-sale', 'amazon-rainforest', 'account-of-my-life', 'accounting-basics'],
  ...['supporting-ingots', 'secure-your-bike', 'steam-engine-tour', 'visa-application'],
  ...['governance-notes', 'wedding-update', 'security-awareness-week', 'checkups', 'policeman'],
  ...['password-managers-compared', 'setups-verified', 'metaphor-support', 'meta-analysis'],
  ...['purchase-order-update', 'firsts', 'bonus-track', 'prize-draw', '20250101', '1000'],
];

describe('command API: reserved words', () => {
  const words = readReservedWords();
  const findReservation = reservedAliases(words);
  const isReserved = (alias: string): boolean => findReservation(alias) !== null;
  const whole = [...words.systemRoutes, ...words.brands, ...words.governments];

  it('contain at least 200 brands, 100 governments, and the routes of the service', () => {
    expect(words.brands.length).to.be.at.least(200);
    expect(words.governments.length).to.be.at.least(100);
    expect(words.systemRoutes).to.include.members([
      ...['admin', 'api', 'docs', 'health', 'metrics', 'openapi', 'preview', 'qr', 'ready'],
      ...['batch', 'favicon-ico', 'robots-txt', 'shorten', 'stats', 'usage', 'well-known'],
    ]);
  });

  it('are unique, and have lower-case letters, digits and hyphens', () => {
    for (const [name, list] of Object.entries(words) as [string, readonly string[]][]) {
      expect(list.filter((word) => !/^[a-z0-9][a-z0-9-]*[a-z0-9]$/.test(word))).to.deep.equal([]);
      const joined = list.map((word) => word.replaceAll('-', ''));
      expect(joined.length - new Set(joined).size, `repeats in ${name}`).to.equal(0);
    }
  });

  it('are all reserved, in every spelling', () => {
    for (const word of whole) expect(findReservation(word), word).to.not.be.null;
    const someWord = fc.constantFrom(...whole).chain(spellings);
    fc.assert(fc.property(someWord, isReserved), { numRuns: 150 });
  });

  /** A name next to a lure, in either order and any spelling. */
  const pairsOf = (names: readonly string[], lures: readonly string[]): fc.Arbitrary<string> =>
    fc
      .tuple(
        fc.constantFrom(...names),
        fc.constantFrom(...lures),
        fc.constantFrom('', '-', '_'),
        fc.boolean(),
      )
      .map(([first, second, joint, swapped]) =>
        swapped ? second + joint + first : first + joint + second,
      )
      .chain(spellings);

  it('match next to any lure, in either order and every spelling', () => {
    const ordinaryNames = new Set(words.ordinaryNames);
    const names = [...words.brands, ...words.governments].filter(
      (name) => !ordinaryNames.has(name),
    );
    const pairs = pairsOf(names, [...words.loginWords, ...words.lures]);
    fc.assert(fc.property(pairs, isReserved), { numRuns: 150 });
  });

  it('match next to any login word, if the name is an ordinary word', () => {
    expect(whole).to.include.members([...words.ordinaryNames]);
    fc.assert(fc.property(pairsOf(words.ordinaryNames, words.loginWords), isReserved));
  });

  it('require a login word and a malicious pattern', () => {
    const legitimatePairs = [
      ...['visa-support', 'windows-update', 'account-of-amazon-river', 'police-support'],
      ...['android-update', 'windows-security-tips-for-login', 'visa-payment', 'intel-alerts'],
      ...['update-from-amazon-river', 'support-for-apple-farmers', 'government-payment'],
      ...['accounts-of-visa-travel', 'my-account-of-chase-hill', 'slack-alerts', 'oracle-invoice'],
    ];
    for (const alias of legitimatePairs) expect(findReservation(alias), alias).to.be.null;
    const maliciousPairs = [
      ...['visa-login', 'my-visa-account', 'v1sa_ver1fy', 'windows-password-reset', 'visa-secure'],
      ...['login-to-paypal', 'sign-in-at-my-bank-paypal-login', 'amazon-account', 'apple-support'],
      ...['log-in-to-chase', 'account-at-paypal', 'paypal-login-for-you', 'amazon-delivery'],
      ...['account-of-amazon', 'login-for-visa', 'www-visa-com', 'verify-police', 'login-windows'],
    ];
    for (const alias of maliciousPairs) {
      expect(findReservation(alias), alias).to.equal('maliciousPattern');
    }
  });

  it('leave ordinary words free, in any case', () => {
    for (const word of [...ordinary, ...legitimate]) {
      const capitalised = word.replace(/^./, (character) => character.toUpperCase());
      const cases = [word, word.toUpperCase(), capitalised];
      expect(cases.filter(isReserved)).to.deep.equal([]);
    }
  });
});
