import { newEvent } from '../../schemas/events/codec.js';
import {
  at,
  someUtmTemplate,
  utmTemplateDeleted,
  utmTemplateSaved,
} from '../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../testing/decisions.js';
import { utmTemplateDecider } from './command.js';

const subject = 'acme:Newsletter';
const { accepts, ignores, refuses } = specify(subject, utmTemplateDecider);

const metadata = (sequence: number) => ({
  ...{ ...metadataOfEvent(), sequence, subject, account: 'acme' },
});
const other = { ...someUtmTemplate, term: 'shoes' };
const save = (terms = someUtmTemplate, count = 0) =>
  ({ type: 'SaveUtmTemplate', account: 'acme', terms, count }) as const;
const remove = { type: 'DeleteUtmTemplate', account: 'acme' } as const;
const saved = [utmTemplateSaved(subject, 1, {}, { time: at(1) })];
const deleted = [...saved, utmTemplateDeleted(subject, 2, { time: at(2) })];

describe('command API: UTM templates', () => {
  it('are saved, replaced, deleted and saved again', () => {
    accepts([], save(), newEvent('UtmTemplateSaved', someUtmTemplate, metadata(1)));
    accepts(saved, save(other), newEvent('UtmTemplateSaved', other, metadata(2)));
    accepts(saved, remove, newEvent('UtmTemplateDeleted', {}, metadata(2)));
    accepts(deleted, save(), newEvent('UtmTemplateSaved', someUtmTemplate, metadata(3)));
  });

  it('write no event if nothing changes', () => {
    ignores(saved, save());
    ignores(saved, save(someUtmTemplate, 100));
  });

  it('are at most 100 for each account; a full account can replace its own', () => {
    accepts(
      [],
      save(someUtmTemplate, 99),
      newEvent('UtmTemplateSaved', someUtmTemplate, metadata(1)),
    );
    for (const history of [[], deleted]) {
      refuses(history, save(someUtmTemplate, 100), 'utmTemplatesExhausted');
    }
    accepts(saved, save(other, 100), newEvent('UtmTemplateSaved', other, metadata(2)));
  });

  it('are deleted once', () => {
    refuses([], remove, 'notFound');
    refuses(deleted, remove, 'notFound');
  });
});
