import { expect } from 'chai';
import { parseJson } from './requests.js';

const messageOf = (text: string): string | undefined => {
  const parsed = parseJson(text);
  if (parsed.type === 'read') return undefined;
  return parsed.reply.type === 'error' ? parsed.reply.message : parsed.reply.type;
};

const nested = (levels: number): string => '{"a":['.repeat(levels / 2) + ']}'.repeat(levels / 2);

describe('command API: JSON body', () => {
  it('is parsed; an empty one is an empty object', () => {
    expect(parseJson(' \n')).to.deep.equal({ type: 'read', value: {} });
    expect(parseJson('{"url":"x"}')).to.deep.equal({ type: 'read', value: { url: 'x' } });
  });

  it('has at most 32 levels', () => {
    expect(messageOf(nested(32))).to.equal(undefined);
    expect(messageOf(nested(34))).to.equal('Invalid JSON body');
    expect(messageOf(`{"__proto__":1,"a":${nested(32)}}`)).to.equal('Invalid JSON body');
    expect(messageOf('['.repeat(65_536))).to.equal('Invalid JSON body');
    expect(messageOf('['.repeat(32_768) + ']'.repeat(32_768))).to.equal('Invalid JSON body');
  });

  it('has no disallowed name in any place, with any escaping', () => {
    for (const [text, name] of [
      ['{"__proto__":{}}', '__proto__'],
      ['{"url":"x","constructor" \n\t: null}', 'constructor'],
      ['{"urls":[{"url":"x"},{"prototype":1}]}', 'prototype'],
      ['{"urls":[{"a":{"b":[[{"__proto__":null}]]}}],"prototype":1}', '__proto__'],
      ['{"\\u005f_proto\\u005F_":1}', '__proto__'],
      ['{"alias":"__proto__","x":["constructor"],"constructors":1,"Prototype":2}', null],
      ['"__proto__"', null],
    ] as const) {
      const expected = name === null ? undefined : `property ${name} should not exist`;
      expect(messageOf(text), text).to.equal(expected);
    }
  });
});
