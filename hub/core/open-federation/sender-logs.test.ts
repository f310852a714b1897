/** When a hub asks a peer again for the key history of a sender. */
import { expect, test } from 'vitest'
import { utf8 } from '../../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../../protocol/identity/kel.ts'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { startTestHub } from '../../testing/hub.ts'
import { OpenAgent, Wire1Client } from '../../testing/wire1.ts'
import type { HubContext } from '../context.ts'
import { SenderLogs } from './sender-logs.ts'

const EVERY_MS = 30_000

test('a history without the newest key is asked for again after a while, at most once in it', async () => {
  const hub = await startTestHub({ wires: [1] })
  const alice = new OpenAgent(new Wire1Client(hub))
  await hub.close()
  const timers = new TestTimers()
  let asked = 0
  let shown: Uint8Array | undefined = encodeKel(alice.log.events)
  const senders = new SenderLogs({ timers, peers: { find: () => ({}) } } as unknown as HubContext, {
    keyHistory: async () => {
      asked += 1
      return shown
    },
  })
  senders.note(alice.aid, 'its hub')
  const short = await senders.find(alice.aid)
  expect(short).toEqual(shown)

  alice.rotate()
  shown = encodeKel(alice.log.events)
  expect([await senders.find(alice.aid), asked]).toEqual([short, 1])
  await timers.pass(EVERY_MS)
  expect([await senders.find(alice.aid), asked]).toEqual([shown, 2])

  const long = shown
  for (const worse of [short, undefined, utf8('none')]) {
    shown = worse
    await timers.pass(EVERY_MS)
    expect(await senders.find(alice.aid)).toEqual(long)
  }
  expect(asked).toBe(5)
})
