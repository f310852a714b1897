/** What `u` takes back on the page. */
import { expect, test } from 'vitest'
import { NodeGone, NodeRefused } from '../../view/node-client.ts'
import { LastStep } from './last-step.ts'

const steps = () => {
  const back: string[] = []
  const last = new LastStep()
  return { back, last, undoes: (what: string) => () => void back.push(what) }
}

test('the last step is taken back once', () => {
  const { back, last, undoes } = steps()
  expect(last.takeBack()).toBe('there is nothing to undo')
  expect(last.did('archived', undoes('archived'))).toBe('archived; u undoes it')
  expect([last.takeBack(), back]).toEqual([undefined, ['archived']])
  // what takes it back is a call of its own, which ends later
  expect(last.did('back in the list')).toBe('back in the list')
  expect([last.takeBack(), back]).toEqual(['there is nothing to undo', ['archived']])
})

test('after a step that cannot be undone, none before it is', () => {
  const { back, last, undoes } = steps()
  last.did('archived', undoes('archived'))
  last.did('declined')
  expect(last.takeBack()).toBe('this cannot be undone: declined')
  expect([last.takeBack(), back]).toEqual(['this cannot be undone: declined', []])
  last.did('archived again', undoes('again'))
  last.takeBack()
  expect(back).toEqual(['again'])
})

test('a step whose answer was lost may have been done, and one that was refused was not', () => {
  const { back, last, undoes } = steps()
  last.did('archived', undoes('archived'))
  last.failed(new NodeGone('the node is gone'), 'the node is gone')
  expect([last.takeBack(), back]).toEqual(['this cannot be undone: the node is gone', []])
  last.did('archived', undoes('archived'))
  last.failed(new NodeRefused('wrong_state', 'it has ended'), 'it has ended')
  expect([last.takeBack(), back]).toEqual([undefined, ['archived']])
})
