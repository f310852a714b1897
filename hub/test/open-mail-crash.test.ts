// project: programs

/**
 * Open mail between two hubs over kill -9: wherever the hub of the recipient dies, a repeat has it delivered, and once
 * (wire 1, federation).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { orderRunningHub } from '../operator/socket.ts'
import type { TestHub } from '../testing/hub.ts'
import { openCardText } from '../testing/open-peers.ts'
import { type HubChild, runHub, startHubChild } from '../testing/process.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

type Place = { directory: string; hub: HubChild }
const ARGS = ['--wire', '1', '--wire1-federation', '--wire1-discovery']
const SECONDS = 1000

let near: Place
let far: Place
let bob: OpenAgent
beforeAll(async () => {
  near = await opened()
  far = await opened()
  await meet()
  bob = new OpenAgent(clientOf(far))
  await orderRunningHub(far.directory, { command: 'admit', aid: bob.aid })
  const skills = [{ id: 'dig', name: 'Dig', description: 'Digs.', tags: ['dig'] }]
  expect((await bob.register({ card: openCardText(bob, 1, { skills }) })).status).toBe(200)
  const shown = { ...bob.sign('profile'), visibility: 'federated' }
  expect((await clientOf(far).post(`/agents/${bob.aid}/visibility`, shown)).status).toBe(200)
})
afterAll(async () => {
  for (const { hub, directory } of [near, far]) {
    hub.kill('SIGKILL')
    await hub.exited
    rmSync(directory, { recursive: true, force: true })
  }
})

async function opened(): Promise<Place> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-open-'))
  return { directory, hub: await startHubChild(directory, { env: {}, args: ARGS }) }
}

function clientOf(place: Place): Wire1Client {
  const as = {
    get url() {
      return place.hub.url
    },
    clock: place.hub.clock,
    running: {},
  }
  return new Wire1Client(as as unknown as TestHub)
}

/** Each lists the other at its present address. */
async function meet(): Promise<void> {
  for (const [{ directory }, { hub }] of [
    [near, far],
    [far, near],
  ] as const) {
    const at = ['--data-dir', directory, '--json']
    const { code, stderr } = await runHub(['peers', 'add', '--wire1-url', hub.url, '--yes', hub.aid, ...at])
    expect([code, stderr]).toEqual([0, ''])
  }
}

async function restart(place: Place, fault?: string): Promise<void> {
  place.hub.kill('SIGKILL')
  await place.hub.exited
  const given = { env: {}, args: ARGS }
  place.hub = await startHubChild(place.directory, fault === undefined ? given : { ...given, fault })
  await meet()
}

const send = async (text: string) =>
  await clientOf(near).post('/relay/send', {
    ...{ to_aid: bob.aid, from_aid: 'alice', kind: 'message', interaction_id: 'i' },
    payload: toBase64(utf8(text)),
  })
const waiting = async (): Promise<unknown[]> => {
  const { json } = await bob.poll()
  return (json['messages'] as { payload: string }[]).map(({ payload }) => payload)
}
const collect = async () => {
  const { json } = await bob.poll()
  const ids = (json['messages'] as { id: string }[]).map(({ id }) => id)
  await clientOf(far).post('/relay/ack', { ...bob.sign('ack'), ids })
}

test('an agent of one hub is found at the other, and mail for it arrives there', async () => {
  await vi.waitFor(
    async () => {
      const { json } = await clientOf(near).get('/agents?cap=dig')
      expect(json['agents']).toMatchObject([{ aid: bob.aid, home_hub: far.hub.aid }])
    },
    { timeout: 20 * SECONDS, interval: 500 },
  )
  const { status, json } = await send('hello')
  expect([status, json]).toEqual([200, { status: 'forwarded', via_hub: far.hub.aid }])
  expect(await waiting()).toEqual([toBase64(utf8('hello'))])
}, 40_000)

test('what was taken is there after kill -9, and is not taken twice, neither when it was collected', async () => {
  await restart(far)
  await restart(near)
  expect(await waiting()).toEqual([toBase64(utf8('hello'))])
  expect((await send('hello')).json).toEqual({ status: 'forwarded', via_hub: far.hub.aid })
  expect(await waiting()).toHaveLength(1)
  await collect()
  await restart(far)
  expect((await send('hello')).json).toMatchObject({ status: 'forwarded' })
  expect(await waiting()).toEqual([])
}, 60_000)

test.each(['hub.group.before-commit', 'hub.group.after-commit', 'hub.fedForward.before-answer'])(
  'a hub that dies at %s has the message once, after the sender tries again',
  async fault => {
    await restart(far, fault)
    expect((await send(fault)).status).toBe(502)
    await far.hub.exited
    await restart(far)
    const again = async () => (await send(fault)).status
    await vi.waitFor(async () => expect(await again()).toBe(200), { timeout: 30 * SECONDS, interval: 1000 })
    expect(await waiting()).toEqual([toBase64(utf8(fault))])
    await collect()
  },
  90_000,
)
