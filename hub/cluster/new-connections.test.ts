import { expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { StoreAway } from '../store/port.ts'
import { StoreDenied } from '../store/setup-refused.ts'
import { NewConnections } from './new-connections.ts'

const EVERY_MS = 30_000

test('a database that takes no new connection is told once, and once when it does again', async () => {
  const timers = new TestTimers()
  const said: (string | undefined)[] = []
  let fault: Error | undefined
  let opened = 0
  const connections = new NewConnections({
    timers,
    async open() {
      if (fault !== undefined) throw fault
      opened += 1
      return {
        async close() {
          opened -= 1
        },
      }
    },
    onDenied: why => said.push(why),
  })
  await timers.pass(EVERY_MS)
  expect([said, opened, connections.denied]).toEqual([[], 0, undefined])
  fault = new StoreDenied('it refuses the password')
  await timers.pass(3 * EVERY_MS)
  expect([said, connections.denied]).toEqual([[fault.message], fault.message])
  fault = new StoreAway('it is away')
  await timers.pass(EVERY_MS)
  expect(connections.denied).toBe('it refuses the password')
  fault = undefined
  await timers.pass(2 * EVERY_MS)
  expect([said, connections.denied]).toEqual([['it refuses the password', undefined], undefined])
  await connections.close()
  expect(timers.count).toBe(0)
})
