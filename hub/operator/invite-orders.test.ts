import { afterEach, expect, test } from 'vitest'
import { DAY_MS } from '../core/limits.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

let hub: TestHub
afterEach(() => hub.close())

type Made = { code: string; name: string; until: string }

async function made(days?: number): Promise<Made> {
  const make = days === undefined ? {} : { days }
  return (await hub.running.order({ command: 'invites', make })) as Made
}
const listed = async () => (await hub.running.order({ command: 'invites' }))['invites']

test('an invitation lets one new agent in, and then says whom', async () => {
  hub = await startTestHub({ wires: [1] })
  const client = new Wire1Client(hub)
  const { code, name, until } = await made()
  expect(code).toMatch(/^[\w-]{22}$/)
  expect(Math.round((Date.parse(until) - hub.clock.now()) / DAY_MS)).toBe(30)
  expect(await listed()).toMatchObject([{ name, state: 'open' }])
  const [first, second] = [new OpenAgent(client), new OpenAgent(client)]
  expect((await first.register({ invite: code })).status).toBe(200)
  expect((await second.register({ invite: code })).status).toBe(403)
  expect(await listed()).toMatchObject([{ name, state: 'used', used_by: first.aid }])
  expect(JSON.stringify(await listed())).not.toContain(code)
})

test('one that was taken back, or is over, lets nobody in', async () => {
  hub = await startTestHub({ wires: [1] })
  const client = new Wire1Client(hub)
  const [back, over] = [await made(), await made(1)]
  expect(await hub.running.order({ command: 'invites', revoke: back.name })).toEqual({
    name: back.name,
    state: 'revoked',
  })
  await expect(hub.running.order({ command: 'invites', revoke: back.name })).rejects.toThrow(
    `no invitation ${back.name} can be used any more; list them with: svc-hub invite ls`,
  )
  hub.clock.advance(DAY_MS)
  expect(await listed()).toMatchObject([{ name: over.name, state: 'over' }])
  for (const { code } of [back, over]) {
    const { status, json } = await new OpenAgent(client).register({ invite: code })
    expect([status, json['hint']]).toEqual([403, 'ask the operator for another one: svc-hub invite new'])
  }
})

test('one of a hub where nobody joins by a code says so, one where somebody does says nothing', async () => {
  hub = await startTestHub()
  const { note } = (await made()) as Made & { note?: string }
  expect(note).toMatch(/^nobody can use this code yet: .*--wire1-listen$/)
  await hub.close()
  hub = await startTestHub({ wire1: { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined } })
  expect(await made()).not.toHaveProperty('note')
})
