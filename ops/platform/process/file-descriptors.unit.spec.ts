import { expect } from 'chai';
import { ConfigError } from '../errors.js';
import { fileDescriptorLimit, requireFileDescriptors } from './file-descriptors.js';

const limits = (value: string): string =>
  [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             7823                 7823                 processes ',
    `Max open files            ${value.padEnd(21)}524288               files     `,
  ].join('\n');

describe('platform: file descriptors', () => {
  it('have the soft limit of the process, which may be unlimited or unknown', () => {
    expect(fileDescriptorLimit(limits('1024'))).to.equal(1_024);
    expect(fileDescriptorLimit(limits('unlimited'))).to.equal(null);
    expect(fileDescriptorLimit(null)).to.equal(null);
  });

  it('are a configuration error in one line if their limit is too low', () => {
    expect(() => {
      requireFileDescriptors(255);
    }).to.throw(
      ConfigError,
      /^the limit of open files is 255, and at least 256 .*ulimit -n[^\n]+$/,
    );
    for (const limit of [256, null]) requireFileDescriptors(limit);
  });
});
