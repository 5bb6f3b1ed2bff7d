import { expect } from 'chai';
import { countKind, flagKind, limitKind } from './values.js';

describe('imports: values of cells', () => {
  it('are true or false in the languages of spreadsheets, in any case and form', () => {
    const words: readonly (readonly [isTrue: boolean, ...words: string[]])[] = [
      [true, 'true', 'TRUE', '1', '1.0', '1,00', 'Yes', 'y', 'T', 'on', 'X', 'ＴＲＵＥ'],
      [false, 'false', 'FALSE', '0', '0.0', 'No', 'n', 'f', 'OFF'],
      [
        true,
        'WAHR',
        'Ja',
        'VRAI',
        'oui',
        'VERDADERO',
        'Sí',
        'SI\u0301',
        'VERO',
        'sì',
        'VERDADEIRO',
      ],
      [false, 'FALSCH', 'Nein', 'FAUX', 'non', 'FALSO', 'não', 'NA\u0303O'],
      [true, 'WAAR', 'PRAWDA', 'tak', 'SANT', 'DOĞRU', 'doğru', 'Evet', 'ИСТИНА', 'да'],
      [
        false,
        'ONWAAR',
        'nee',
        'FAŁSZ',
        'nie',
        'FALSKT',
        'nej',
        'YANLIŞ',
        'yanlış',
        'HAYIR',
        'hayır',
      ],
      [false, 'ЛОЖЬ', 'нет', 'NEPRAVDA', 'HAMIS', 'FALS', 'USANN', 'EPÄTOSI', 'ΨΕΥΔΗΣ'],
      [true, 'PRAVDA', 'IGAZ', 'ADEVĂRAT', 'SANN', 'SAND', 'TOSI', 'ІСТИНА', 'ΑΛΗΘΗΣ'],
    ];
    for (const [isTrue, ...list] of words) {
      for (const word of list) expect([word, flagKind.read(word)]).to.deep.equal([word, isTrue]);
    }
    for (const word of ['2', '-1', '10', '1.5', 'truee', 'a', '-', 'null', '1.0.0', 'wahr!']) {
      expect([word, flagKind.read(word)]).to.deep.equal([word, null]);
    }
  });

  it('are whole numbers with decimals of zeros and groups of three', () => {
    for (const [text, number] of [
      ...([
        ['12', 12],
        ['12.0', 12],
        ['12,00', 12],
        ['0', 0],
        ['1.000', 1_000],
      ] as const),
      ...([
        ['1,234', 1_234],
        ['1.234', 1_234],
        ['1 234', 1_234],
        ['1\u202f234', 1_234],
      ] as const),
      ...([
        ['1\u00a0234,00', 1_234],
        ['1.234.567', 1_234_567],
        ["1'234", 1_234],
      ] as const),
      ...([
        ['12,34', null],
        ['1.5', null],
        ['1,2345', null],
        ['1,234.567', null],
      ] as const),
      ...([
        ['1234,567', null],
        ['-1', null],
        ['+1', null],
        ['1e3', null],
        ['', null],
      ] as const),
      ...([
        ['9'.repeat(15), 999_999_999_999_999],
        ['9'.repeat(16), null],
      ] as const),
    ]) {
      expect([text, countKind.read(text)]).to.deep.equal([text, number]);
    }
    expect(['1', '1,000,000,000'].map(limitKind.read)).to.deep.equal([1, 1e9]);
    expect(['0', '1,000,000,001', '1.5'].map(limitKind.read)).to.deep.equal([null, null, null]);
  });
});
