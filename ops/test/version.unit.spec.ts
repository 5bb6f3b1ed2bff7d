import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { asyncApiDocument } from '../../command-api/http/asyncapi/document.js';
import { openApiDocument } from '../../command-api/http/openapi/document.js';
import { linklogVersion, projectFile } from '../platform/files/project-file.js';

describe('version', () => {
  const versionIn = (file: string, pattern: RegExp): string | undefined =>
    pattern.exec(readFileSync(projectFile(file), 'utf8'))?.[1];

  it('is the same in package.json, client, lock file, API documents, container image and changelog', () => {
    const version = linklogVersion();
    expect(version).to.equal(versionIn('package.json', /^ {2}"version": "(.+)",$/m));
    expect(versionIn('package-lock.json', /^ {2}"version": "(.+)",$/m)).to.equal(version);
    expect(openApiDocument().info.version).to.equal(version);
    expect(asyncApiDocument().info.version).to.equal(version);
    expect(versionIn('ops/clients/typescript/package.json', /^ {2}"version": "(.+)",$/m)).to.equal(
      version,
    );
    expect(versionIn('docker-compose.yml', /^ {2}image: linklog:(.+)$/m)).to.equal(version);
    expect(versionIn('CHANGELOG.md', /^## (\d+\.\d+\.\d+)/m)).to.equal(version);
  });
});
