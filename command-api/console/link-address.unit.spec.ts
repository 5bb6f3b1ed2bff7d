import { expect } from 'chai';
import { shortUrlOf } from '../../schemas/link-subject.js';
import { linkPage, linkPath, textOfShortUrl } from './link-address.js';

const onDefault = { shortCode: 'spring' };
const onDomain = { shortCode: 'spring', domain: 'go.example.com' };

describe('the console’s addresses of links', () => {
  it('have the domain in the query, except on the default domain', () => {
    expect(linkPage(onDefault)).to.equal('/console/links/spring');
    expect(linkPage({ ...onDefault, domain: null }, 'qr')).to.equal('/console/links/spring/qr');
    expect(linkPage(onDomain, 'qr')).to.equal('/console/links/spring/qr?domain=go.example.com');
    expect(linkPath('/v2/links', onDomain, '/history', { after: '0' })).to.equal(
      '/v2/links/spring/history?domain=go.example.com&after=0',
    );
  });

  it('encode texts that are not short codes', () => {
    expect(linkPage({ shortCode: '../keys?a' })).to.equal('/console/links/..%2Fkeys%3Fa');
    expect(linkPage({ shortCode: 'café' }, 'qr')).to.equal('/console/links/caf%C3%A9/qr');
    expect(linkPage({ shortCode: '#️⃣' })).to.equal('/console/links/%23%EF%B8%8F%E2%83%A3');
  });

  it('are short URLs whose codes are displayed as text', () => {
    for (const code of ['spring', 'café', '👍🏽', '#️⃣']) {
      const shortUrl = shortUrlOf(code, 'http://localhost:8081');
      expect(textOfShortUrl(shortUrl)).to.equal(`http://localhost:8081/${code}`);
    }
  });
});
