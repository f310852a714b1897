/** Agents that peers tell of, as they are verified: whose home is another hub counts for none (hub API §4.6). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fromBase64url } from '../../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../../protocol/identity/kel.ts'
import type { ToldCard } from '../../store/peer-card-port.ts'
import { agentOf, openCore, type TestCore } from '../../testing/core.ts'
import { random, type TestAgent } from '../../testing/hub.ts'
import { Agents } from '../agents.ts'
import { KeyLogs } from '../membership/key-logs.ts'
import { CardCheck } from './card-check.ts'
import { Doubtful } from './doubtful.ts'
import { PeerLogs } from './peer-logs.ts'
import type { Peer } from './peers.ts'

let core: TestCore
let check: CardCheck
let hub: TestAgent
let bob: TestAgent
beforeEach(async () => {
  core = await openCore(1_800_000_000_000)
  ;[hub, bob] = [agentOf(core), agentOf(core)]
  bob.rotate({ home: hub.aid })
  check = new CardCheck(new PeerLogs(new Agents(core.context), new KeyLogs(core.context)))
})
afterEach(() => core.close())

type Card = Exclude<ToldCard, { withdrawn: string }>
const cardOf = (agent: TestAgent): Card => ({
  fedSeq: 1,
  kel: encodeKel(agent.log.events),
  keys: fromBase64url(agent.makeKeys()),
})
const judge = (told: ToldCard) => check.judge(told, { aid: hub.aid, url: '', log: hub.log } as Peer)
async function wrong(told: ToldCard): Promise<string | undefined> {
  try {
    await judge(told)
    return undefined
  } catch (error) {
    if (error instanceof Doubtful) return error.message
    throw error
  }
}

test('an agent whose home is the peer counts, and so does that it is told no more', async () => {
  const card = cardOf(bob)
  expect(await judge(card)).toEqual({ aid: bob.aid, kel: card.kel })
  expect(await judge({ fedSeq: 2, withdrawn: bob.aid })).toEqual({ withdrawn: bob.aid })
})

test('an agent that names another home, none, or has ended does not hold', async () => {
  const [eve, newcomer] = [agentOf(core), agentOf(core)]
  eve.rotate()
  expect([await wrong(cardOf(eve)), await wrong(cardOf(newcomer))]).toEqual([
    'home of the agent',
    'home of the agent',
  ])
  const last = cardOf(bob)
  bob.end()
  expect(await wrong({ ...last, kel: encodeKel(bob.log.events) })).toBe('home of the agent')
})

test('keys of another agent, of an older key, or torn do not hold', async () => {
  const before = cardOf(bob)
  const other = agentOf(core)
  other.rotate({ home: hub.aid })
  bob.rotate({ home: hub.aid, ts: core.clock.ms + 1 })
  const now = cardOf(bob)
  for (const keys of [before.keys, cardOf(other).keys, now.keys.subarray(1), new Uint8Array()])
    expect(await wrong({ ...now, keys })).toBe('key set of the agent')
  expect(await wrong(now)).toBeUndefined()
})

test('a key history that is torn, empty, or signed by nobody does not hold', async () => {
  const card = cardOf(bob)
  for (const kel of [
    card.kel.subarray(1),
    new Uint8Array(),
    random(200),
    card.kel.map((byte, at) => (at === card.kel.length - 2 ? byte ^ 1 : byte)),
  ])
    expect(await wrong({ ...card, kel })).toBe('key history of the agent')
})
