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
