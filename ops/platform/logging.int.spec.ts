import { expect } from 'chai';
import { spawnSync } from 'node:child_process';

const module = new URL('./logging.js', import.meta.url).href;

/** Returns the log lines of a new process, because the logger writes to file descriptor 2. */
const linesOf = (level: string, body: string): Record<string, unknown>[] => {
  const { stderr, stdout } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { createLogger } from ${JSON.stringify(module)};
       const logger = createLogger(${JSON.stringify(level)});
       ${body}
       logger.flush();`,
    ],
    { encoding: 'utf8', env: {} },
  );
  expect(stdout).to.equal('');
  return stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

describe('platform: log of the process', () => {
  it('is JSON lines on stderr, with an ISO time, from its level on', () => {
    const lines = linesOf('info', `logger.debug('no'); logger.info({ port: 1 }, 'yes');`);
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]).to.include({ level: 30, port: 1, msg: 'yes' });
    expect(lines[0]?.['time']).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(linesOf('silent', `logger.fatal('no');`)).to.deep.equal([]);
  });

  it('redacts secrets, at the top and one level down', () => {
    const secrets = `key: 'SECRET', password: 'SECRET', url: 'SECRET', address: 'SECRET'`;
    const [line] = linesOf(
      'info',
      `logger.info({ ${secrets}, authorization: 'SECRET',
         headers: { authorization: 'SECRET', accept: 'text/html' },
         link: { ${secrets}, code: 'abc' } }, 'done');`,
    );
    expect(JSON.stringify(line)).to.not.include('SECRET');
    expect(line).to.deep.include({ headers: { accept: 'text/html' }, link: { code: 'abc' } });
  });

  it('contains code, stack and causes of an error, and no detail that quotes stored values', () => {
    const [line] = linesOf(
      'info',
      `const cause = Object.assign(new Error('duplicate key value'), {
         code: '23505', detail: 'Key (url)=(SECRET) already exists.', where: 'SECRET',
         hint: 'SECRET', internalQuery: 'SECRET' });
       logger.warn({ err: new TypeError('Could not save', { cause }) }, 'failed');`,
    );
    expect(JSON.stringify(line)).to.not.include('SECRET');
    const err = line?.['err'] as Record<string, unknown>;
    expect(err).to.include({ type: 'TypeError', message: 'Could not save' });
    expect(err['stack']).to.be.a('string');
    expect(err['cause']).to.include({ message: 'duplicate key value', code: '23505' });
    const [text] = linesOf('info', `logger.warn({ err: 'just text' }, 'failed');`);
    expect(text).to.include({ err: 'just text' });
  });
});
