import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { projectFile } from '../platform/files/project-file.js';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type Packages = Readonly<Record<string, LockedPackage>>;

/** Dependencies that are missing in the lock file: `npm ci` refuses such a file. */
const missingIn = (packages: Packages): readonly string[] => {
  const has = (from: string, name: string): boolean => {
    if (`${from && `${from}/`}node_modules/${name}` in packages) return true;
    if (from === '') return false;
    return has(from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
  };
  return Object.entries(packages).flatMap(([from, locked]) =>
    (['dependencies', 'devDependencies', 'optionalDependencies'] as const)
      .flatMap((kind) => Object.keys(locked[kind] ?? {}))
      .filter((name) => !has(from, name))
      .map((name) => `${from} needs ${name}`),
  );
};

describe('lock file', () => {
  const { packages } = JSON.parse(readFileSync(projectFile('package-lock.json'), 'utf8')) as {
    readonly packages: Packages;
  };

  it('has every dependency, also optional ones', () => {
    expect(missingIn(packages)).to.deep.equal([]);
  });

  it('has an integrity hash for each package', () => {
    const without = Object.entries(packages).filter(
      ([from, { integrity }]) => from !== '' && integrity === undefined,
    );
    expect(without).to.deep.equal([]);
  });
});
