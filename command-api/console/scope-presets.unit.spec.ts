import { expect } from 'chai';
import { scopeNames } from '../../schemas/scopes.js';
import { presetOf, presetScopes, presetsOf } from './scope-presets.js';

describe('the presets of scopes', () => {
  it('are scopes that only read, those that create links, and all', () => {
    expect(presetScopes('read', scopeNames)).to.deep.equal([
      ...['links:read', 'stats:read', 'events:read'],
    ]);
    expect(presetScopes('create', scopeNames)).to.include('links:create');
    expect(presetScopes('create', scopeNames)).not.to.include('links:write');
    expect(presetScopes('all', scopeNames)).to.deep.equal(scopeNames);
  });

  it('have only scopes that are offered', () => {
    const offered = ['links:create', 'keys:manage'] as const;
    expect(presetScopes('create', offered)).to.deep.equal(['links:create']);
    expect(presetsOf(offered)).to.deep.equal(['create', 'all']);
    expect(presetsOf([])).to.deep.equal([]);
  });

  it('are recognised in any order; other selections are not', () => {
    expect(presetOf(['stats:read', 'events:read', 'links:read'], scopeNames)).to.equal('read');
    expect(presetOf(scopeNames, scopeNames)).to.equal('all');
    expect(presetOf(['stats:read'], scopeNames)).to.equal(null);
    expect(presetOf([], scopeNames)).to.equal(null);
  });

  it('are all if a key has no other scopes', () => {
    expect(presetOf(['links:read'], ['links:read'])).to.equal('all');
  });
});
