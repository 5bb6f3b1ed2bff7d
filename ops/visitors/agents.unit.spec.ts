import { expect } from 'chai';
import fc from 'fast-check';
import { browserFamilies, osFamilies } from '../../schemas/events/visitor.js';
import { agentOf } from './agents.js';

const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0';
const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)';
const pixel = 'Mozilla/5.0 (Linux; Android 13; Pixel 7)';
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_1_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
const macSafari =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Safari/605.1.15';

type Expected = readonly [browser: string | null, os: string | null, device: string | null];

const android = 'Mozilla/5.0 (Linux; Android 13; ';
const ipad =
  'Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1';
const samsung = `${android}SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/23.0 Chrome/115.0.0.0 Mobile Safari/537.36`;
const tizen =
  'Mozilla/5.0 (SMART-TV; Linux; Tizen 5.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/5.0 TV Safari/538.1';
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const chromeOs = `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${chrome} Safari/537.36`;
const yahoo = `${pixel} Version/4.0 ${chrome} Mobile Safari/537.36 YJApp-ANDROID jp.co.yahoo.android.yjtop/3.169.0`;

const people: readonly (readonly [string, ...Expected])[] = [
  [`${windows} ${chrome} Safari/537.36`, 'Chrome', 'Windows', 'desktop'],
  [`${windows} ${chrome} Safari/537.36 Edg/120.0.2210.61`, 'Microsoft Edge', 'Windows', 'desktop'],
  [`${windows} ${chrome} Safari/537.36 OPR/106.0.0.0`, 'Opera', 'Windows', 'desktop'],
  [firefox, 'Firefox', 'Linux', 'desktop'],
  [macSafari, 'Safari', 'macOS', 'desktop'],
  [chromeOs, 'Chrome', 'Chrome OS', 'desktop'],
  [`${iphone} Version/17.1 Mobile/15E148 Safari/604.1`, 'Safari', 'iOS', 'mobile'],
  [`${iphone} CriOS/119.0.6045.169 Mobile/15E148 Safari/604.1`, 'Chrome', 'iOS', 'mobile'],
  [ipad, 'Safari', 'iOS', 'tablet'],
  [`${pixel} ${chrome} Mobile Safari/537.36`, 'Chrome', 'Android', 'mobile'],
  [samsung, 'Samsung Internet for Android', 'Android', 'mobile'],
  [`${android}SM-X700) ${chrome} Safari/537.36`, 'Chrome', 'Android', 'tablet'],
  [tizen, 'Tizen', 'Tizen', 'tv'],
  [`${pixel} ${chrome} Mobile Safari/537.36;KAKAOTALK 2410430`, 'Chrome', 'Android', 'mobile'],
  [yahoo, 'Chrome', 'Android', 'mobile'],
  [`${iphone} Mobile/15E148 YJApp-IOS jp.co.yahoo.ipn.appli/4.16.14`, 'Safari', 'iOS', 'mobile'],
];

const televisions = [
  `Mozilla/5.0 (Linux; Android 10; BRAVIA 4K UR2 Build/QTG3.200305.006.S24) ${chrome} Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 7.1.2; AFTMM Build/NS6265; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/70.0.3538.110 Mobile Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 9; AFTKA) AppleWebKit/537.36 (KHTML, like Gecko) Silk/98.2.5 like Chrome/98.0.4758.101 Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 9; Fire TV Stick 4K) ${chrome} Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 11; Android TV Build/RTT1.200909.001) ${chrome} Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 12.0; Build/STTE.230319.008.H1) ${chrome} Safari/537.36 AndroidTV`,
  'Mozilla/5.0 (X11; Linux i686) AppleWebKit/534.24 (KHTML, like Gecko) Chrome/11.0.696.77 Large Screen Safari/534.24 GoogleTV/000000',
  `Mozilla/5.0 (Linux; Android 12; Chromecast with Google TV Build/STTE) ${chrome} Safari/537.36`,
  `Mozilla/5.0 (X11; Linux aarch64) ${chrome} Safari/537.36 CrKey/1.56.500000`,
  `Mozilla/5.0 (Linux; Android 9) ${chrome} Safari/537.36 TV`,
  'Opera/9.80 (Linux armv6l; U; NETRANGEMMH;HbbTV/1.1.1;CE-HTML/1.0;THOMSON LF1V394; en) Presto/2.10.250 Version/11.60',
  `Mozilla/5.0 (Linux armv7l) ${chrome} Safari/537.36 OPR/46.0.2207.0 OMI/4.21.4.112.Catcher4.69 Model/Hisense-MT9602 VIDAA/5.0(Hisense;SmartTV;55A52FEVS)`,
];

const googlebot = '(compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const headless = chrome.replace('Chrome', 'HeadlessChrome');

const programs: readonly (readonly [string, ...Expected])[] = [
  ['curl/8.5.0', null, null, 'other'],
  [`Mozilla/5.0 (X11; Linux x86_64) ${headless} Safari/537.36`, 'Chrome', 'Linux', 'desktop'],
];

const bots: readonly (readonly [string, ...Expected])[] = [
  [`Mozilla/5.0 ${googlebot}`, null, null, 'other'],
  [`${pixel} ${chrome} Mobile Safari/537.36 ${googlebot}`, null, 'Android', 'other'],
];

describe('visitors: user agents', () => {
  for (const [bot, agents] of [
    [false, people],
    [false, programs],
    [true, bots],
  ] as const) {
    for (const [agent, browser, os, device] of agents) {
      it(`classifies ${agent.slice(0, 90)}`, () => {
        const expected = {
          data: { bot, browser, os, device },
          isOffice: false,
          isPreviewer: false,
        };
        expect(agentOf(agent)).to.deep.equal(expected);
        expect(agentOf(agent)).to.deep.equal(expected);
      });
    }
  }

  for (const agent of televisions) {
    it(`is of a television: ${agent.slice(0, 90)}`, () => {
      expect(agentOf(agent).data).to.include({ bot: false, device: 'tv' });
    });
  }

  for (const agent of [
    'Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
    'Mozilla/4.0 (compatible; ms-office; MSOffice rmj)',
    `Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; ${'.NET4.0C; '.repeat(60)}ms-office)`,
    'Microsoft Office/16.0 (Windows NT 10.0; MSOffice 16)',
  ]) {
    it(`is of Microsoft Office: ${agent.slice(-60)}`, () => {
      expect(agentOf(agent).isOffice).to.be.true;
    });
  }

  it('is unknown without a header', () => {
    const data = { bot: false, browser: null, os: null, device: null };
    expect(agentOf('')).to.deep.equal({ data, isOffice: false, isPreviewer: false });
  });

  it('has only known names of browsers and systems', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 600 }), (text) => {
        const { browser, os } = agentOf(text).data;
        expect([null, ...browserFamilies]).to.include(browser);
        expect([null, ...osFamilies]).to.include(os);
      }),
    );
    expect(agentOf('Jane-Doe/1.0').data.browser).to.be.null;
  });

  it('is classified in bounded time', () => {
    // Quadratic time would exceed the timeout of the test.
    for (const text of [' ', 'a', '(', '1', '1.', 'bot', 'http', 'compatible; ', 'Mozilla/5.0 ']) {
      agentOf(text.repeat(20_000));
      agentOf(`chrome/${text.repeat(20_000)}`);
    }
  });
});
