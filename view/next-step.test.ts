import { expect, test } from 'vitest'
import { nextOnScreen, sayStillHere } from './next-step.ts'

test('a step that names a flag of the command line names what the screen has in its place', () => {
  expect(nextOnScreen('send it as a file: --attach PATH', 'ctrl-t')).toBe('send it as a file: ctrl-t')
  expect(nextOnScreen('start your node: svc up', 'ctrl-t')).toBe('start your node: svc up')
})

test('words whose answer was lost are not called unsent', () => {
  expect(sayStillHere('the node is gone', true)).toBe('No answer came: the node is gone')
  expect(sayStillHere('the text is too large', false)).toBe('Not sent: the text is too large')
})
