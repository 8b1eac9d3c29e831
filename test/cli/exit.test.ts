import { lineOf } from '../../src/cli/exit';
import { LonghaulError } from '../../src/client/errors';

test('a list in an error becomes part of its line', () => {
  const error = new LonghaulError('invalid-input', 'The agent is invalid:\n- name: missing\n  - model: missing\nSee the docs.');
  expect(lineOf(error)).toBe('The agent is invalid: name: missing; model: missing See the docs.');
  expect(lineOf(new Error('a\nb - c'))).toBe('a b - c');
});
