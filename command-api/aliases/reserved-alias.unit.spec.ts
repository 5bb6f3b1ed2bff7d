import { expect } from 'chai';
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

const table = (reservation: Reservation | null, aliases: readonly string[]): void => {
  for (const alias of aliases) {
    it(`${alias}: ${reservation ?? 'free'}`, () => {
      expect(findReservation(alias)).to.equal(reservation);
    });
  }
};

describe('command API: reserved alias', () => {
  describe('ignores case, look-alike digits and separators', () => {
    table('systemRoute', ['admin', 'Admin', 'ADMIN', 'adm1n', '4dmin', 'ad-min', '_admin_', 'AP1']);
    table('systemRoute', ['well-known', 'well_known', 'wellknown', 'r0b0t5', 'q-r']);
    table('systemRoute', ['v10', 'V20', 'v-2', 'v42']);
    table('brand', ['paypal', 'PayPal', 'paypa1', 'p4yp41', 'pay-pal', 'pay_pal', 'p-a-y_p-a-l']);
    table('brand', ['g00gle', 'go0g1e', 'goo9le', 'micr0s0ft', 'm1cro-50f7', '4pp1e', 'cha5e']);
    table('brand', ['1password', 'lpassword', 'I-Password']);
    table('government', ['irs', 'IRS', '1rs', 'i-r-s', 'hmrc', 'HMRC', 'g0v']);
  });

  describe('matches a capital I for an l, but only among lower-case letters', () => {
    table('brand', ['paypaI', 'DeIl', 'googIe']);
    table(null, ['DEIL', 'deil', 'paypai', 'lrs']);
  });

  describe('is a whole word', () => {
    table(null, ['my-api', 'apis', 'apiary', 'administrator-letter', 'v2-launch', 'vv2', 'vx']);
    table(null, ['pineapple', 'applepie', 'apple-pie', 'chasedream', 'purchase', 'upset']);
    table(null, ['govern', 'first', 'paypals-history', 'paypal1', 'spring', 'googled', '2024']);
  });

  describe('matches a name with a lure', () => {
    const malicious = [
      'paypal-login',
      'paypallogin',
      'login-paypal',
      'loginpaypal',
      'secure_paypal',
      'login-paypal1',
      'paypal1-login',
      '2paypal-login2',
      'paypa1-log1n',
      'PAYPAL_VERIFY',
      'pay-pal-ver-ify',
      'my-paypal-account',
      'paypal-online-account-page',
      'summer-paypal-login',
      'paypal-login-summer',
      'chase-my-wallet',
      'ups-support',
      'irs-refund',
      'irs-tax-refund',
      'hmrc_account',
      'verify-2024-google',
    ];
    table('maliciousPattern', malicious);
  });

  describe('does not match', () => {
    // Only a part of a word is a name or a lure, or they are not adjacent.
    table(null, ['pineapple-support', 'pineapplesupport', 'purchase-account', 'snapple-login']);
    table(null, ['my-account', 'secure-login', 'support-wallet', 'login-page', 'online-support']);
    table(null, ['paypal-vs-google', 'paypal-review', 'apple-harvest', 'google-my-page']);
    table(null, ['paypal-history-login', 'backups-support', 'paypal-accounting', 'verifypaypalx']);
  });

  describe('matches prepositions and ordinary words only in whole aliases', () => {
    table('maliciousPattern', ['login-to-paypal', 'account-of-my-paypal', 'to-paypal-login']);
    table(null, ['account-of-apple-harvest', 'summer-login-to-paypal', 'login-to-paypal-summer']);
    table('maliciousPattern', ['visa-login', 'login-visa', 'my-visa-account', 'v15a-l0g1n-2']);
    table(null, ['visa-support', 'refund-visa', 'visa-login-summer', 'summer-visa-login']);
    // The rest of the alias does not matter if the name is next to the lure.
    table('maliciousPattern', ['paypal-support-of-apple-farmers', 'visa-support-login-paypal']);
  });

  it('is found fast in any alias', () => {
    // 50 characters that can be split into words in many ways.
    expect(findReservation('my'.repeat(25))).to.be.null;
    expect(findReservation('1'.repeat(50))).to.be.null;
    expect(findReservation(`${'-'.repeat(38)}paypal-login`)).to.equal('maliciousPattern');
  });

  it('does not match separators only', () => {
    expect(findReservation('---')).to.be.null;
    expect(findReservation('___')).to.be.null;
  });
});
