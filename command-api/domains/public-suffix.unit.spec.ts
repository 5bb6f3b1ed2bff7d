import { expect } from 'chai';
import { isPublicSuffix } from './handler.js';

const suffixes = [
  ...['com', 'co.uk', 'github.io', 'blogspot.com', 'com.au', 'k12.ca.us', 'anything.ck'],
  // In Unicode, the list has 公司.cn and 网络.cn.
  ...['xn--55qx5d.cn', 'xn--io0a7i.cn', 'xn--p1ai'],
  // An unlisted top-level domain.
  'example',
];
const names = [
  ...['example.com', 'go.example.com', 'example.co.uk', 'user.github.io', 'www.ck'],
  ...['a.xn--55qx5d.cn', 'go.example', 'a.anything.ck', 'xn--mnchen-3ya.example'],
];

describe('command API: public suffixes', () => {
  it('include top-level domains, and names below which registries assign names', async () => {
    for (const suffix of suffixes) expect(await isPublicSuffix(suffix), suffix).to.equal(true);
    for (const name of names) expect(await isPublicSuffix(name), name).to.equal(false);
  });
});
