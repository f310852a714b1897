/** A hub that seals nothing is joined where the person at the terminal says so, and nowhere by itself. */
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import type { Io } from '../io.ts'
import { orUnsealed } from './joining.ts'

const unsealed = new OperationRefused(
  'hub_unsealed',
  'this hub seals nothing: its operator can read every message',
)

/** What was asked of the person, and how the hub was joined. */
async function joined(answer: string, { onTerminal = true, fault = unsealed as Error } = {}) {
  const [asked, tries]: [string[], object[]] = [[], []]
  const stdin = Object.assign(new PassThrough(), { isTTY: onTerminal })
  stdin.end(answer)
  const io = { stdin, onTerminal, err: (text: string) => asked.push(text) } as unknown as Io
  const outcome = await orUnsealed(io, async more => {
    tries.push(more)
    if (more.wire !== 1) throw fault
    return 'joined'
  }).catch((error: unknown) => error)
  return { outcome, asked, tries }
}

describe('a hub that seals nothing', () => {
  test.each(['y\n', 'yes\n', 'Y\n'])('is joined by its wire where the answer is %j', async answer => {
    expect(await joined(answer)).toEqual({
      outcome: 'joined',
      asked: [`${unsealed.message}. Register there all the same? [y/N] `],
      tries: [{}, { wire: 1 }],
    })
  })

  test.each(['n\n', '\n', '', 'yess\n', 'why?\n'])('is not where the answer is %j', async answer => {
    expect(await joined(answer)).toMatchObject({ outcome: unsealed, tries: [{}] })
  })

  test('is asked about on a terminal alone', async () => {
    expect(await joined('y\n', { onTerminal: false })).toEqual({ outcome: unsealed, asked: [], tries: [{}] })
  })
})

test('no other refusal is asked about', async () => {
  const fault = new OperationRefused('hub_refused', 'not now')
  expect(await joined('y\n', { fault })).toEqual({ outcome: fault, asked: [], tries: [{}] })
})
