import { foldSpecification } from '../testing/decider-specification.js';
import { at, someUtmTemplate, utmTemplateDeleted, utmTemplateSaved } from '../testing/events.js';
import { noSubject } from './subject-state.js';
import { evolveUtmTemplate } from './utm-template.js';

const given = foldSpecification({ initialState: noSubject, evolve: evolveUtmTemplate });
const id = 'acme:Newsletter';
const saved = utmTemplateSaved(id, 1, {}, { time: at(1) });
const deleted = utmTemplateDeleted(id, 2, { time: at(2) });
const stateAt = (seconds: number) => ({
  ...{ account: 'acme', sequence: seconds, lastEventAt: at(seconds) },
});

describe('schemas: state of a UTM template', () => {
  it('has the values of the last save', () => {
    given(saved).then({ ...someUtmTemplate, ...stateAt(1), status: 'saved' });
    const again = utmTemplateSaved(id, 2, { source: null, content: 'top' }, { time: at(2) });
    const changed = { ...someUtmTemplate, source: null, content: 'top' };
    given(saved, again).then({ ...changed, ...stateAt(2), status: 'saved' });
  });

  it('keeps only account and sequence after a deletion, and can be saved again', () => {
    given(saved, deleted).then({ ...stateAt(2), status: 'deleted' });
    const again = utmTemplateSaved(id, 3, {}, { time: at(3) });
    given(saved, deleted, again).then({ ...someUtmTemplate, ...stateAt(3), status: 'saved' });
  });

  it('ignores a deletion of an unknown template', () => {
    given(deleted).then(noSubject);
  });
});
