import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { Failure, Refusal, systemFault, wordsOf } from './errors.ts'

/** Words of the system: a code, the name of a call. */
const OF_SYSTEM = /\bE[A-Z]{3,}\b|\b(open|connect|listen|spawn|scandir|mkdir)\b/

const thrownBy = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return error
  }
}

test('an error of the system is told by its meaning, without its path, its call and its code', async () => {
  expect(wordsOf(thrownBy(() => readFileSync('/no/such/file')))).toBe('there is no such file')
  expect(wordsOf(thrownBy(() => readFileSync('/')))).toBe('it is a folder')
  const refused = await new Promise(resolve => connect(1, '127.0.0.1').on('error', resolve))
  expect(wordsOf(refused)).toBe('nothing listens there')
})

test('each code has words; one that is not known is shown', () => {
  for (const code of Object.keys(constants.errno)) expect(systemFault(code)).toMatch(/^[a-z]/)
  expect(systemFault('ENOSPC')).not.toMatch(OF_SYSTEM)
  expect(systemFault('ESTALE')).toBe('the system refused it (ESTALE)')
  expect(systemFault('constructor')).toBe('the system refused it (constructor)')
})

test('our own sentences stay as they are', () => {
  class Ours extends Failure {}
  class Refused extends Refusal<'ENOENT'> {}
  expect(wordsOf(new Ours('the node is busy'))).toBe('the node is busy')
  expect(wordsOf(new Refused('ENOENT', 'no such thing'))).toBe('no such thing')
  expect(wordsOf(Object.assign(new Error('a sentence'), { code: 'ERR_SQLITE_ERROR' }))).toBe('a sentence')
  expect(wordsOf('a text')).toBe('a text')
})
