/** What the hub tells about an AID that is not registered: nothing of its admission, whoever signs (hub API §4.1). */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import { MODE_SETTING } from '../core/membership/admission.ts'
import { callRoute, random, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'
import { rows, sendRow } from '../testing/routes.ts'

let hub: TestHub
let stranger: TestAgent
let admitted: TestAgent
let left: TestAgent
beforeAll(async () => {
  hub = await startTestHub()
  stranger = new TestAgent(hub)
  admitted = new TestAgent(hub)
  await hub.running.hub.context.store.admit(admitted.aid, true)
  left = await registeredAgent(hub)
  await left.call('deregister', {}, { params: { aid: left.aid } })
})
afterAll(() => hub.close())

/** What each of the three is told, with its AID taken out. */
async function answers(name: Wire3RouteName, given: Record<string, string>) {
  const told = []
  for (const agent of [stranger, admitted, left]) {
    const { status, json } = await sendRow(name, agent, { headers: given })
    told.push([status, JSON.stringify(json).replaceAll(agent.aid, 'AID')])
  }
  return told
}

const signed = rows.filter(
  ([, row]) => row.auth === 'signed' && row.signer === undefined && row.signedBy !== 'hub',
)

describe.each(signed)('%s', name => {
  test.each(['closed', 'open'])(
    'answers all alike while admission is %s, whatever the signature',
    async mode => {
      const { store } = hub.running.hub.context
      await store.putSetting(MODE_SETTING, mode)
      const account = vi.spyOn(store, 'account')
      const [first, ...others] = await answers(name, {})
      expect(others).toEqual([first, first])
      expect(await answers(name, { [headers.signature]: toBase64url(random(64)) })).toEqual([
        first,
        first,
        first,
      ])
      expect(account).not.toHaveBeenCalled()
      account.mockRestore()
    },
  )
})

test.each(rows.filter(([, row]) => row.signer === 'account'))(
  '%s is answered to an agent that has left, to nobody who was never here',
  async name => {
    for (const agent of [stranger, admitted]) expectRefusal(await sendRow(name, agent), 'unauthorized')
    expect((await sendRow(name, left)).json['reason']).not.toBe('unauthorized')
    const ended = await registeredAgent(hub)
    ended.end()
    const given = { aid: ended.aid, kel: ended.kel }
    expect((await callRoute(hub, 'pushKel', given)).status).toBe(200)
    expectRefusal(await sendRow(name, ended), 'unauthorized')
  },
)

test('a session is refused with admission_required where admission is closed, else as unauthorized', async () => {
  const { store } = hub.running.hub.context
  await store.putSetting(MODE_SETTING, 'closed')
  expectRefusal(await sendRow('relaySession', stranger), 'admission_required', { aid: stranger.aid })
  await store.putSetting(MODE_SETTING, 'open')
  expectRefusal(await sendRow('relaySession', stranger), 'unauthorized')
})
