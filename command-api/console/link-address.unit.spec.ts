import { expect } from 'chai';
import { linkPage, linkPath, subjectOfLink } from './link-address.js';

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
  });

  it('distinguish the same code on two domains', () => {
    expect([onDefault, onDomain].map(subjectOfLink)).to.deep.equal([
      'spring',
      'go.example.com/spring',
    ]);
  });
});
