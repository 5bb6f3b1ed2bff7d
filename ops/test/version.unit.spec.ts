import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { asyncApiDocument } from '../../command-api/http/asyncapi/document.js';
import { openApiDocument } from '../../command-api/http/openapi/document.js';
import { linklogVersion, packageVersion, projectFile } from '../platform/files/project-file.js';

describe('version', () => {
  const versionIn = (file: string, pattern: RegExp): string | undefined =>
    pattern.exec(readFileSync(projectFile(file), 'utf8'))?.[1];

  it('is the same in package.json, client, lock file, API documents, container image, Helm chart and changelog', () => {
    const version = packageVersion();
    expect(version).to.equal(versionIn('package.json', /^ {2}"version": "(.+)",$/m));
    expect(versionIn('package-lock.json', /^ {2}"version": "(.+)",$/m)).to.equal(version);
    expect(openApiDocument().info.version).to.equal(version);
    expect(asyncApiDocument().info.version).to.equal(version);
    expect(versionIn('ops/clients/typescript/package.json', /^ {2}"version": "(.+)",$/m)).to.equal(
      version,
    );
    expect(versionIn('docker-compose.yml', /^ {2}image: linklog:(.+)$/m)).to.equal(version);
    const chart = 'ops/kubernetes/helm/Chart.yaml';
    expect(versionIn(chart, /^version: (.+)$/m)).to.equal(version);
    expect(versionIn(chart, /^appVersion: (.+)$/m)).to.equal(version);
    const isRelease = !version.endsWith('-dev');
    expect(versionIn('CHANGELOG.md', /^## (\S+)/m)).to.equal(isRelease ? version : 'Unreleased');
  });

  it('of a build between releases ends with its commit', () => {
    const version = packageVersion();
    // Null without Git.
    const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], {
      cwd: projectFile(),
      encoding: 'utf8',
    });
    const hasCommit = version.endsWith('-dev') && (stdout as string | null)?.trim();
    if (hasCommit) expect(linklogVersion()).to.match(/-dev\+[0-9a-f]{8}(-dirty)?$/);
    expect(linklogVersion().replace(/\+.*/, '')).to.equal(version);
  });
});
