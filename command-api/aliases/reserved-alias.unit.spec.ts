import { expect } from 'chai';
import fc from 'fast-check';
import { readReservedWords } from './forbidden-aliases.js';
import { reservedAliases, type Reservation } from './reserved-alias.js';

const findReservation = reservedAliases({
  systemRoutes: ['admin', 'api', 'qr', 'well-known', 'robots'],
  brands: ['paypal', 'google', 'microsoft', 'apple', 'chase', 'dell', 'ups', '1password', 'visa'],
  governments: ['irs', 'hmrc', 'gov'],
  ordinaryNames: ['visa'],
  loginWords: ['login', 'verify', 'secure', 'account', 'wallet'],
  lures: ['support', 'refund'],
  fillers: ['my', 'online', 'page', 'tax'],
  prepositions: ['of', 'to'],
});

/** Reservations of aliases, which are separated by spaces. */
const tables: Readonly<Record<string, readonly (readonly [Reservation | null, string])[]>> = {
  'ignores case, look-alike digits and separators': [
    ['systemRoute', 'admin Admin ADMIN adm1n 4dmin ad-min _admin_ AP1'],
    ['systemRoute', 'well-known well_known wellknown r0b0t5 q-r v10 V20 v-2 v42'],
    ['brand', 'paypal PayPal paypa1 p4yp41 pay-pal pay_pal p-a-y_p-a-l 1password lpassword'],
    ['brand', 'g00gle go0g1e goo9le micr0s0ft m1cro-50f7 4pp1e cha5e I-Password'],
    ['government', 'irs IRS 1rs i-r-s hmrc HMRC g0v'],
  ],
  'matches a capital I for an l, but only among lower-case letters': [
    ['brand', 'paypaI DeIl googIe'],
    [null, 'DEIL deil paypai lrs'],
  ],
  'matches whole words only': [
    [null, 'my-api apis apiary administrator-letter v2-launch vv2 vx --- ___'],
    [null, 'pineapple applepie apple-pie chasedream purchase upset'],
    [null, 'govern first paypals-history paypal1 spring googled 2024'],
  ],
  'matches a name next to a lure, and not parts of words': [
    ['maliciousPattern', 'paypal-login paypallogin login-paypal loginpaypal secure_paypal'],
    ['maliciousPattern', 'login-paypal1 paypal1-login 2paypal-login2 paypa1-log1n PAYPAL_VERIFY'],
    ['maliciousPattern', 'pay-pal-ver-ify my-paypal-account paypal-online-account-page'],
    ['maliciousPattern', 'summer-paypal-login paypal-login-summer chase-my-wallet ups-support'],
    ['maliciousPattern', 'irs-refund irs-tax-refund hmrc_account verify-2024-google'],
    [null, 'pineapple-support pineapplesupport purchase-account snapple-login'],
    [null, 'my-account secure-login support-wallet login-page online-support'],
    [null, 'paypal-vs-google paypal-review apple-harvest google-my-page'],
    [null, 'paypal-history-login backups-support paypal-accounting verifypaypalx'],
  ],
  'matches prepositions and ordinary words only in whole aliases': [
    ['maliciousPattern', 'login-to-paypal account-of-my-paypal to-paypal-login'],
    [null, 'account-of-apple-harvest summer-login-to-paypal login-to-paypal-summer'],
    ['maliciousPattern', 'visa-login login-visa my-visa-account v15a-l0g1n-2'],
    [null, 'visa-support refund-visa visa-login-summer summer-visa-login'],
    // The rest of the alias does not matter if the name is next to the lure.
    ['maliciousPattern', 'paypal-support-of-apple-farmers visa-support-login-paypal'],
  ],
};

describe('command API: reserved alias', () => {
  for (const [title, rows] of Object.entries(tables)) {
    it(title, () => {
      for (const [reservation, aliases] of rows) {
        for (const alias of aliases.split(' ')) {
          expect(findReservation(alias), alias).to.equal(reservation);
        }
      }
    });
  }

  it('is found fast in any alias', () => {
    // 50 characters that can be split into words in many ways.
    expect(findReservation('my'.repeat(25))).to.be.null;
    expect(findReservation('1'.repeat(50))).to.be.null;
    expect(findReservation(`${'-'.repeat(38)}paypal-login`)).to.equal('maliciousPattern');
  });
});

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
  const findReserved = reservedAliases(words);
  const isReserved = (alias: string): boolean => findReserved(alias) !== null;
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
    for (const word of whole) expect(findReserved(word), word).to.not.be.null;
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
    for (const alias of legitimatePairs) expect(findReserved(alias), alias).to.be.null;
    const maliciousPairs = [
      ...['visa-login', 'my-visa-account', 'v1sa_ver1fy', 'windows-password-reset', 'visa-secure'],
      ...['login-to-paypal', 'sign-in-at-my-bank-paypal-login', 'amazon-account', 'apple-support'],
      ...['log-in-to-chase', 'account-at-paypal', 'paypal-login-for-you', 'amazon-delivery'],
      ...['account-of-amazon', 'login-for-visa', 'www-visa-com', 'verify-police', 'login-windows'],
    ];
    for (const alias of maliciousPairs) {
      expect(findReserved(alias), alias).to.equal('maliciousPattern');
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
