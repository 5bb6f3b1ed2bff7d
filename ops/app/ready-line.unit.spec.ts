import { expect } from 'chai';
import { welcome } from './ready-line.js';

const firstKey = `ll_${'x'.repeat(38)}`;
const api = 'http://127.0.0.1:8080';
const call = `curl -s ${api}/v2/shorten -H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'`;

describe('app: the text of a first start', () => {
  it('shows the key, and passes it to curl in a file', () => {
    const text = welcome(api, { firstKey, firstKeyHeader: "/it's here/first-key.header" });
    expect(text).to.include(`shown this once: ${firstKey}\n`);
    expect(text).to.include(String.raw`${call} -H @'/it'\''s here/first-key.header'` + '\n');
    expect(text).not.to.include('console');
  });

  it('passes the key to curl on stdin if there is no file', () => {
    const stdin = `<<'END'\nAuthorization: Bearer ${firstKey}\nEND\n`;
    expect(welcome(api, { firstKey })).to.include(`${call} -H @- ${stdin}`);
  });

  it('shows the address of the console, and the command for another one', () => {
    const console = `${api}/console#t=x`;
    expect(welcome(api, { firstKey, console })).to.match(
      /within 10 minutes \(again: npx linklog console\):\n\nhttp:\S+#t=x\n/,
    );
  });
});
