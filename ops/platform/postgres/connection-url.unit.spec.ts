import { expect } from 'chai';
import { absoluteConnectionUrl, hostsOf, parseConnectionUrl } from './connection-url.js';

const failureOf = (url: string): string => {
  try {
    parseConnectionUrl(url);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`${url} is valid`);
};

describe('PostgreSQL: connection URL', () => {
  it('has a URL for each host, in their order', () => {
    const { urls, session } = parseConnectionUrl(
      'postgres://u:p%40@h1:5432,[::1]:5433,h3/db?application_name=a&target_session_attrs=read-write',
    );
    expect(session).to.equal('read-write');
    expect(urls).to.deep.equal([
      'postgres://u:p%40@h1:5432/db?application_name=a',
      'postgres://u:p%40@[::1]:5433/db?application_name=a',
      'postgres://u:p%40@h3/db?application_name=a',
    ]);
    expect(hostsOf('postgres://u:p@h1:5432,h2/db')).to.equal('h1:5432,h2');
  });

  it('keeps a Unix socket, and has the defaults of libpq', () => {
    const socket = 'postgres://u:p@127.0.0.1:5432/db?host=%2Frun%2Fpostgresql';
    expect(parseConnectionUrl(socket)).to.deep.equal({
      urls: [socket],
      session: 'any',
      tls: { mode: 'prefer', negotiation: 'postgres', files: {} },
    });
  });

  it('trusts the CAs of the system only with sslmode=verify-full', () => {
    const { tls } = parseConnectionUrl('postgres://h/db?sslrootcert=system');
    expect(tls).to.deep.equal({ mode: 'verify-full', negotiation: 'postgres', files: {} });
    expect(failureOf('postgres://h/db?sslrootcert=system&sslmode=require')).to.equal(
      'DATABASE_URL has sslrootcert=system, which requires sslmode=verify-full',
    );
  });

  it('gets the default sslmode and absolute paths', () => {
    const url = 'postgres://u:p@h1,h2/db';
    expect(absoluteConnectionUrl(url)).to.equal(url);
    expect(absoluteConnectionUrl(url, 'require')).to.equal(`${url}?sslmode=require`);
    expect(absoluteConnectionUrl(`${url}?sslmode=disable`, 'require')).to.equal(
      `${url}?sslmode=disable`,
    );
    const { files } = parseConnectionUrl(
      absoluteConnectionUrl(`${url}?sslmode=verify-ca&sslrootcert=ca.pem`),
    ).tls;
    expect(files).to.deep.equal({ sslrootcert: `${process.cwd()}/ca.pem` });
  });

  const pair = 'one of sslcert and sslkey, which require each other';
  const sessions = 'a value of target_session_attrs that is none of any, read-write, primary';
  const faults: Readonly<Record<string, string>> = {
    'target_session_attrs=standby': sessions,
    'target_session_attrs=prefer-standby': sessions,
    'target_session_attrs=read-only': sessions,
    'sslmode=no-verify':
      'a value of sslmode that is none of disable, allow, prefer, require, verify-ca, verify-full',
    'sslmode=verify-ca': 'sslmode=verify-ca, which requires sslrootcert',
    'sslcert=a.pem': pair,
    'sslkey=a.pem': pair,
    'sslnegotiation=direct': 'sslnegotiation=direct, which requires sslmode=require or stronger',
    'ssl=true': 'the parameter ssl, which is not supported',
    'sslcrl=a.crl': 'the parameter sslcrl, which is not supported',
    'ssl_min_protocol_version=TLSv1.3': 'ssl_min_protocol_version, which is not supported',
    'requiressl=1': 'the parameter requiressl, which is not supported',
    'host=h1,h2': 'several hosts in the parameter host: list them before the path',
  };
  for (const [query, fault] of Object.entries(faults)) {
    it(`rejects ${query} by name, without the password`, () => {
      expect(failureOf(`postgres://u:secret@h/db?${query}`))
        .to.match(/^DATABASE_URL has /)
        .and.include(fault)
        .and.not.include('secret');
    });
  }

  it('rejects other URLs without their text', () => {
    for (const url of [
      ...['mysql://u:secret@h/db', 'h:5432/secret', 'postgres://u:secret@h:port/db'],
      ...['postgres://u:secret#x@h/db', 'postgres://u:secret/x@h/db', 'postgres://u:secret?x@h/db'],
    ]) {
      expect(failureOf(url)).to.equal(
        'DATABASE_URL must be a postgres:// URL; percent-encode the password if it has one of # / ? @, such as %23 for #',
      );
    }
    expect(failureOf('postgres://u:secret@h1,,h2/db')).to.equal(
      'DATABASE_URL has an empty host in its list',
    );
  });
});
