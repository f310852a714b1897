/** Accounts that come by work: so many of an address range in a day, and each proof for one account (hub API §4.2). */
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { powBits } from '../../protocol/identity/pow.ts'
import { DAY_MS } from '../core/limits.ts'
import { openReader } from '../store/sqlite/database.ts'
import { DATABASE_FILE } from '../store/sqlite/open.ts'
import { startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { newcomer, registerFrom, workFor } from '../testing/sign-ups.ts'

const ONE = '203.0.113.1'

let hub: TestHub
beforeEach(async () => {
  hub = await startTestHub({ open: true, limits: { powBits: 4, registrationsPerDay: 2 } })
  // All of a test falls into one day.
  hub.clock.advance(DAY_MS - (hub.clock.now() % DAY_MS) + 1000)
})
afterEach(() => hub.close())

/** One new account from an address; its reason where it was refused. */
async function signUp(address: string): Promise<unknown> {
  const { json } = await registerFrom(new TestAgent(hub), address)
  if (json['reason'] !== 'pow_required') return json['reason']
  const { agent, pow } = await newcomer(hub, address)
  return (await registerFrom(agent, address, pow)).json['status']
}

describe('the day of an address range', () => {
  test('has so many new accounts, each range for itself, until the next day', async () => {
    for (const [first, second, third, other] of [
      [ONE, '203.0.113.77', '203.0.113.254', '203.0.114.1'],
      ['2001:db8:5:1::1', '2001:db8:5:2::1', '2001:db8:5:ffff::9', '2001:db8:6::1'],
    ] as const) {
      expect([await signUp(first), await signUp(second)]).toEqual(['registered', 'registered'])
      const refused = await registerFrom(new TestAgent(hub), third)
      expectRefusal(refused, 'registration_quota')
      expect(Number(refused.headers.get('Retry-After'))).toBeLessThanOrEqual(DAY_MS / 1000)
      expect(await signUp(other)).toBe('registered')
    }
    hub.clock.advance(DAY_MS)
    expect(await signUp(ONE)).toBe('registered')
  })

  test('is counted on over a restart', async () => {
    expect([await signUp(ONE), await signUp(ONE)]).toEqual(['registered', 'registered'])
    await hub.restart()
    expect(await signUp(ONE)).toBe('registration_quota')
  })

  test('is not exceeded by those who come at once', async () => {
    const newcomers = []
    for (let i = 0; i < 5; i++) newcomers.push(await newcomer(hub, ONE))
    const replies = await Promise.all(newcomers.map(({ agent, pow }) => registerFrom(agent, ONE, pow)))
    const told = replies.map(({ json }) => json['status'] ?? json['reason']).sort()
    expect(told).toEqual(['registered', 'registered', ...Array(3).fill('registration_quota')])
  })

  test('is not used by agents that the operator admitted or that are registered', async () => {
    const known = new TestAgent(hub)
    await hub.running.hub.context.store.admit(known.aid, true)
    for (let i = 0; i < 3; i++) expect((await registerFrom(known, ONE)).json['status']).toBe('registered')
    expect([await signUp(ONE), await signUp(ONE)]).toEqual(['registered', 'registered'])
  })
})

describe('a proof of work', () => {
  test('makes one account: after leaving another is needed, also when the hub was started again', async () => {
    const { agent, pow } = await newcomer(hub, ONE)
    expect((await registerFrom(agent, ONE, pow)).status).toBe(200)
    await agent.call('deregister', {}, { params: { aid: agent.aid } })
    expectRefusal(await registerFrom(agent, ONE, pow), 'pow_required', { challenge: expect.anything() })
    await hub.restart()
    agent.target = hub
    expectRefusal(await registerFrom(agent, ONE, pow), 'pow_required', { challenge: expect.anything() })
    expect((await registerFrom(agent, ONE, await workFor(agent, ONE))).status).toBe(200)
  })

  const told = async (agent: TestAgent, more: object): Promise<string> => {
    const body = { aid: agent.aid, kel: agent.kel, ...more }
    const { json } = await agent.call('register', body, { headers: { 'X-Forwarded-For': ONE } })
    expect(json['reason']).toBe('pow_required')
    return String(json['error'])
  }

  test('that is none is told why', async () => {
    const { agent, pow } = await newcomer(hub, ONE)
    const other = await newcomer(hub, ONE)
    const task = { hub: hub.aid, aid: agent.aid, seed: fromBase64url(pow.seed) }
    const nonces = Array.from({ length: 64 }, (_, n) => new Uint8Array(8).fill(n))
    const wrong = nonces.find(nonce => powBits(task, nonce) < 4) as Uint8Array
    const nonce = toBase64url(wrong)
    expect(await told(agent, { pow: { seed: pow.seed, nonce } })).toMatch(
      /does not bring 4 bits with its seed/,
    )
    expect(await told(agent, {})).toMatch(/: none came; solve the challenge/)
    expect(await told(agent, { pow: other.pow })).toMatch(/gave no such seed to this AID; solve/)
    hub.clock.advance(11 * 60_000)
    expect(await told(agent, { pow })).toMatch(/the time of its seed is over/)
  })

  test('is not asked of anybody without a word of what would be refused after it', async () => {
    const agent = new TestAgent(hub)
    const lacks = async (more: object = {}) => (await told(agent, more)).replace(/.*none came/, '')
    expect(await lacks()).toMatch(
      /^, and the last event .* does not name this hub as witness; mend that first/,
    )
    const keys = agent.makeKeys()
    agent.rotate()
    expect(await lacks({ enc_keys: keys })).toMatch(/^, and the key set is not that of the last event; mend/)
    expect(await lacks({ enc_keys: agent.makeKeys() })).toMatch(/^; solve the challenge/)
    hub.clock.advance(11 * 60_000)
    expect(await lacks()).toMatch(/^, and the time of its last event/)
    agent.end()
    expect(await lacks()).toMatch(/^, and the log ends its identity/)
  })

  test('is not used up by a registration that was refused', async () => {
    const { agent, pow } = await newcomer(hub, ONE)
    const { seed } = agent
    agent.seed = new Uint8Array(32).fill(7)
    expectRefusal(await registerFrom(agent, ONE, pow), 'unauthorized')
    agent.seed = seed
    expect((await registerFrom(agent, ONE, pow)).status).toBe(200)
  })

  test('is forgotten with its challenge, and the day of a range with the day', async () => {
    const { agent, pow } = await newcomer(hub, ONE)
    await registerFrom(agent, ONE, pow)
    const kept = () => {
      const db = openReader(join(hub.directory, DATABASE_FILE))
      const count = (table: string) => db.all(`SELECT 1 FROM ${table}`).length
      const counts = { proofs: count('used_proof'), ranges: count('sign_up') }
      db.close()
      return counts
    }
    expect(kept()).toEqual({ proofs: 1, ranges: 1 })
    hub.clock.advance(10 * 60_000 + 1)
    await hub.running.hub.mailboxes.sweep(100)
    expect(kept()).toEqual({ proofs: 0, ranges: 1 })
    hub.clock.advance(DAY_MS)
    await hub.running.hub.mailboxes.sweep(100)
    expect(kept()).toEqual({ proofs: 0, ranges: 0 })
  })
})
